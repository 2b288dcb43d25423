"""What onearena knows about backends: what lives inside a call, how to rewrite a payload."""
