"""Is a plan safe? Shares no code with the planners."""
