"""Programs for microcontrollers: export, optimize, sizes."""
