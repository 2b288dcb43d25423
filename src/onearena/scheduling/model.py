"""A method as a scheduling problem: kernels, calls, and the nodes inside opened calls, at once.

What it assumes: memory is alive from the first operation that touches it to the last one; nodes
that XNNPACK may merge run as one unit; a call's nodes stay together; what may not move (calls,
kernels with effects of their own, strips within their call) keeps its order.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from onearena.delegates.xnnpack.call import XnnpackCall
from onearena.delegates.xnnpack.units import node_units
from onearena.reorder import Dependences
from onearena.scheduling.core import (
    ScheduledMemory,
    ScheduledOperation,
    ScheduledStep,
    ScheduleProblem,
)
from onearena.scheduling.spaces import Spaces, address_spaces
from onearena.timeline.access import scratch_only
from onearena.timeline.build import Timeline
from onearena.timeline.sharing import comparable, copy_families, in_place_at
from onearena.timeline.steps import Step


@dataclass(frozen=True)
class Unit:
    """What one operation of the problem stands for.

    Attributes:
        instruction: its position in the method.
        nodes: of a call whose nodes may move, those that run; empty for a whole instruction.
        steps: of the method.
        is_movable: False when the instruction keeps its place among the others that do not move.
        in_strips: keeps its place among the units of its call that are.
    """

    instruction: int
    nodes: tuple[int, ...]
    steps: tuple[int, ...]
    is_movable: bool
    in_strips: bool = False


@dataclass(frozen=True)
class ScheduleModel:
    """A method as a scheduling problem; `units[k]` is operation k."""

    units: tuple[Unit, ...]
    problem: ScheduleProblem


@dataclass(frozen=True)
class OpenCalls:
    """The calls whose nodes may move.

    Attributes:
        calls: by instruction.
        strips: by instruction, the payload's values that run in strips; their nodes stay.
    """

    calls: Mapping[int, XnnpackCall]
    strips: Mapping[int, Collection[int]] = field(default_factory=dict)


def model_method(timeline: Timeline, opened: OpenCalls, in_place_kernels: bool) -> ScheduleModel:
    """Models a method.

    Args:
        in_place_kernels: kernels may write over operands where that is proven to be safe.
    """
    return _Model(timeline, opened, in_place_kernels).run()


class _Model:
    def __init__(self, timeline: Timeline, opened: OpenCalls, in_place: bool) -> None:
        self._timeline, self._opened, self._in_place = timeline, opened, in_place
        self._method, self._storage = timeline.method, timeline.storage
        self._dependences = Dependences(self._method, self._storage)
        self._scratch = scratch_only(self._method, self._storage.accesses)
        self._fixed = {*self._storage.state, *self._storage.pinned}

    def run(self) -> ScheduleModel:
        units = [unit for k in range(len(self._method.instructions)) for unit in self._units(k)]
        touched = self._touched()
        steps = {p: self._step(p, touched[p]) for unit in units for p in unit.steps}
        used = set[int]().union(*(step.touched for step in steps.values()))
        memories = [
            self._memory(atom, size, atom in used)
            for atom, size in enumerate(self._spaces.atom_bytes)
        ]
        operations: list[ScheduledOperation] = []
        sizes = Counter(unit.instruction for unit in units)
        for unit in units:
            private = self._private(unit)
            own = tuple(range(len(memories), len(memories) + len(private)))
            memories += [ScheduledMemory(size) for size in private]
            first, *rest = (steps[position] for position in unit.steps)
            first = ScheduledStep((*first.touched, *own), first.overlays)
            block = unit.instruction if sizes[unit.instruction] > 1 else None
            operations.append(ScheduledOperation((first, *rest), block))
        memories.append(ScheduledMemory(self._fixed_bytes(), True, True))
        precedes = tuple(sorted({*self._data_edges(units), *_kept_order(units)}))
        problem = ScheduleProblem(tuple(memories), tuple(operations), precedes)
        return ScheduleModel(tuple(units), problem)

    # -- operations -----------------------------------------------------------------------

    def _units(self, instruction: int) -> Iterator[Unit]:
        first, end = self._method.first_step[instruction : instruction + 2]
        call = self._opened.calls.get(instruction)
        movable = self._is_movable(instruction)
        if call is None or not call.graph.nodes:
            yield Unit(instruction, (), tuple(range(first, end)), movable)
            return
        strips = self._opened.strips.get(instruction, ())
        for nodes in node_units(call.graph, call.kept):
            outputs = (v for node in nodes for v in call.graph.nodes[node].outputs)
            in_strips = any(v in strips for v in outputs)
            steps = tuple(first + node for node in nodes)
            yield Unit(instruction, tuple(nodes), steps, movable, in_strips)

    def _is_movable(self, instruction: int) -> bool:
        return self._method.flow.is_straight and self._dependences.is_movable(instruction)

    def _data_edges(self, units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
        """Who writes what others read or write."""
        writer: dict[int, int] = {}
        readers = defaultdict[int, list[int]](list)
        keys = self._dependences.keys
        late = defaultdict[int, list[int]](list)
        for step in self._method.steps:
            for value, when in step.late_reads:
                late[when].append(value)
        for number, unit in enumerate(units):
            reads, writes = set[int](), set[int]()
            for position in unit.steps:
                roles = self._method.steps[position].roles
                bases = (base for base, _ in roles.aliases)
                for value in (*roles.reads, *bases, *late[position]):
                    reads |= keys(value)
                for value in (*roles.writes, *(view for _, view in roles.aliases)):
                    writes |= keys(value)
            for key in writes:
                before = (*readers.pop(key, ()), *((writer[key],) if key in writer else ()))
                yield from ((other, number) for other in before if other != number)
                writer[key] = number
            for key in reads - writes:
                if key in writer:
                    yield writer[key], number
                readers[key].append(number)

    # -- memory ---------------------------------------------------------------------------

    @cached_property
    def _spaces(self) -> Spaces:
        storage = self._storage
        values = [v for v in storage.memories if v not in self._fixed and v not in self._scratch]
        families = copy_families(self._method, storage, self._in_place)
        parts = [part for step in self._method.steps for part in self._parts(step)]
        pairs = (pair for pairs in self._in_place_pairs for pair in pairs)
        return address_spaces(storage, values, families, parts, pairs)

    @cached_property
    def _in_place_pairs(self) -> list[list[tuple[int, int]]]:
        """By step, (operand, output) where it may write the one over the other."""
        result = []
        for step in self._method.steps:
            output, operands = in_place_at(self._method, step, self._in_place) or (0, ())
            result.append([(v, output) for v in operands if comparable(self._storage, v, output)])
        return result

    @cached_property
    def _whole_only(self) -> frozenset[int]:
        """Values whose parts are not told apart: others may name their bytes."""
        grouped = {value for group in self._storage.groups for value in group}
        points = self._storage.accesses.points_to
        return frozenset(
            v for v in self._storage.memories if v in grouped or points.get(v) != frozenset((v,))
        )

    def _parts(self, step: Step) -> Iterator[tuple[int, int, int]]:
        """The parts of values that a node touches on their own: (value, first byte, end)."""
        call, node = step.call, step.node
        if call is None or node is None or not call.pieces:
            return
        for identifier in (*node.inputs, *node.outputs):
            piece = call.pieces.get(identifier)
            size = call.graph.values[identifier].size_bytes
            if piece is not None and size and call.whole_of(piece) not in self._whole_only:
                yield call.whole_of(piece), piece.offset_bytes, piece.offset_bytes + size

    def _touched(self) -> list[set[int]]:
        """By step, the atoms that are touched."""
        touched: list[set[int]] = [set() for _ in self._method.steps]
        for position, step in enumerate(self._method.steps):
            parts = list(self._parts(step))
            divided = {value for value, _, _ in parts}
            whole = self._named_whole(step) - divided if divided else set[int]()
            for value, start, end in parts:
                touched[position].update(self._spaces.atoms(value, start, end))
            for value in (*step.roles.reads, *step.roles.writes):
                if value not in divided or value in whole:
                    touched[position].update(self._atoms(value))
            for value, when in (*step.late_reads, *step.early_writes):
                if value not in step.roles.writes or when < position:
                    atoms = touched[position] & set(self._atoms(value))
                    touched[when].update(atoms or self._atoms(value))
        return touched

    def _named_whole(self, step: Step) -> set[int]:
        """Values that a node names as a whole."""
        assert step.call is not None
        assert step.node is not None
        own = (v for v in (*step.node.inputs, *step.node.outputs) if v not in step.call.pieces)
        return set(step.call.values(tuple(own)))

    def _atoms(self, value: int) -> Iterable[int]:
        memories = self._storage.memories
        for target in self._storage.accesses.points_to.get(value, ()):
            if target in memories:
                yield from self._spaces.atoms(target, 0, memories[target].size_bytes)

    @cached_property
    def _at_ends(self) -> tuple[frozenset[int], frozenset[int]]:
        """The atoms that the caller has set, and those that it reads."""
        steps = self._method.steps
        first = {a for v in steps[0].roles.writes for a in self._atoms(v)}
        last = {a for v in steps[-1].roles.reads for a in self._atoms(v)}
        return frozenset(first), frozenset(last)

    def _memory(self, atom: int, size: int, is_used: bool) -> ScheduledMemory:
        """An input that nobody reads is alive at the very start only; an output likewise."""
        first, last = (atom in ends for ends in self._at_ends)
        return ScheduledMemory(size if is_used or (first and last) else 0, first, last)

    def _step(self, position: int, touched: set[int]) -> ScheduledStep:
        """Atoms of which too little is known are born one step later: no bound is too high."""
        overlays: dict[tuple[int, int], None] = {}
        sizes = self._spaces.atom_bytes
        for operand, output in self._in_place_pairs[position]:
            over, made = list(self._atoms(operand)), list(self._atoms(output))
            if [sizes[a] for a in over] == [sizes[a] for a in made]:
                pairs = zip(over, made, strict=True)
                overlays |= dict.fromkeys(p for p in pairs if touched.issuperset(p))
            else:  # there would be too many cuts
                touched = touched - set(made)
        uses = Counter(over for over, _ in overlays)
        touched = touched - {made for over, made in overlays if uses[over] > 1}
        kept = (p for p in overlays if p[0] != p[1] and touched.issuperset(p))
        return ScheduledStep(tuple(sorted(touched)), tuple(kept))

    def _private(self, unit: Unit) -> list[int]:
        """Bytes of scratch and of the temp region: alive while the operation runs."""
        scratch = {v for s in unit.steps for v in self._method.steps[s].roles.scratch}
        memories = self._storage.memories
        sizes = [memories[v].size_bytes for v in sorted(scratch & self._scratch) if v in memories]
        temp = self._timeline.temp_buffer
        if temp is not None:
            buffer = self._timeline.problem.buffers[temp]
            if any(part.start <= s < part.end for part in buffer.lifetime for s in unit.steps):
                sizes.append(buffer.size_bytes)
        return sizes

    def _fixed_bytes(self) -> int:
        """State, and what stays where it is: alive all the time."""
        problem, values = self._timeline.problem, self._timeline.values
        fixed = [
            (b.arena, b.offset if b.offset is not None else memory.offset or 0, b.size_bytes)
            for b in problem.buffers[: len(values)]
            if values[b.id] in self._fixed
            for memory in (self._storage.memories[values[b.id]],)
        ]
        fixed += [
            (b.arena, b.offset or 0, b.size_bytes)
            for b in problem.buffers[len(values) :]
            if b.id != self._timeline.temp_buffer
        ]
        total, arena, end = 0, -1, 0
        for where, start, size in sorted(fixed):
            end = end if where == arena else 0
            total += max(start + size - max(start, end), 0)
            arena, end = where, max(end, start + size)
        return total


def _kept_order(units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
    """What may not move keeps its order: instructions among themselves, and strips in a call."""
    strips_of: dict[int, int] = {}
    previous: int | None = None
    for number, unit in enumerate(units):
        if unit.in_strips:
            if unit.instruction in strips_of:
                yield strips_of[unit.instruction], number
            strips_of[unit.instruction] = number
        if not unit.is_movable:
            if previous is not None and units[previous].instruction != unit.instruction:
                yield previous, number
            previous = number
