"""Programs with dynamic shapes, and what runs them at many."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from onearena.engine.model import Model
from onearena.engine.runtime import Planning, Runtime
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, portable, xnnpack
from tests.cases.running import Call, Outputs, difference, play, random_calls
from tests.engine.agreeing import run_call

BOUND = 64
"""Of heights, widths and lengths."""
_TOLERANCE = 1e-6
"""Of the largest value of an output."""


class Convolutions(Module):
    """Convolutions, some delegated and some not."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.third = nn.Conv2d(16, 4, 1)

    def forward(self, x: Any) -> Any:
        a = functional.relu6(self.first(x))
        b = functional.softplus(self.second(a) + a)
        c = functional.max_pool2d(torch.cat([a, b], 1), 2)
        return self.third(c).sigmoid(), b.cumsum(1)


class UNet(Module):
    """Two levels; the way up is an interpolation to the size of the way down."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.low = nn.Conv2d(3, 6, 3, padding=1), nn.Conv2d(6, 12, 3, padding=1)
        self.up, self.last = nn.Conv2d(12, 6, 1), nn.Conv2d(12, 2, 1)

    def forward(self, x: Any) -> Any:
        high = functional.softplus(self.down(x))
        low = functional.relu(self.low(functional.avg_pool2d(high, 2)))
        up = functional.interpolate(self.up(low), scale_factor=2.0, mode="nearest")
        return self.last(torch.cat([high, up], 1))


class Transformer(Module):
    """One layer of attention over a sequence of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key, self.value = (nn.Linear(16, 16) for _ in range(3))
        self.norm, self.wide, self.back = nn.LayerNorm(16), nn.Linear(16, 64), nn.Linear(64, 16)

    def forward(self, x: Any) -> Any:
        weights = torch.softmax(self.query(x) @ self.key(x).transpose(1, 2) * 0.25, -1)
        x = self.norm(x + weights @ self.value(x))
        return x + self.back(functional.softplus(self.wide(x)))


class Recorder(Module):
    """Attention over all steps seen so far, of which each run adds some."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(1, BOUND, 8))
        self.mix = nn.Linear(8, 8)

    def forward(self, x: Any, positions: Any) -> Any:
        self.kept.index_copy_(1, positions, torch.tanh(self.mix(x)).cumsum(1))
        scores = torch.softmax(x @ self.kept.transpose(1, 2), -1)
        return (scores @ self.kept).cumsum(1)


def images(program: Program, net: Callable[[], nn.Module], backend: Any = xnnpack) -> Path:
    """A program for images with even sides from 2 to the bound."""
    height, width = (torch.export.Dim(name, min=1, max=BOUND // 2) * 2 for name in ("h", "w"))
    inputs = (torch.zeros(1, 3, 32, 24),)

    def make() -> bytes:
        torch.manual_seed(0)
        return lower(net(), inputs, dynamic=({2: height, 3: width},), partitioners=backend)

    return program(make, f"shaped_{net.__name__}_{backend.__name__}")


def sequences(program: Program, backend: Any = xnnpack) -> Path:
    """A program for sequences of 2 to the bound."""
    length = torch.export.Dim("length", min=2, max=BOUND)

    def make() -> bytes:
        torch.manual_seed(0)
        x = torch.zeros(1, 12, 16)
        return lower(Transformer(), (x,), dynamic=({1: length},), partitioners=backend)

    return program(make, f"shaped_sequences_{backend.__name__}")


def recorder(program: Program) -> Path:
    """A program with state, for sequences of 2 to the bound."""
    length = torch.export.Dim("length", min=2, max=BOUND)

    def make() -> bytes:
        torch.manual_seed(0)
        inputs = (torch.zeros(1, 4, 8), torch.zeros(4, dtype=torch.int64))
        dynamic = ({1: length}, {0: length})
        return lower(Recorder(), inputs, dynamic=dynamic, partitioners=portable)

    return program(make, "shaped_recorder")


def image_calls(count: int, seed: int = 0) -> list[Call]:
    """Runs at random sizes."""
    draw = random.Random(seed)
    sizes = [
        (draw.randint(1, BOUND // 2) * 2, draw.randint(1, BOUND // 2) * 2) for _ in range(count)
    ]
    return at((1, 3, height, width) for height, width in sizes)


def sequence_calls(count: int, seed: int = 0) -> list[Call]:
    """Runs at random lengths."""
    draw = random.Random(seed)
    return at((1, draw.randint(2, BOUND), 16) for _ in range(count))


def at(shapes: Iterable[Sequence[int]]) -> list[Call]:
    """One run per shape, with random numbers."""
    return [
        call
        for seed, shape in enumerate(shapes)
        for call in random_calls(torch.zeros(*shape), runs=1, seed=seed)
    ]


def is_close(found: Sequence[Any], expected: Any) -> bool:
    """Whether outputs are those of PyTorch, but for the order of sums."""
    wanted = [its.detach() for its in (expected if isinstance(expected, tuple) else (expected,))]
    return len(found) == len(wanted) and all(
        mine.shape == its.shape
        and float((mine - its).abs().max()) <= _TOLERANCE * max(1.0, float(its.abs().max()))
        for mine, its in zip(found, wanted, strict=True)
    )


def load(path: Path, planning: Planning = "auto", *, known: bool = True, **options: Any) -> Model:
    """A loaded program in a runtime of its own; without `known` no size is known before a run."""
    model = Runtime().load(path, planning=planning, **options)
    if not known:
        for name in model.methods:
            model.method(name)._sizes = None
    return model


def check_exact(model: Model, path: Path, calls: Sequence[Call]) -> list[Outputs]:
    """Every run twice, which must agree with the stock runtime in every bit."""
    expected = play(path, calls)
    for number, call in enumerate(calls):
        for attempt in ("first", "second"):
            problem = difference(expected[number : number + 1], [run_call(model, call)])
            shapes = [tuple(x.shape) for x in call.inputs]
            assert problem is None, f"run {number}, {attempt} at {shapes}: {problem}"
    return expected
