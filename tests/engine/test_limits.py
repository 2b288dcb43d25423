"""An arena with a limit: what needs more is refused, and says which tensors need it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch

from onearena.engine.arena import Arena
from onearena.engine.errors import ArenaLimitError
from onearena.engine.model import Model
from onearena.engine.runtime import Planning, Runtime
from tests.cases.conftest import Program
from tests.cases.running import difference, forward
from tests.engine.agreeing import run_call
from tests.engine.shaped import BOUND, UNet, images, recorder

LIMIT_BYTES = 100_000
NAMED = re.compile(r"value (\d+) \((\d+) bytes\)")


def image(edge: int) -> Any:
    return torch.randn(1, 3, edge, edge, generator=torch.Generator().manual_seed(edge))


def refused(model: Model, *inputs: Any) -> str:
    """What the error says."""
    with pytest.raises(ArenaLimitError, match=f"its limit is {LIMIT_BYTES}; largest") as error:
        model(*inputs)
    text = str(error.value)
    assert "\n" not in text
    return text


def limited(path: Path, planning: Planning = "auto", *, known: bool = True) -> tuple[Model, Arena]:
    """A model in an arena that has room for small inputs only."""
    arena = Arena(limit_bytes=LIMIT_BYTES)
    model = Runtime(arena).load(path, planning=planning)
    if not known:
        model.default._sizes = None
    return model, arena


@pytest.mark.parametrize("planning", ["shapes", "simple"])
def test_known_sizes_are_refused_before_anything_runs(program: Program, planning: Planning) -> None:
    path = images(program, UNet)
    model, arena = limited(path, planning)
    expected = run_call(Runtime().load(path), forward(image(8)))
    for _ in range(2):
        text = refused(model, image(BOUND))
        assert arena.resident_bytes() == 0
        assert model.memory().runs == 0
        needed = int(re.findall(r"needs (\d+) bytes", text)[0])
        sizes = [int(size) for _, size in NAMED.findall(text)]
        assert sizes == sorted(sizes, reverse=True)
        assert LIMIT_BYTES < sum(sizes) <= needed
        assert max(sizes) == 6 * BOUND * BOUND * 4  # the first convolution's output
    assert difference([expected], [run_call(model, forward(image(8)))]) is None
    refused(model, image(BOUND))


@pytest.mark.parametrize("planning", ["shapes", "simple"])
def test_unknown_sizes_are_noticed_while_it_runs(program: Program, planning: Planning) -> None:
    path = images(program, UNet)
    model, arena = limited(path, planning, known=False)
    expected = run_call(Runtime().load(path), forward(image(8)))
    text = refused(model, image(BOUND))
    assert re.search(r"at instruction \d+ \d+ bytes of the arena are in use", text)
    assert max(int(size) for _, size in NAMED.findall(text)) == 6 * BOUND * BOUND * 4
    assert arena.resident_bytes() == 0  # all of it was given back
    for _ in range(2):
        assert difference([expected], [run_call(model, forward(image(8)))]) is None
    refused(model, image(BOUND))


def test_state_may_be_half_updated(program: Program) -> None:
    """The error says so; after setting it back everything is as it was."""
    path = recorder(program)
    call = forward(torch.ones(1, 4, 8), torch.arange(4))
    model = Runtime(Arena(limit_bytes=8000)).load(path)
    model.default._sizes = None
    expected = run_call(model, call)
    length = BOUND
    with pytest.raises(ArenaLimitError, match="the state may be half updated"):
        model(torch.ones(1, length, 8), torch.arange(length))
    model.reset_state()
    assert difference([expected], [run_call(model, call)]) is None
