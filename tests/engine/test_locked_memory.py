"""A process that keeps its memory from being paged out: the system takes none of it back."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cases.conftest import Program
from tests.engine.shaped import recorder

CHILD = """
import ctypes
import sys

import numpy as np

from onearena.engine.runtime import Runtime

model = Runtime().load(sys.argv[1])
inputs = (np.ones((1, 4, 8), np.float32), np.arange(4))
first = model(*inputs)
model(np.ones((1, 6, 8), np.float32), np.arange(6) + 8)
assert not np.array_equal(model(*inputs), first)  # there is more to attend to
if ctypes.CDLL(None).mlockall(1) != 0:  # MCL_CURRENT
    sys.exit("cannot lock")
model.reset_state()
assert np.array_equal(model(*inputs), first)
print("ok")
"""


def test_state_is_zero_again(program: Program) -> None:
    command = [sys.executable, "-c", CHILD, str(recorder(program))]
    root = Path(__file__).parents[2]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if "cannot lock" in done.stderr:
        pytest.skip("this process may not lock its memory")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "ok\n"
