"""Random shapes and dimensions for the operators' cases."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

from tests.shapes.oracle import T

Args = list[Any]
Maker = Callable[[Random], Args]


def some_dims(r: Random, low: int = 0, high: int = 4, least: int = 1) -> tuple[int, ...]:
    return tuple(r.randint(least, 6) for _ in range(r.randint(low, high)))


def broadcastable(r: Random, dims: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that broadcasts to `dims`."""
    kept = dims[r.randint(0, len(dims)) :]
    return tuple(1 if r.random() < 0.3 else size for size in kept)


def some_axis(r: Random, rank: int) -> int:
    return r.randint(-rank, rank - 1) if rank else r.choice([0, -1])


def some_axes(r: Random, rank: int) -> list[int]:
    chosen = r.sample(range(rank), r.randint(0, rank))
    return [axis - rank if r.random() < 0.5 else axis for axis in chosen]


def unary_case(*rest: Any) -> Maker:
    return lambda r: [T(some_dims(r, least=0)), *rest]


def one_axis_case(*rest: Any, optional: bool = False) -> Maker:
    def make(r: Random) -> Args:
        dims = some_dims(r)
        axis = None if optional and r.random() < 0.2 else some_axis(r, len(dims))
        return [T(dims), axis, *(r.random() < 0.5 if item is bool else item for item in rest)]

    return make
