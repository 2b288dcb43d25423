"""What a program needs, computed once: dataclasses that the reporters render."""
