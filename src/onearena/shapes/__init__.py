"""Sizes of a method's tensors for given sizes of its inputs, computed without running it."""
