"""The simulated arenas: one buffer each with red zones around it, and who wrote which byte."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any

from onearena.bytemap import ByteMap
from onearena.runtime.bindings import import_torch

RED_ZONE_BYTES = 4096
"""Guard bytes on either side of an arena."""


@dataclass(frozen=True, slots=True)
class Place:
    """The bytes [start, end) of an arena."""

    arena: int
    start: int
    end: int

    @property
    def size_bytes(self) -> int:
        """How many bytes."""
        return self.end - self.start

    def overlaps(self, other: Place) -> bool:
        """True when both share a byte."""
        return self.arena == other.arena and self.start < other.end and other.start < self.end

    def common(self, other: Place) -> Place:
        """The bytes that two places that overlap share."""
        return Place(self.arena, max(self.start, other.start), min(self.end, other.end))

    def contains(self, other: Place) -> bool:
        """True when every byte of `other` is in here."""
        return self.arena == other.arena and self.start <= other.start and other.end <= self.end

    def __str__(self) -> str:
        return f"bytes [{self.start}, {self.end}) of arena {self.arena}"


class WriteKind(Enum):
    """Why bytes were written."""

    INPUT = "input"
    OUTPUT = "output"
    SCRATCH = "scratch"
    STATE = "state"


@dataclass(frozen=True, slots=True)
class Mark:
    """The last write to some bytes.

    Attributes:
        owners: the memories whose content these bytes are, or were (see `names.py`); empty for
            what kernels leave in scratch.
        instruction: which wrote them; -1 before the first one.
        value: under which name.
        kind: why.
        expired: the instruction after which nobody needed the bytes any more, by the analysis;
            they are random since. None while they are needed.
    """

    owners: frozenset[int]
    instruction: int
    value: int
    kind: WriteKind
    expired: int | None = None

    def holds(self, owner: int) -> bool:
        """Whether these bytes are the content of a memory."""
        return owner in self.owners and self.expired is None


class Arenas:
    """The buffers of a method, random at first, and the last write to every byte."""

    def __init__(self, sizes: Sequence[int], seed: int) -> None:
        """Makes the arenas; `sizes[k]` is the size of the one with memory_id k, in bytes.

        Raises:
            MemoryError: they are larger than the machine's memory, whatever it would promise.
        """
        torch = import_torch()
        if sum(sizes) > _machine_bytes():
            raise MemoryError(f"{sum(sizes)} bytes")
        self._random = torch.Generator().manual_seed(seed)
        self._sizes = tuple(sizes)
        self._buffers = [
            torch.empty(size + 2 * RED_ZONE_BYTES, dtype=torch.uint8) for size in sizes
        ]
        self._marks: list[ByteMap[Mark]] = [ByteMap() for _ in sizes]
        for buffer in self._buffers:
            buffer.random_(0, 256, generator=self._random)
        self._guards: list[tuple[Place, Any]] = []

    def guard(self, room: Iterable[Place]) -> None:
        """Watches the red zones around the arenas, and the bytes between values in `room`."""
        for arena, size in enumerate(self._sizes):
            below = Place(arena, -RED_ZONE_BYTES, 0)
            above = Place(arena, size, size + RED_ZONE_BYTES)
            for place in (below, above):
                self._guards.append((place, self._bytes(place).clone()))
        for place in room:
            self._guards.append((place, self._bytes(place).clone()))

    def damaged(self) -> tuple[Place, ...]:
        """The parts of the red zones that were written; they are made whole again."""
        found = []
        for place, content in self._guards:
            now = self._bytes(place)
            differs = (now != content).nonzero()
            if len(differs):
                first, last = int(differs[0]), int(differs[-1])
                found.append(Place(place.arena, place.start + first, place.start + last + 1))
                now.copy_(content)
        return tuple(found)

    def read(self, place: Place) -> Any:
        """A copy of the bytes."""
        return self._bytes(place).clone()

    def write(self, place: Place, content: Any, mark: Mark) -> None:
        """Writes bytes, as many as the place has."""
        self._bytes(place).copy_(content)
        self._marks[place.arena].write(place.start, place.end, mark)

    def scramble(self, place: Place, mark: Mark, spare: Iterable[Place] = ()) -> None:
        """Fills the place with random bytes, except what it shares with the places to spare."""
        pieces = [place]
        for kept in spare:
            pieces = [rest for piece in pieces for rest in _without(piece, kept)]
        for piece in pieces:
            self._bytes(piece).random_(0, 256, generator=self._random)
            inside = _clipped(piece, self._sizes[place.arena])
            self._marks[place.arena].write(inside.start, inside.end, mark)

    def mark(self, place: Place, mark: Mark) -> None:
        """Changes who wrote the bytes last, and not the bytes."""
        self._marks[place.arena].write(place.start, place.end, mark)

    def marks(self, place: Place) -> tuple[tuple[Place, Mark | None], ...]:
        """The place in pieces with one last write each; None where nothing was ever written."""
        pieces = self._marks[place.arena].read(place.start, place.end)
        return tuple((Place(place.arena, start, end), mark) for start, end, mark in pieces)

    def _bytes(self, place: Place) -> Any:
        """A view of the bytes; what lies behind the red zones is cut off."""
        buffer = self._buffers[place.arena]
        return buffer[max(place.start + RED_ZONE_BYTES, 0) : place.end + RED_ZONE_BYTES]


def _machine_bytes() -> int:
    """The machine's memory; where it does not tell, what any machine can address."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 1 << 47


def _without(place: Place, hole: Place) -> Iterable[Place]:
    if not place.overlaps(hole):
        yield place
        return
    if place.start < hole.start:
        yield Place(place.arena, place.start, hole.start)
    if hole.end < place.end:
        yield Place(place.arena, hole.end, place.end)


def _clipped(place: Place, size_bytes: int) -> Place:
    return Place(place.arena, max(place.start, 0), min(place.end, size_bytes))
