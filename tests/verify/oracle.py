"""A concrete run of a method, byte by byte: every write leaves its own numbers in memory.

Two files with equal instructions read the same numbers everywhere, or one of them is wrong.
Knows nothing of lifetimes or origins; only the roles of the steps are taken as given. A call's
nodes are run in list order and, a second time, with every read as late and every write as
early as XNNPACK's rewrites may make them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from onearena.delegates.xnnpack import schema as x
from onearena.pte.schema import Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.timeline.steps import MethodSteps, Step

Numbers = NDArray[np.int64]
Place = tuple[int, int, int]
"""Arena, first byte, byte behind the last one."""
_IN_PLACE = {
    x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv, x.XNNMinimum, x.XNNMaximum, x.XNNPReLU,
    x.XNNSoftmax, x.XNNSigmoid, x.XNNClamp, x.XNNFloor, x.XNNConvert, x.XNNSquareRoot,
    x.XNNCeiling, x.XNNHardswish, x.XNNLeakyReLU, x.XNNNegate, x.XNNSquare, x.XNNELU, x.XNNAbs,
    x.XNNReciprocalSquareRoot, x.XNNLog, x.XNNGelu, x.XNNTanh, x.XNNExp, x.XNNSin, x.XNNCos,
    x.XNNCopy, x.XNNStaticReshape,
}  # fmt: skip


@dataclass
class Run:
    """What was read, by (step, value); what state holds at the end; collisions inside a step."""

    reads: dict[tuple[int, int], Numbers] = field(default_factory=dict)
    state: dict[int, Numbers] = field(default_factory=dict)
    clashes: set[tuple[int, int, int]] = field(default_factory=set)


def places(method: MethodSteps) -> dict[int, Place]:
    """Where the planned values with bytes lie."""
    found: dict[int, Place] = {}
    for index, entry in enumerate(method.plan.values or ()):
        tensor = entry.val
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            size = tensor_bytes(tensor)
            if size:
                start = tensor.allocation_info.offset
                found[index] = (tensor.allocation_info.memory_id, start, start + size)
    return found


def is_damaged(
    before: MethodSteps, after: MethodSteps, state: frozenset[int], clashes: bool = True
) -> bool:
    """True when `after`, which differs from `before` in offsets only, must go wrong.

    Args:
        clashes: collisions inside one step count as well.
    """
    for merged in (False, True):
        good, bad = run(before, state, merged), run(after, state, merged)
        if (clashes and bad.clashes - good.clashes) or good.reads.keys() != bad.reads.keys():
            return True
        if any(not np.array_equal(good.reads[key], bad.reads[key]) for key in good.reads):
            return True
        if any(not np.array_equal(good.state[v], bad.state[v]) for v in good.state):
            return True
    return False


def run(method: MethodSteps, state: frozenset[int], merged: bool) -> Run:
    """Runs a method without jumps."""
    assert method.flow.is_straight
    return _Machine(method, state, merged).run()


class _Machine:
    def __init__(self, method: MethodSteps, state: frozenset[int], merged: bool) -> None:
        self._method = method
        self._merged = merged
        self._places = places(method)
        self._state = state
        self._names: dict[int, int] = {}
        self._memory: dict[int, Numbers] = {}
        self._run = Run()
        ends: dict[int, int] = {}
        for arena, _, end in self._places.values():
            ends[arena] = max(ends.get(arena, 0), end)
        for arena, end in ends.items():
            self._memory[arena] = -1 - np.arange(end, dtype=np.int64)
        loaded = {v for v in self._places if method.tensor(v).data_buffer_idx}
        for value in sorted(state | loaded):
            self._write(value, len(method.steps), value)

    def run(self) -> Run:
        late = _due(self._method, "late_reads")
        early = _due(self._method, "early_writes")
        for position, step in enumerate(self._method.steps):
            reads = [(position, v) for v in step.roles.reads if v not in step.roles.maybe_reads]
            writes = [(position, v) for v in step.roles.writes]
            if self._merged:
                moved = {(position, v) for v, _ in (*step.late_reads, *step.early_writes)}
                own = {(position, v) for v in step.roles.reads}
                reads = [use for use in reads if use not in moved] + [
                    use for use in late.get(position, ()) if (position, use[1]) not in own
                ]
                writes = [use for use in writes if use not in moved] + early.get(position, [])
            self._clash(position, step, reads, writes)
            for key in reads:
                self._read(key)
            for base, view in step.roles.aliases:
                self._names[view] = self._target(base)
            for at, value in writes:
                self._store(at, value)
        for value in self._state & self._places.keys():
            self._run.state[value] = self._at(value).copy()
        return self._run

    def _target(self, value: int) -> int:
        return self._names.get(value, value)

    def _at(self, value: int) -> Numbers:
        arena, start, end = self._places[self._target(value)]
        return self._memory[arena][start:end]

    def _read(self, key: tuple[int, int]) -> None:
        if self._target(key[1]) in self._places:
            self._run.reads[key] = self._at(key[1]).copy()

    def _store(self, position: int, value: int) -> None:
        step = self._method.steps[position]
        if self._target(value) not in self._places:
            return
        source = step.call.same_bytes_operand(step.node) if step.call and step.node else None
        if source is not None and self._target(source) in self._places:
            self._at(value)[:] = self._at(source).copy()
        else:
            self._write(value, position, value)

    def _write(self, value: int, position: int, name: int) -> None:
        count = len(self._method.plan.values or ())
        target = self._at(value)
        first = (position * count + name) << 32
        target[:] = first + np.arange(len(target), dtype=np.int64)

    def _clash(
        self,
        position: int,
        step: Step,
        reads: list[tuple[int, int]],
        writes: list[tuple[int, int]],
    ) -> None:
        """Outputs that overlap each other or, where a node cannot work in place, an operand."""
        for index, (at, value) in enumerate(writes):
            target = self._places.get(self._target(value))
            for other_at, other in (*reads, *writes[:index]):
                place = self._places.get(self._target(other))
                if target is None or place is None or other == value:
                    continue
                apart = target[0] != place[0] or target[1] >= place[2] or place[1] >= target[2]
                moved = at != position or other_at != position
                known = step.node is None or step.node.kind in _IN_PLACE
                legal = (other_at, other) in reads and target == place and known and not moved
                if not apart and not legal:
                    self._run.clashes.add((position, value, other))


def _due(method: MethodSteps, name: str) -> Mapping[int, list[tuple[int, int]]]:
    """By step, the (step, value) that may happen only (or already) there."""
    found: dict[int, list[tuple[int, int]]] = {}
    for position, step in enumerate(method.steps):
        for value, when in getattr(step, name):
            found.setdefault(when, []).append((position, value))
    return found
