"""What the planner is measured by. See ``python -m benchmarks.planner --help``."""
