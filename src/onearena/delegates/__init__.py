"""What onearena knows about backends: which inner buffers live when, and how to rewrite a payload."""
