"""The native executor: programs run with memory that onearena owns."""
