"""Who touches which value when, which reads no write precedes, and what handles name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onearena.pte.schema import Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.timeline.steps import MethodSteps


@dataclass(frozen=True)
class Memory:
    """A planned value's own memory.

    Attributes:
        value: index among the method's values.
        arena: memory_id.
        offset: byte offset in the file read; None for a value added by opening.
        size_bytes: the upper bound for dynamic shapes; positive.
    """

    value: int
    arena: int
    offset: int | None
    size_bytes: int

    @property
    def start(self) -> int:
        """The offset, of a value that has one."""
        assert self.offset is not None
        return self.offset

    @property
    def end(self) -> int:
        """The offset behind the last byte."""
        return self.start + self.size_bytes

    def overlaps(self, other: Memory) -> bool:
        """True when both share a byte in the file read."""
        mine, its = self.offset, other.offset
        if mine is None or its is None or self.arena != other.arena:
            return False
        return mine < its + other.size_bytes and its < mine + self.size_bytes


def planned_memories(method: MethodSteps, added: frozenset[int]) -> dict[int, Memory]:
    """The values that own planned memory of a known, positive size, by value."""
    found: dict[int, Memory] = {}
    folded = {value for call in method.calls.values() for value in call.folded}
    for index, entry in enumerate(method.plan.values or ()):
        tensor = entry.val
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            size = tensor_bytes(tensor)
            if size and index not in folded:
                info = tensor.allocation_info
                offset = None if index in added else info.offset
                found[index] = Memory(index, info.memory_id, offset, size)
    return found


@dataclass(frozen=True)
class Accesses:
    """What the steps say about the values.

    Attributes:
        reads, writes: steps by value, ascending.
        exposed: by value, the steps that may read it before anything defined it in this run.
        points_to: by value, the planned values whose memory it may name (itself, or what a
            `MoveCall` or `et_view` made it name).
    """

    reads: Mapping[int, tuple[int, ...]]
    writes: Mapping[int, tuple[int, ...]]
    exposed: Mapping[int, tuple[int, ...]]
    points_to: Mapping[int, frozenset[int]]


def collect_accesses(method: MethodSteps, memories: Mapping[int, Memory]) -> Accesses:
    """Collects the accesses of a method."""
    reads: dict[int, list[int]] = {}
    writes: dict[int, list[int]] = {}
    handles: dict[int, list[int]] = {}
    moves: list[tuple[int, int]] = []
    for position, step in enumerate(method.steps):
        for value in step.roles.reads:
            reads.setdefault(value, []).append(position)
        for value in step.roles.writes:
            writes.setdefault(value, []).append(position)
        for base, view in step.roles.aliases:
            handles.setdefault(view, []).append(position)
            moves.append((base, view))
    exposed = {}
    for value, steps in reads.items():
        definitions = (*writes.get(value, ()), *handles.get(value, ()))
        found = _exposed(method, steps, definitions)
        if found:
            exposed[value] = found
    own = {
        value for value in memories if value not in handles or value in exposed or value in writes
    }
    return Accesses(
        {value: tuple(steps) for value, steps in reads.items()},
        {value: tuple(steps) for value, steps in writes.items()},
        exposed,
        _points_to(own, {*reads, *writes, *handles, *memories}, moves),
    )


def scratch_only(method: MethodSteps, accesses: Accesses) -> frozenset[int]:
    """Values that are scratch wherever they are touched."""
    named = {value for step in method.steps for value in step.roles.scratch}
    return frozenset(
        value
        for value in named
        if value not in accesses.reads
        and all(value in method.steps[step].roles.scratch for step in accesses.writes[value])
    )


def successors(method: MethodSteps, step: int) -> tuple[int, ...]:
    """The steps that may follow `step`."""
    if step == method.exit_step:
        return ()
    instruction = method.steps[step].instruction
    if instruction < 0 or method.steps[step + 1].instruction == instruction:
        return (step + 1,)
    return tuple(method.first_step[target] for target in method.flow.successors[instruction])


def _exposed(
    method: MethodSteps, reads: Iterable[int], definitions: tuple[int, ...]
) -> tuple[int, ...]:
    if method.flow.is_straight:
        first = min(definitions, default=len(method.steps))
        return tuple(step for step in reads if step <= first)
    defining = set(definitions)
    reached: set[int] = set()
    pending = [0]
    while pending:
        step = pending.pop()
        if step not in reached:
            reached.add(step)
            if step not in defining:
                pending.extend(successors(method, step))
    return tuple(step for step in reads if step in reached)


def _points_to(
    own: set[int], values: set[int], moves: list[tuple[int, int]]
) -> dict[int, frozenset[int]]:
    points = {value: {value} if value in own else set() for value in values}
    changed = True
    while changed:
        changed = False
        for base, view in moves:
            if not points[base] <= points[view]:
                points[view] |= points[base]
                changed = True
    return {value: frozenset(targets) for value, targets in points.items()}
