"""Image classification, int8 inputs and outputs: `python -m examples.cortex_m.resnet8`."""

from __future__ import annotations

import sys

from examples.cortex_m.export import Interface
from examples.cortex_m.workflow import run

if __name__ == "__main__":
    sys.exit(run("resnet8", Interface(is_int8=True)))
