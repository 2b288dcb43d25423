"""Keyword spotting on float32 spectrograms: `python -m examples.cortex_m.ds_cnn`."""

from __future__ import annotations

import sys

from examples.cortex_m.export import Interface
from examples.cortex_m.workflow import run

if __name__ == "__main__":
    sys.exit(run("ds_cnn", Interface()))
