"""Inputs larger than the program was exported for: as PyTorch computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from onearena.engine.errors import ExecutionError, UsageError
from onearena.engine.runtime import Planning, Runtime
from tests.cases.conftest import Program
from tests.cases.lowering import portable, xnnpack
from tests.cases.running import difference, forward, play
from tests.engine.agreeing import run_call
from tests.engine.shaped import (
    BOUND,
    Convolutions,
    Transformer,
    UNet,
    at,
    images,
    is_close,
    load,
    recorder,
    sequences,
)

BACKENDS = pytest.mark.parametrize("backend", [portable, xnnpack])
MODES = pytest.mark.parametrize("planning", ["shapes", "simple"])


def check_eager(
    path: Path, net: Callable[[], nn.Module], planning: Planning, shapes: Sequence[Any]
) -> None:
    torch.manual_seed(0)
    eager = net().eval()
    model = load(path, planning, unbounded=True)
    for call in at(shapes):
        expected = eager(*call.inputs)
        for _ in range(2):
            assert is_close(run_call(model, call), expected)


@MODES
@BACKENDS
@pytest.mark.parametrize("net", [Convolutions, UNet])
def test_images(program: Program, net: Any, backend: Any, planning: Planning) -> None:
    shapes = [(1, 3, 2 * BOUND, 2 * BOUND), (1, 3, 8, 8), (1, 3, 3 * BOUND, 10), (1, 3, 16, 120)]
    check_eager(images(program, net, backend), net, planning, shapes)


@MODES
@BACKENDS
def test_sequences(program: Program, backend: Any, planning: Planning) -> None:
    shapes = [(1, length, 16) for length in (2 * BOUND, 5, 4 * BOUND + 3, BOUND)]
    check_eager(sequences(program, backend), Transformer, planning, shapes)


def test_inside_the_bounds_nothing_changes(program: Program) -> None:
    path = images(program, UNet)
    calls = at([(1, 3, 8, 8), (1, 3, BOUND, BOUND), (1, 3, 2, 40)])
    model = load(path, unbounded=True)
    large = at([(1, 3, 2 * BOUND, 2 * BOUND)])[0]
    for call, expected in zip(calls, play(path, calls), strict=True):
        run_call(model, large)
        assert difference([expected], [run_call(model, call)]) is None


def test_what_is_static_stays_so(program: Program) -> None:
    """The state has room for the bound, whatever the inputs."""
    model = load(recorder(program), unbounded=True)
    length = BOUND + 4
    with pytest.raises(ExecutionError, match=r"failed.* dimension 1, .* up to 64; "):
        run_call(model, forward(torch.zeros(1, length, 8), torch.arange(length)))


def test_errors(program: Program) -> None:
    path = images(program, UNet)
    large = torch.zeros(1, 3, 2 * BOUND, 2 * BOUND)
    with pytest.raises(UsageError, match=r"input 0 is float32 \[1, 3, 128, 128\]"):
        load(path)(large)
    with pytest.raises(UsageError, match="no room beyond the exported bounds"):
        load(path, "static", unbounded=True).memory()
    model = load(path, unbounded=True)
    with pytest.raises(UsageError, match="input 0 is float32"):
        model(torch.zeros(1, 3, 8))
    model(large)


def test_static_programs_may_be_loaded_so(program: Program) -> None:
    del program
    from tests.engine.edits import SEEDS
    from tests.engine.test_errors import run_with_zeros

    run_with_zeros(Runtime().load(SEEDS / "convnet.pte", unbounded=True))
