"""Lifetimes like those of neural networks, placed as they come: the memory's size is known to do.

A net is a list of operators. Each writes one tensor; a tensor's last reader is known when it is
written. Sizes follow the place in the net, cut down to the hole that the tensor gets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from random import Random

from .packing import Piece

_UNIT = 64
_PEAKS = 3


@dataclass(frozen=True)
class Tensor:
    """Written at `begin`, read for the last time just before `end`; as large as it would be."""

    begin: int
    end: int
    size: int


def network(count: int, rng: Random) -> list[Tensor]:
    """About `count` tensors of blocks one after another."""
    tensors: list[Tensor] = []
    step, base = 0, 1024
    while step < count:
        block = rng.choice((_chain, _residual, _u_net, _attention, _branches))
        made = list(block(step, base, rng))
        tensors += made
        step += len(made)
        base = max(64, min(4096, int(base * rng.choice((0.5, 0.75, 1.0, 1.0, 1.5, 2.0)))))
    return tensors


def _size(base: float, rng: Random) -> int:
    return max(1, int(base * rng.choice((1.0, 1.0, 1.0, 0.5, 2.0, 4.0)))) * _UNIT


def _chain(step: int, base: int, rng: Random) -> Iterator[Tensor]:
    for k in range(step, step + rng.randint(2, 6)):
        yield Tensor(k, k + 2, _size(base, rng))


def _residual(step: int, base: int, rng: Random) -> Iterator[Tensor]:
    for _ in range(rng.randint(1, 4)):
        length = rng.randint(2, 4)
        yield Tensor(step, step + length + 1, _size(base, rng))
        for k in range(step + 1, step + length):
            yield Tensor(k, k + 2, _size(base * rng.choice((1, 4)), rng))
        step += length


def _u_net(step: int, base: int, rng: Random) -> Iterator[Tensor]:
    depth, width = rng.randint(2, 6), rng.randint(1, 3)
    last = step + 2 * depth * width
    for level in range(depth):
        for k in range(width):
            at = step + level * width + k
            end = last - level * width + 1 if k == width - 1 else at + 2
            yield Tensor(at, end, _size(4 * base / 2**level, rng))
    for level in reversed(range(depth)):
        for k in range(width):
            at = step + (2 * depth - 1 - level) * width + k
            yield Tensor(at, at + 2, _size(4 * base / 2**level, rng))


def _attention(step: int, base: int, rng: Random) -> Iterator[Tensor]:
    size = _size(base, rng)
    yield Tensor(step, step + 8, size)  # the residual
    yield Tensor(step + 1, step + 5, size)  # normalised
    yield Tensor(step + 2, step + 6, size)  # q
    yield Tensor(step + 3, step + 6, size)  # k
    yield Tensor(step + 4, step + 8, size)  # v
    yield Tensor(step + 5, step + 7, size * rng.choice((1, 2, 4)))  # scores
    yield Tensor(step + 6, step + 8, size * rng.choice((1, 2)))  # softmax
    yield Tensor(step + 7, step + 9, size)


def _branches(step: int, base: int, rng: Random) -> Iterator[Tensor]:
    ways, length = rng.randint(2, 4), rng.randint(1, 3)
    last = step + ways * length
    yield Tensor(step, last, _size(base, rng))
    for way in range(ways):
        for k in range(length):
            at = step + 1 + way * length + k
            yield Tensor(at, last + 2 if k == length - 1 else at + 2, _size(base / ways, rng))


def place(tensors: list[Tensor], rng: Random) -> tuple[list[Piece], int]:
    """Places tensors as they are written, in a memory filled up at its fullest steps."""
    loads = {t.begin: sum(u.size for u in tensors if u.begin <= t.begin < u.end) for t in tensors}
    capacity = max(loads.values())
    peaks = set(sorted(loads, key=lambda step: -loads[step])[:_PEAKS])
    placed: list[Piece] = []
    for tensor in tensors:
        free = _holes(placed, tensor.begin, capacity)
        if free:
            low, high = _choose(free, tensor.size, rng)
            placed.append(Piece(tensor.begin, tensor.end, low, min(high, low + tensor.size)))
        if tensor.begin in peaks:
            for low, high in _holes(placed, tensor.begin, capacity):
                end = tensor.begin + rng.randint(1, 4)
                placed.append(Piece(tensor.begin, end, low, high))
    return placed, capacity


def _holes(placed: list[Piece], step: int, capacity: int) -> list[tuple[int, int]]:
    used = sorted((piece.low, piece.high) for piece in placed if piece.is_alive(step))
    edges = [0, *(edge for span in used for edge in span), capacity]
    spans = zip(edges[::2], edges[1::2], strict=True)
    return [(low, high) for low, high in spans if low < high]


def _choose(free: list[tuple[int, int]], size: int, rng: Random) -> tuple[int, int]:
    fitting = [hole for hole in free if hole[1] - hole[0] >= size]
    if not fitting:
        return max(free, key=lambda hole: hole[1] - hole[0])
    low, high = rng.choice(fitting)
    return (low, high) if rng.random() < 0.5 else (high - size, high)
