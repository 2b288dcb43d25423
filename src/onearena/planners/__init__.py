"""Problem → Plan. Pure functions; nothing here knows what a program is."""

from onearena.planners.portfolio import plan

__all__ = ["plan"]
