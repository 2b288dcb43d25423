"""Problem → Plan, by the compiled planner. Nothing here knows what a program is."""

from onearena.planners.native import lower_bound_bytes, plan

__all__ = ["lower_bound_bytes", "plan"]
