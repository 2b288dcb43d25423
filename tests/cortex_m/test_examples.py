"""The examples run to their end: export, optimize, sizes, simulate (needs the ethos-u extra)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("executorch.backends.cortex_m.passes")

ROOT = Path(__file__).parents[2]
EXAMPLES = (
    *("conv2d_x3", "deep_autoencoder", "ds_cnn", "mobilenet_v1_025", "resnet8", "silero_vad"),
    *("memory_map", "seed"),
)


@pytest.mark.parametrize(
    "name",
    [*(f"examples.cortex_m.{name}" for name in EXAMPLES), "examples.ethos_u.two_delegates"],
)
def test_example(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", name], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr[-5000:]
    assert done.stdout
