"""Examples of how to use onearena."""
