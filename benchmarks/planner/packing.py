"""Rectangles of steps x bytes, cut into pieces without a byte left over."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

_CHOICES = 4


@dataclass(frozen=True)
class Piece:
    """The steps [begin, end) x the bytes [low, high)."""

    begin: int
    end: int
    low: int
    high: int

    @property
    def steps(self) -> int:
        """How long it is."""
        return self.end - self.begin

    @property
    def bytes(self) -> int:
        """How high it is."""
        return self.high - self.low

    def is_alive(self, step: int) -> bool:
        """Whether it is there at a step."""
        return self.begin <= step < self.end


def cut(whole: Piece, count: int, rng: Random, *, spirals: float = 0.15) -> list[Piece]:
    """About `count` pieces that fill `whole`; some cannot be had by cutting right through."""
    pieces = [whole]
    failures = 0
    while len(pieces) < count and failures < count:
        drawn = [rng.randrange(len(pieces)) for _ in range(_CHOICES)]
        place = max(drawn, key=lambda k: _area(pieces[k], whole))
        parts = _divide(pieces[place], whole, rng, spirals)
        failures += not parts
        if parts:
            pieces[place] = pieces[-1]
            pieces.pop()
            pieces += parts
    return sorted(pieces, key=lambda piece: (piece.begin, piece.low))


def _area(piece: Piece, whole: Piece) -> float:
    return piece.steps / whole.steps * (piece.bytes / whole.bytes)


def _divide(piece: Piece, whole: Piece, rng: Random, spirals: float) -> list[Piece]:
    if piece.steps >= 3 and piece.bytes >= 3 and rng.random() < spirals:
        return _spiral(piece, rng)
    # Long pieces become shorter and high ones lower, most of the time.
    share = piece.steps / whole.steps / (piece.steps / whole.steps + piece.bytes / whole.bytes)
    in_time = rng.random() < share if piece.steps >= 2 and piece.bytes >= 2 else piece.steps >= 2
    if in_time:
        step = piece.begin + _inside(piece.steps, rng)
        return [
            Piece(piece.begin, step, piece.low, piece.high),
            Piece(step, piece.end, piece.low, piece.high),
        ]
    if piece.bytes >= 2:
        byte = piece.low + _inside(piece.bytes, rng)
        return [
            Piece(piece.begin, piece.end, piece.low, byte),
            Piece(piece.begin, piece.end, byte, piece.high),
        ]
    return []


def _inside(length: int, rng: Random) -> int:
    """A point in the open interval (0, length), rarely near its ends."""
    return min(length - 1, max(1, round(length * rng.triangular(0.1, 0.9))))


def _spiral(piece: Piece, rng: Random) -> list[Piece]:
    """Four pieces around a fifth; one of the two ways round."""
    left, right = sorted(rng.sample(range(piece.begin + 1, piece.end), 2))
    bottom, top = sorted(rng.sample(range(piece.low + 1, piece.high), 2))
    middle = Piece(left, right, bottom, top)
    if rng.random() < 0.5:
        around = [
            Piece(piece.begin, right, piece.low, bottom),
            Piece(right, piece.end, piece.low, top),
            Piece(left, piece.end, top, piece.high),
            Piece(piece.begin, left, bottom, piece.high),
        ]
    else:
        around = [
            Piece(left, piece.end, piece.low, bottom),
            Piece(right, piece.end, bottom, piece.high),
            Piece(piece.begin, right, top, piece.high),
            Piece(piece.begin, left, piece.low, top),
        ]
    return [middle, *around]


def thin_out(
    pieces: Sequence[Piece], part: float, rng: Random, *, full_step: int | None = None
) -> list[Piece]:
    """Without a part of the pieces; at one step all stay, so that what is needed stays too."""
    step = full_step if full_step is not None else rng.choice(pieces).begin
    return [piece for piece in pieces if piece.is_alive(step) or rng.random() >= part]


def split(total: int, parts: int, rng: Random) -> list[int]:
    """Positive numbers with a sum."""
    marks = sorted(rng.sample(range(1, total), parts - 1))
    return [b - a for a, b in zip([0, *marks], [*marks, total], strict=True)]
