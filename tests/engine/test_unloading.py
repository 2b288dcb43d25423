"""Loading and unloading programs, again and again, takes no memory in the end."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.engine.edits import SEEDS

CHILD = """
import gc
import sys
from pathlib import Path

import numpy as np

from onearena.engine.runtime import Runtime

TYPES = {6: np.float32, 4: np.int64, 3: np.int32, 11: np.bool_}


def cycle():
    method = Runtime().load(sys.argv[1]).method("forward")
    method.run(*(np.ones(sizes, TYPES[dtype]) for dtype, sizes, *_ in method._inputs))


def resident_bytes():
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096


for count in range(1, 201):
    cycle()
    if count % 20 == 0:  # Python's own memory is spread less
        gc.collect()
    if count in (40, 200):
        print(resident_bytes())
"""
ALLOWANCE_BYTES = 160 * 1024
"""A kilobyte for each round; a method with a delegate takes many."""

pytestmark = pytest.mark.skipif(
    "ONEARENA_SANITIZED" in os.environ, reason="sanitizers keep what was freed for a while"
)


@pytest.mark.parametrize("stem", ["convnet", "stateful", "dynamic", "dynamic_int8"])
def test_two_hundred_times(stem: str) -> None:
    """In a process of its own: other tests' memory is nobody's leak."""
    command = [sys.executable, "-c", CHILD, str(SEEDS / f"{stem}.pte")]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[2], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    early, late = map(int, done.stdout.split())
    assert late - early <= ALLOWANCE_BYTES
