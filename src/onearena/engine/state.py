"""Where state lives: blocks of memory of their own, apart from everything that is shared.

State keeps its bytes from run to run (mutable buffers, caches). In arena 1 it belongs to one
method. In arenas from 2 on ExecuTorch's exporter places what several methods share
(`share_mutable_buffers` of its memory planning), so there equal addresses are one memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onearena.timeline.access import Memory
from onearena.timeline.storage import Storage

FIRST_SHARED_ARENA = 2


@dataclass(frozen=True)
class StateBlock:
    """Bytes [start, end) of an arena that survive; `method` is None for what methods share."""

    arena: int
    start: int
    end: int
    method: int | None

    def overlaps(self, memory: Memory, method: int) -> bool:
        """Whether a value of a method has bytes of this block."""
        mine = self.method is None or self.method == method
        same = mine and self.arena == memory.arena
        return same and memory.start < self.end and self.start < memory.end


@dataclass(frozen=True)
class StatePlan:
    """The blocks of a program, and by (method, value) the block and the distance into it."""

    blocks: tuple[StateBlock, ...]
    places: Mapping[tuple[int, int], tuple[int, int]]


def plan_state(storages: Sequence[Storage]) -> StatePlan:
    """Finds the blocks, given what was found in each method.

    A value of another method that has bytes of a shared block is a name of that state, even
    where that method alone looks as if it only used the bytes for a while. What is pinned in a
    shared arena may be another method's, and counts as state.
    """
    spans: dict[tuple[int, int | None], list[tuple[int, int]]] = {}
    for number, storage in enumerate(storages):
        pinned = {v for v in storage.pinned if storage.memories[v].arena >= FIRST_SHARED_ARENA}
        for value in storage.state | pinned:
            memory = storage.memories[value]
            spans.setdefault(_scope(memory, number), []).append((memory.start, memory.end))
    while True:
        blocks = _merged(spans)
        places = _places(storages, blocks)
        if not _grow(storages, blocks, places, spans):
            return StatePlan(blocks, places)


def _scope(memory: Memory, method: int) -> tuple[int, int | None]:
    return memory.arena, (None if memory.arena >= FIRST_SHARED_ARENA else method)


def _merged(
    spans: Mapping[tuple[int, int | None], list[tuple[int, int]]],
) -> tuple[StateBlock, ...]:
    blocks: list[StateBlock] = []
    for (arena, method), ranges in spans.items():
        first = len(blocks)
        for start, end in sorted(ranges):
            if len(blocks) > first and start < blocks[-1].end:
                last = blocks.pop()
                blocks.append(StateBlock(arena, last.start, max(last.end, end), method))
            else:
                blocks.append(StateBlock(arena, start, end, method))
    return tuple(blocks)


def _places(
    storages: Sequence[Storage], blocks: Sequence[StateBlock]
) -> dict[tuple[int, int], tuple[int, int]]:
    return {
        (number, value): (index, memory.start - block.start)
        for number, storage in enumerate(storages)
        for value, memory in storage.memories.items()
        for index, block in enumerate(blocks)
        if block.overlaps(memory, number)
    }


def _grow(
    storages: Sequence[Storage],
    blocks: Sequence[StateBlock],
    places: Mapping[tuple[int, int], tuple[int, int]],
    spans: dict[tuple[int, int | None], list[tuple[int, int]]],
) -> bool:
    """Adds what sticks out of its block; True when there was such a value."""
    grown = False
    for (number, value), (index, delta) in places.items():
        memory, block = storages[number].memories[value], blocks[index]
        if delta < 0 or memory.end > block.end:
            spans[_scope(memory, number)].append((memory.start, memory.end))
            grown = True
    return grown
