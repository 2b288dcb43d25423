"""Small networks, and their edge programs."""

from __future__ import annotations

import copy
import functools
from collections.abc import Callable
from typing import Any

import torch
from executorch.exir import EdgeCompileConfig, to_edge_transform_and_lower
from torch import nn
from torch.nn.functional import softplus

from tests.cases.lowering import Module, Partitioners, portable, quiet, xnnpack


class Breaks(Module):
    """Two delegate calls, kernels between them that want to move, and state."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, padding=1)
        self.register_buffer("total", torch.zeros(1, 8, 16, 16))

    def forward(self, x: Any) -> Any:
        y = self.first(x).relu()
        late = torch.erf(y)
        deep = self.second(softplus(y)).relu()
        self.total.add_(deep)
        return deep + late + self.total


class Moves(Module):
    """Kernels in an order that no one would choose: the first result is read last."""

    def forward(self, x: Any) -> Any:
        wide = torch.cat([x, x, x, x], 1)
        first = torch.erf(wide)
        second = torch.cumsum(wide, 1)
        small = torch.amax(second, 1, keepdim=True)
        return first.sum(1, keepdim=True) + torch.erf(small)


class TwoConds(Module):
    """The first branch's result is still read when the second pair of branches runs."""

    def forward(self, x: Any, sign: Any) -> Any:
        def yes(x: Any) -> Any:
            y = x.sin()
            z = y.cos() + y
            return z * y

        def no(x: Any) -> Any:
            return x.exp()

        first = torch.cond(sign, yes, no, (x,))
        second = torch.cond(sign, no, yes, (first.cos(),))
        return first + second


class Mapped(Module):
    """A loop over rows, with an operator that needs memory of its own after it."""

    def forward(self, x: Any, y: Any) -> Any:
        from torch._higher_order_ops.map import map as torch_map

        def row(a: Any, b: Any) -> Any:
            return (a + b).sin().exp() * a

        before = x.cos()
        after = torch_map(row, before, y)
        return after.cumsum(1).erf() + before


X = torch.linspace(-2, 2, 64 * 64).reshape(64, 64)
IMAGE = torch.linspace(-1, 1, 3 * 16 * 16).reshape(1, 3, 16, 16)


def edge_of(
    module: nn.Module,
    inputs: tuple[Any, ...],
    partitioners: Partitioners = xnnpack,
    dynamic: Any = None,
    **options: Any,
) -> Any:
    """The edge program of a module, lowered to XNNPACK where that takes it."""
    with quiet():
        module = module.eval().requires_grad_(False)
        exported = torch.export.export(module, inputs, dynamic_shapes=dynamic, strict=False)
        return to_edge_transform_and_lower(
            exported,
            partitioner=partitioners(),
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
            **options,
        )


def once(make: Callable[[], Any]) -> Callable[[], Any]:
    """Makes an edge program once, and hands out copies: converting one changes it."""
    kept = functools.cache(make)
    return lambda: copy.deepcopy(kept())


@once
def breaks() -> Any:
    torch.manual_seed(0)
    return edge_of(Breaks(), (IMAGE,), generate_etrecord=True)


@once
def moves() -> Any:
    return edge_of(Moves(), (X[None],), portable)


@once
def recorded_moves() -> Any:
    return edge_of(Moves(), (X[None],), portable, generate_etrecord=True)


@once
def conds() -> Any:
    return edge_of(TwoConds(), (X, torch.tensor(True)), portable)


@once
def mapped() -> Any:
    return edge_of(Mapped(), (X, X[0].clone()), portable)
