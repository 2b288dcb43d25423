"""Temp memory: what instructions take while they run, and the region of an arena for it."""
