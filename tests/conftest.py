"""Settings for all tests."""

from __future__ import annotations

import os

from hypothesis import settings

# how long an example takes says something about the machine, not about the code
settings.register_profile("onearena", deadline=None)
settings.load_profile("onearena")

# what an earlier state of the code found out about a program is not to be believed
os.environ["ONEARENA_CACHE_DIR"] = ""
