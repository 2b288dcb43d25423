"""Voice activity, mostly in float32: `python -m examples.cortex_m.silero_vad`."""

from __future__ import annotations

import sys

from examples.cortex_m.export import Interface
from examples.cortex_m.workflow import run

if __name__ == "__main__":
    sys.exit(run("silero_vad", Interface()))
