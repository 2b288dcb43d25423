"""What needs torch and the stock runtime is left out where they are missing."""

from __future__ import annotations

from importlib.util import find_spec

IS_COMPLETE = find_spec("torch") is not None and find_spec("executorch") is not None
collect_ignore = [] if IS_COMPLETE else ["test_differential.py"]
