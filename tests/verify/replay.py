"""Runs two files along the same paths, on memory that is kept from run to run, and compares.

Every write leaves numbers that say when and what was written, so a read in the optimized file
must find exactly the numbers that the original finds. Nothing here knows of lifetimes,
aliases or state; what a run finds from the run before must simply be the same.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from onearena.delegates.xnnpack import schema as x
from onearena.pte.schema import JumpFalseCall
from onearena.timeline.steps import MethodSteps, Step
from tests.verify.oracle import Numbers, Place, places

Path = tuple[int, ...]
"""Instructions in the order in which they run."""
_COPIES = (x.XNNStaticReshape, x.XNNCopy)
_MAX_VISITS = 300


def random_paths(method: MethodSteps, count: int, seed: int) -> list[Path]:
    """Paths through the method, jumps decided by lot; conditions need not make sense."""
    rng = random.Random(seed)
    return [tuple(_walk(method, rng)) for _ in range(count)]


def _walk(method: MethodSteps, rng: random.Random) -> Iterator[int]:
    position = 0
    for visit in range(_MAX_VISITS):
        if position == method.flow.count:
            return
        yield position
        after = method.flow.successors[position]
        is_jump = isinstance(method.instructions[position], JumpFalseCall)
        # when it takes too long, leave every loop: forward is where the method ends
        position = max(after) if visit > _MAX_VISITS // 3 or not is_jump else rng.choice(after)
    raise AssertionError("the path does not end")


@dataclass
class Memory:
    """What a machine holds between runs."""

    arenas: dict[int, Numbers]
    names: dict[int, int] = field(default_factory=dict)


EXIT = 1 << 9
"""What the end of a run is called, behind all instructions."""


@dataclass
class Machine:
    """One file's method with its memory.

    Attributes:
        count: values of the original; the ones behind must hold what was written into them.
        order: by instruction, its number in the original.
        merged: nodes read as late and write as early as XNNPACK may make them.
        joins: concatenations along an outermost dimension, whose results are their operands.
    """

    method: MethodSteps
    count: int
    order: Sequence[int]
    merged: bool
    joins: frozenset[int] = frozenset()
    runs: int = 0
    visits: int = 0
    inner: dict[int, Numbers] = field(default_factory=dict)
    memory: Memory = field(init=False)
    spots: dict[int, Place] = field(init=False)

    def __post_init__(self) -> None:
        self.spots = places(self.method)
        ends: dict[int, int] = {}
        for arena, _, end in self.spots.values():
            ends[arena] = max(ends.get(arena, 0), end)
        empty = {arena: np.zeros(end, dtype=np.int64) for arena, end in ends.items()}
        self.memory = Memory(empty)

    def fill(self, value: int, number: int) -> None:
        """Sets what memory holds before the first run."""
        self._put(value, number)

    def run(self, path: Path) -> dict[tuple[int, int], list[bytes]]:
        """What each instruction of the path reads, by (instruction of the original, value)."""
        found: dict[tuple[int, int], list[bytes]] = {}
        steps = self.method.steps
        self.runs += 1
        self._block([steps[0]], 0, -1, found)
        for instruction in path:
            first, end = (
                self.method.first_step[instruction],
                self.method.first_step[instruction + 1],
            )
            number = self.order[instruction] if self.order else instruction
            self._block(steps[first:end], first, number, found)
        self._block([steps[-1]], len(steps) - 1, EXIT, found)
        return found

    def _block(
        self,
        steps: Sequence[Step],
        first: int,
        number: int,
        found: dict[tuple[int, int], list[bytes]],
    ) -> None:
        self.visits += 1
        late, early = _due(steps, first, "late_reads"), _due(steps, first, "early_writes")
        for at, step in enumerate(steps, first):
            reads = [v for v in step.roles.reads if v not in step.roles.maybe_reads]
            writes = [(step, v) for v in step.roles.writes]
            if self.merged:
                moved = {v for v, _ in (*step.late_reads, *step.early_writes)}
                reads = [v for v in reads if v not in moved] + [v for _, v in late.get(at, ())]
                writes = [w for w in writes if w[1] not in moved] + early.get(at, [])
            for value in reads:
                self._check(value, number, found)
            for base, view in step.roles.aliases:
                self.memory.names[view] = self._target(base)
            for writer, value in writes:
                if number in self.joins:
                    self._join(writer, value)
                else:
                    self._write(writer, value, number)

    def _check(self, value: int, number: int, found: dict[tuple[int, int], list[bytes]]) -> None:
        held = self._at(value)
        if held is None:
            return
        if value < self.count:
            found.setdefault((number, value), []).append(held.tobytes())
        elif not np.array_equal(held, self._expected(value)):
            raise AssertionError(f"opened value {value} was overwritten at instruction {number}")

    def _expected(self, value: int) -> Numbers:
        """What was written into a value, or into what it is a part of."""
        part = self._part(value) if value not in self.inner else None
        if part is None:
            return self.inner[value]
        whole, offset = part
        held = self.inner[whole] if whole >= self.count else self._at(whole)
        assert held is not None
        first, end = self.spots[value][1:]
        return held[offset : offset + end - first]

    def _part(self, value: int) -> tuple[int, int] | None:
        calls = self.method.calls.values()
        return next((call.parts[value] for call in calls if value in call.parts), None)

    def _join(self, step: Step, value: int) -> None:
        target, at = self._at(value), 0
        assert step.label.startswith("aten::cat")
        assert target is not None
        held = [self._at(operand) for operand in step.roles.reads]
        for numbers in [part.copy() for part in held if part is not None]:
            target[at : at + len(numbers)] = numbers
            at += len(numbers)
        assert at == len(target)

    def _write(self, step: Step, value: int, number: int) -> None:
        target = self._at(value)
        if target is None:
            return
        self._set(step, value, number, target)
        part = self._part(value)
        if part is not None and part[0] >= self.count:
            first, end = self.spots[part[0]][1:]
            whole = self.inner.setdefault(part[0], np.zeros(end - first, dtype=np.int64))
            whole[part[1] : part[1] + len(target)] = target
        elif value >= self.count:
            self.inner[value] = target.copy()

    def _set(self, step: Step, value: int, number: int, target: Numbers) -> None:
        root = value
        if step.call is not None and step.node is not None:
            graph = step.call.graph
            (root,) = [o for o in step.node.outputs if step.call.values((o,)) == (value,)][:1]
            if root in step.call.pieces:
                piece = step.call.pieces[root]
                self._put(value, self._number(number, piece.whole + (1 << 19)), piece.offset_bytes)
                return
            node = graph.producer.get(root)
            while node is not None and node.kind in _COPIES:
                root = node.inputs[0]
                node = graph.producer.get(root)
            if node is None:
                source = self._at(step.call.values((root,))[0])
                if source is not None:
                    target[:] = source.copy()
                    return
            root += 1 << 19
        self._put(value, self._number(number, root))

    def _number(self, number: int, root: int) -> int:
        # without jumps the run and the instruction say when; the order may be another one
        when = self.runs if self.order else self.visits
        return ((when << 10) + number + 2 << 20) + root

    def _put(self, value: int, number: int, offset: int = 0) -> None:
        target = self._at(value)
        if target is not None:
            places = np.arange(offset, offset + len(target), dtype=np.int64)
            target[:] = (number << 16) + places

    def _target(self, value: int) -> int:
        return self.memory.names.get(value, value)

    def _at(self, value: int) -> Numbers | None:
        spot = self.spots.get(self._target(value))
        return None if spot is None else self.memory.arenas[spot[0]][spot[1] : spot[2]]


def _due(steps: Sequence[Step], first: int, name: str) -> dict[int, list[tuple[Step, int]]]:
    found: dict[int, list[tuple[Step, int]]] = {}
    for step in steps:
        for value, when in getattr(step, name):
            assert first <= when < first + len(steps)
            found.setdefault(when, []).append((step, value))
    return found


def assert_same_runs(
    before: MethodSteps,
    after: MethodSteps,
    order: Sequence[int],
    state: frozenset[int],
    seed: int,
) -> None:
    """Runs both methods three times along random paths."""
    count = len(before.plan.values or ())
    for merged in (False, True):
        old, new = Machine(before, count, (), False), Machine(after, count, order, merged)
        if order:
            old.order = range(len(before.instructions))
            old.joins = frozenset(old.order).difference(order)
        for value in sorted(state):
            for machine in (old, new):
                machine.fill(value, 1 + value)
        positions: dict[int, list[int]] = {}
        for k, number in enumerate(order):
            positions.setdefault(number, []).append(k)
        for path in random_paths(before, 3, seed):
            moved = tuple(sorted(p for k in path for p in positions.get(k, ()))) if order else path
            expected, found = old.run(path), new.run(moved)
            for key in sorted(expected.keys() & found.keys()):
                good, bad = set(expected[key]), set(found[key])
                assert good == bad, f"value {key[1]} at instruction {key[0]}, path {path}"
