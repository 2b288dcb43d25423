"""Programs whose shapes have bounds, at several sizes."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.functional import softplus

from tests.cases.checking import check
from tests.cases.conftest import Program
from tests.cases.lowering import NEEDS_1_5, Module, lower, portable
from tests.cases.running import Call, random_calls


def at_sizes(*shapes: tuple[int, ...]) -> list[Call]:
    """One run per shape."""
    return [
        call
        for seed, shape in enumerate(shapes)
        for call in random_calls(torch.zeros(shape), runs=1, seed=seed)
    ]


class Segments(Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.third = nn.Conv2d(16, 4, 1)

    def forward(self, x: Any) -> Any:
        a = functional.relu6(self.first(x))
        b = softplus(self.second(a) + a)
        c = functional.max_pool2d(torch.cat([a, b], 1), 2)
        return self.third(c).sigmoid(), b


@NEEDS_1_5
def test_height_and_width(program: Program) -> None:
    height, width = (torch.export.Dim(name, min=2, max=24) * 2 for name in ("h", "w"))
    inputs = (torch.zeros(1, 3, 32, 24),)
    stock = program(lambda: lower(Segments(), inputs, dynamic=({2: height, 3: width},)))
    shapes = [(1, 3, h, w) for h, w in ((48, 48), (4, 4), (20, 48), (46, 6), (48, 48), (32, 24))]
    checked = check(stock, at_sizes(*shapes))
    assert checked.method.opened_calls > 0
    assert checked.saved_bytes > 0


def test_batch_of_linear_layers(program: Program) -> None:
    """In-place operands may turn out to be broadcast: batch 1 against 1."""

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Linear(16, 32), nn.Linear(32, 16)
            self.row = nn.Parameter(torch.randn(1, 32))

        def forward(self, x: Any) -> Any:
            y = (self.first(x) * self.row).relu()
            z = softplus(self.second(y) + x)
            return torch.softmax(self.first(z) - y, -1), z.mean(0, keepdim=True) + z

    batch = torch.export.Dim("batch", min=1, max=64)
    inputs = (torch.zeros(8, 16),)
    stock = program(lambda: lower(Net(), inputs, dynamic=({0: batch},)))
    check(stock, at_sizes((64, 16), (1, 16), (33, 16), (2, 16), (64, 16)))


def test_sequence_with_attention(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = nn.Linear(16, 48)
            self.last = nn.Linear(16, 16)

        def forward(self, x: Any) -> Any:
            q, k, v = self.mix(x).split(16, -1)
            weights = torch.softmax(q @ k.transpose(1, 2), -1)
            y = functional.layer_norm(weights @ v + x, (16,))
            return self.last(y).relu() + y, weights

    length = torch.export.Dim("length", min=2, max=40)
    inputs = (torch.zeros(1, 8, 16),)
    stock = program(lambda: lower(Net(), inputs, dynamic=({1: length},)))
    check(stock, at_sizes((1, 40, 16), (1, 2, 16), (1, 23, 16), (1, 40, 16)))


def test_two_inputs_of_different_lengths(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any, y: Any) -> Any:
            z = torch.cat([x.cumsum(0), y], 0)
            return z.cumsum(1), (softplus(z) * 2).relu(), x.sum(0) + y.sum(0), z.shape[0] + 1

    one, two = (torch.export.Dim(name, min=1, max=32) for name in ("one", "two"))
    inputs = (torch.zeros(4, 16), torch.zeros(6, 16))
    stock = program(lambda: lower(Net(), inputs, dynamic=({0: one}, {0: two})))
    calls = [
        call
        for seed, (a, b) in enumerate([(32, 32), (1, 1), (32, 1), (5, 29)])
        for call in random_calls(torch.zeros(a, 16), torch.zeros(b, 16), runs=1, seed=seed)
    ]
    check(stock, calls)


def test_sizes_that_depend_on_the_data(program: Program) -> None:
    """`nonzero` has a bound but no size before it runs."""

    class Net(Module):
        def forward(self, x: Any) -> Any:
            where = torch.nonzero(x.cumsum(0) > 0)
            return where, x.cumsum(1)

    inputs = (torch.zeros(8, 16),)
    stock = program(lambda: lower(Net(), inputs, partitioners=portable))
    check(stock, random_calls(*inputs))
