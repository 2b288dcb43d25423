"""Three convolutions on int8 buffers of the caller: `python -m examples.cortex_m.conv2d_x3`."""

from __future__ import annotations

import sys

from examples.cortex_m.export import Interface
from examples.cortex_m.workflow import run

if __name__ == "__main__":
    sys.exit(run("conv2d_x3", Interface(is_int8=True, is_planned=False)))
