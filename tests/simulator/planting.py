"""Plans that are right, and plans with two values that lie over each other when both matter."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace

from onearena.lifetime import Lifetime, intersects, merge
from onearena.pte.container import PteFile
from onearena.pte.schema import AllocationDetails, EValue, Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage, analyse_storage
from tests.verify.oracle import is_damaged
from tests.verify.planting import first_plan, steps_in, with_plan

ALIGNMENT = 16
_TRIES = 4000


@dataclass(frozen=True)
class Block:
    """Values that keep their distance.

    Attributes:
        members: by value, the position inside the block.
        lifetime: when any of them is alive.
    """

    members: dict[int, int]
    arena: int
    start: int
    size_bytes: int
    lifetime: Lifetime

    @property
    def end(self) -> int:
        """The offset behind it, in the file read."""
        return self.start + self.size_bytes


@dataclass(frozen=True)
class Fault:
    """A file with a wrong plan.

    Attributes:
        moved: the values that were moved.
        over: the values that they were moved onto.
    """

    file: PteFile
    moved: frozenset[int]
    over: frozenset[int]


def faults(file: PteFile, count: int, seed: int) -> Iterator[Fault]:
    """Moves blocks onto others that are alive at the same time, at random; only what an oracle
    that knows nothing of lifetimes (`tests.verify.oracle`) calls damaged."""
    rng = random.Random(seed)
    before = steps_in(file)
    storage = analyse_storage(before, frozenset())
    found = [block for block in blocks(before, storage) if block.lifetime]
    seen: set[tuple[tuple[int, int], ...]] = set()
    for _ in range(_TRIES):
        if len(seen) == count:
            return
        moved, over = rng.sample(found, 2)
        if moved.arena != over.arena or not intersects(moved.lifetime, over.lifetime):
            continue
        lowest = max(over.start - moved.size_bytes + 1, 0)
        start = rng.choice((over.start, rng.randrange(lowest, over.end) // ALIGNMENT * ALIGNMENT))
        if start + moved.size_bytes <= over.start or start == moved.start:
            continue
        members = dict(moved.members)
        if rng.random() < 0.1:  # a name of a memory is torn off the others
            value = rng.choice(sorted(members))
            members = {value: members[value]}
        offsets = {value: start + at for value, at in members.items()}
        changed = placed(file, offsets)
        key = tuple(sorted(offsets.items()))
        if key in seen or not is_damaged(before, steps_in(changed), storage.state):
            continue
        seen.add(key)
        yield Fault(changed, frozenset(members), frozenset(over.members))
    raise AssertionError(f"found {len(seen)} faults of {count}")


def shuffled(file: PteFile, seed: int) -> PteFile:
    """The same program with another plan that is right: blocks in a random order, each at a
    random one of the places where nothing that is alive at the same time lies."""
    rng = random.Random(seed)
    steps = steps_in(file)
    storage = analyse_storage(steps, frozenset())
    waiting = blocks(steps, storage)
    rng.shuffle(waiting)
    done: list[Block] = []
    offsets: dict[int, int] = {}
    for block in waiting:
        near = [
            other
            for other in done
            if other.arena == block.arena and intersects(other.lifetime, block.lifetime)
        ]
        edges = {0, *(-(-other.end // ALIGNMENT) * ALIGNMENT for other in near)}
        free = [
            start
            for start in sorted(edges)
            if all(start >= other.end or start + block.size_bytes <= other.start for other in near)
        ]
        start = rng.choice(free)
        done.append(replace(block, start=start))
        offsets.update((value, start + at) for value, at in block.members.items())
    return placed(file, offsets)


def placed(file: PteFile, offsets: dict[int, int]) -> PteFile:
    """The file with values elsewhere and arenas that are large enough."""
    plan = first_plan(file)
    values, sizes = list(plan.values or ()), list(plan.non_const_buffer_sizes or ())
    for value, offset in offsets.items():
        tensor = values[value].val
        assert isinstance(tensor, Tensor)
        assert tensor.allocation_info is not None
        arena = tensor.allocation_info.memory_id
        sizes[arena] = max(sizes[arena], offset + (tensor_bytes(tensor) or 0))
        place = AllocationDetails.at(arena, offset)
        values[value] = EValue(replace(tensor, allocation_info=place))
    moved = replace(plan, values=tuple(values), non_const_buffer_sizes=tuple(sizes))
    return with_plan(file, moved)


def blocks(steps: MethodSteps, storage: Storage) -> list[Block]:
    """The blocks of a method; what is pinned is none."""
    single = set(storage.memories).difference(*storage.groups)
    result = []
    for group in (*storage.groups, *((value,) for value in sorted(single))):
        if storage.pinned.keys() & set(group):
            continue
        memories = [storage.memories[value] for value in group]
        start = min(memory.start for memory in memories)
        members = {memory.value: memory.start - start for memory in memories}
        lifetime = merge(i for value in group for i in storage.lifetimes[value])
        size = max(memory.end for memory in memories) - start
        result.append(Block(members, memories[0].arena, start, size, lifetime))
    return result
