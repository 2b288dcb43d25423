"""Which bytes are taken when: planned values → blocks of rectangles, and live bytes by step."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

from onearena.lifetime import Interval, merge
from onearena.record import TempRecord
from onearena.summary.model import Rectangle
from onearena.timeline.build import Timeline
from onearena.timeline.storage import Storage

Span = tuple[int, int]
"""Half-open byte range."""


def value_blocks(timeline: Timeline) -> tuple[tuple[int, ...], ...]:
    """Values that are names of the same memory, the largest first; every value is in one block."""
    storage = timeline.storage
    grouped = {value for group in storage.groups for value in group}
    alone = ((value,) for value in storage.memories if value not in grouped)
    blocks = [block for group in storage.groups for block in _connected(storage, group)]
    return tuple(sorted((*blocks, *alone), key=min))


def _connected(storage: Storage, group: Sequence[int]) -> list[tuple[int, ...]]:
    """A group keeps its distances, but not all of its values have bytes in common."""
    blocks: list[list[int]] = []
    end = -1
    for value in sorted(group, key=lambda v: (storage.memories[v].start, v)):
        memory = storage.memories[value]
        if not blocks or memory.start >= end:
            blocks.append([])
        blocks[-1].append(value)
        end = max(end, memory.end) if len(blocks[-1]) > 1 else memory.end
    return [
        tuple(sorted(block, key=lambda v: (-storage.memories[v].size_bytes, v))) for block in blocks
    ]


def rectangles(storage: Storage, values: Iterable[int]) -> tuple[Rectangle, ...]:
    """The bytes that these values take, step by step, as few rectangles as the steps allow."""
    lifetimes = {value: storage.lifetimes[value] for value in values}
    cuts = sorted({cut for life in lifetimes.values() for i in life for cut in (i.start, i.end)})
    found: list[Rectangle] = []
    for start, end in pairwise(cuts):
        spans = merge(
            Interval(storage.memories[value].start, storage.memories[value].end)
            for value, life in lifetimes.items()
            if any(i.start <= start < i.end for i in life)
        )
        for span in spans:
            _append(found, Rectangle(start, end, span.start, span.end))
    return tuple(found)


def _append(found: list[Rectangle], new: Rectangle) -> None:
    """Longer instead of one more, where the bytes are the same."""
    for position, old in enumerate(found):
        if old.end == new.start and (old.low, old.high) == (new.low, new.high):
            found[position] = Rectangle(old.start, new.end, old.low, old.high)
            return
    found.append(new)


def temp_pieces(timeline: Timeline, temp: TempRecord | None) -> list[tuple[int, Rectangle]]:
    """(arena, rectangle) of the temp region wherever it is used; nothing without one."""
    number = timeline.temp_buffer
    if temp is None or number is None:
        return []
    low, high = temp.offset, temp.offset + temp.size_bytes
    lives = timeline.problem.buffers[number].lifetime
    return [(temp.arena, Rectangle(life.start, life.end, low, high)) for life in lives]


def live_bytes(
    pieces: Iterable[tuple[int, Rectangle]], step_count: int
) -> Mapping[int, tuple[int, ...]]:
    """By arena, the bytes taken at every step; those that several blocks share (operators that
    work in place) once.

    Args:
        pieces: (arena, rectangle) of all blocks.
    """
    by_arena: dict[int, list[Rectangle]] = {}
    for arena, piece in pieces:
        by_arena.setdefault(arena, []).append(piece)
    return {arena: _curve(found, step_count) for arena, found in by_arena.items()}


def _curve(pieces: Sequence[Rectangle], step_count: int) -> tuple[int, ...]:
    starting: dict[int, list[Span]] = {}
    ending: dict[int, list[Span]] = {}
    for piece in pieces:
        if piece.start < piece.end:
            starting.setdefault(piece.start, []).append((piece.low, piece.high))
            ending.setdefault(piece.end, []).append((piece.low, piece.high))
    alive: list[Span] = []
    curve: list[int] = []
    now = 0
    for step in range(step_count):
        if step in starting or step in ending:
            for span in ending.get(step, ()):
                del alive[bisect_left(alive, span)]
            for span in starting.get(step, ()):
                insort(alive, span)
            now = _covered(alive)
        curve.append(now)
    return tuple(curve)


def _covered(spans: Iterable[Span]) -> int:
    """The bytes that sorted spans cover."""
    covered, top = 0, 0
    for low, high in spans:
        covered += max(0, high - max(low, top))
        top = max(top, high)
    return covered
