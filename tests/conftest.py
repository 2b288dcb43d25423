"""Settings for all tests."""

from __future__ import annotations

from hypothesis import settings

# how long an example takes says something about the machine, not about the code
settings.register_profile("onearena", deadline=None)
settings.load_profile("onearena")
