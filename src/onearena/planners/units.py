"""Units: what a planner places. A unit is one buffer, an alias group, or buffers that share.

Merging the two buffers of a `may_share` pair into one unit is decided here, largest first,
wherever nothing else that lives in the two units would collide.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import lcm

from onearena.errors import PlanError
from onearena.lifetime import Lifetime, intersects
from onearena.problem import Buffer, Problem


@dataclass(frozen=True, slots=True)
class Rect:
    """A buffer inside its unit: bytes [delta, delta + size_bytes) during `lifetime`."""

    buffer: int
    delta: int
    size_bytes: int
    lifetime: Lifetime


@dataclass(frozen=True, slots=True)
class Unit:
    """Buffers that move together. `alignment` and `phase`: the offset must be ≡ phase."""

    rects: tuple[Rect, ...]
    alignment: int
    phase: int
    offset: int | None

    @property
    def size_bytes(self) -> int:
        """End of the last byte, from the unit's offset."""
        return max(rect.delta + rect.size_bytes for rect in self.rects)

    @property
    def start(self) -> int:
        """First step of life; 0 when it is never alive."""
        return min((r.lifetime[0].start for r in self.rects if r.lifetime), default=0)

    @property
    def end(self) -> int:
        """Step behind the last one of life; 0 when it is never alive."""
        return max((r.lifetime[-1].end for r in self.rects if r.lifetime), default=0)


def build_units(problem: Problem, arena: int, share: bool = True) -> tuple[Unit, ...]:
    """The units of one arena; with `share`, pairs that may share are merged where possible.

    Raises:
        PlanError: a group's fixed offsets or alignments contradict each other.
    """
    builder = _Builder(problem, arena)
    if share:
        pairs = sorted(problem.may_share, key=lambda p: (-problem.buffers[p[0]].size_bytes, p))
        for first, second in pairs:
            builder.try_share(first, second)
    return builder.units()


class _Builder:
    def __init__(self, problem: Problem, arena: int) -> None:
        self._problem = problem
        self._allowed = {frozenset(pair) for pair in problem.may_share}
        self._of: dict[int, int] = {}
        self._members: dict[int, list[tuple[int, int]]] = {}
        self._key: dict[int, int | None] = {}
        for group in problem.groups:
            first = problem.buffers[group[0].buffer]
            if first.arena == arena:
                self._add([(m.buffer, m.delta) for m in group])
        for buffer in problem.buffers:
            if buffer.arena == arena and buffer.id not in self._of:
                self._add([(buffer.id, 0)])

    def _add(self, members: list[tuple[int, int]]) -> None:
        key = members[0][0]
        self._members[key] = members
        for buffer, _ in members:
            self._of[buffer] = key

    def try_share(self, first: int, second: int) -> None:
        """Merges the units of a pair so that both get one offset, if nothing collides."""
        a, b = self._of.get(first), self._of.get(second)
        if a is None or b is None or a == b:
            return
        deltas_a, deltas_b = dict(self._members[a]), dict(self._members[b])
        shift = deltas_a[first] - deltas_b[second]
        moved = [(buffer, delta + shift) for buffer, delta in self._members[b]]
        if self._collides(self._members[a], moved) or not self._compatible(self._members[a], moved):
            return
        self._members[a] = self._members[a] + moved
        for buffer, _ in moved:
            self._of[buffer] = a
        del self._members[b]

    def _collides(
        self, first: Sequence[tuple[int, int]], second: Sequence[tuple[int, int]]
    ) -> bool:
        buffers = self._problem.buffers
        for one, low in first:
            a = buffers[one]
            for other, start in second:
                b = buffers[other]
                if low >= start + b.size_bytes or start >= low + a.size_bytes:
                    continue
                shared = (
                    low == start
                    and a.size_bytes == b.size_bytes
                    and frozenset((one, other)) in self._allowed
                )
                if not shared and intersects(a.lifetime, b.lifetime):
                    return True
        return False

    def _compatible(
        self, first: Sequence[tuple[int, int]], second: Iterable[tuple[int, int]]
    ) -> bool:
        try:
            self._unit([*first, *second])
        except PlanError:
            return False
        return True

    def units(self) -> tuple[Unit, ...]:
        return tuple(self._unit(members) for members in self._members.values())

    def _unit(self, members: Sequence[tuple[int, int]]) -> Unit:
        buffers = self._problem.buffers
        low = min(delta for _, delta in members)
        placed = [(buffers[buffer], delta - low) for buffer, delta in members]
        rects = tuple(Rect(b.id, delta, b.size_bytes, b.lifetime) for b, delta in placed)
        alignment, phase = _congruence(placed)
        fixed = {b.offset - delta for b, delta in placed if b.offset is not None}
        if len(fixed) > 1:
            raise PlanError(f"the fixed offsets of {placed[0][0].name} and its aliases disagree")
        offset = min(fixed, default=None)
        if offset is not None and (offset < 0 or (offset - phase) % alignment):
            raise PlanError(f"the fixed offset of {placed[0][0].name} or an alias is impossible")
        return Unit(rects, alignment, phase, offset)


def _congruence(placed: Sequence[tuple[Buffer, int]]) -> tuple[int, int]:
    """Alignment A and phase p such that offset ≡ p (mod A) aligns every member."""
    alignment = lcm(*(buffer.alignment for buffer, _ in placed))
    for phase in {-delta % alignment for _, delta in placed}:
        if all((phase + delta) % buffer.alignment == 0 for buffer, delta in placed):
            return alignment, phase
    raise PlanError(f"the alignments of {placed[0][0].name} and its aliases contradict each other")
