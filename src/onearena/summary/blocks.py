"""Which bytes are taken when: planned values → blocks of rectangles, and live bytes by step."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, pairwise

from onearena.lifetime import Interval, merge
from onearena.summary.model import Rectangle
from onearena.timeline.build import Timeline
from onearena.timeline.storage import Storage


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


def live_bytes(
    pieces: Iterable[tuple[int, Rectangle]], step_count: int
) -> Mapping[int, tuple[int, ...]]:
    """By arena, the bytes alive at every step.

    Args:
        pieces: (arena, rectangle); rectangles of different blocks count twice where they overlap.
    """
    changes: dict[int, list[int]] = {}
    for arena, piece in pieces:
        steps = changes.setdefault(arena, [0] * (step_count + 1))
        steps[piece.start] += piece.high - piece.low
        steps[piece.end] -= piece.high - piece.low
    return {arena: tuple(accumulate(steps))[:-1] for arena, steps in changes.items()}
