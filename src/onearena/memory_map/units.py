"""What has to lie in one region: buffers that keep their distance, with what they take when."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onearena.lifetime import Interval, merge
from onearena.problem import Buffer, Member, Problem


@dataclass(frozen=True)
class Unit:
    """A buffer, or an alias group.

    Attributes:
        buffers: ids.
        traffic: bytes accessed in one run.
        loads: by section of time, the bytes that it takes at least; sections without are missing.
        extent_bytes: from its origin to its end; for buffers that stay, the end of the last one.
        arenas: where all of its buffers may lie.
    """

    buffers: tuple[int, ...]
    traffic: int
    loads: Mapping[int, int]
    extent_bytes: int
    arenas: tuple[int, ...]

    @property
    def first(self) -> int:
        """The first section in which it takes bytes; there must be one."""
        return min(self.loads)

    @property
    def last(self) -> int:
        """The last one."""
        return max(self.loads)


@dataclass(frozen=True)
class Units:
    """The units of a problem.

    Attributes:
        all: in the order of their first buffers.
        starts: the first step of each section; nothing is born or dies inside a section.
        unit_of: by buffer, the unit.
        sharing: pairs of units that may share bytes although both are alive.
    """

    all: tuple[Unit, ...]
    starts: tuple[int, ...]
    unit_of: tuple[int, ...]
    sharing: frozenset[tuple[int, int]]


def collect_units(problem: Problem, traffic: Mapping[int, int]) -> Units:
    """The units of a problem.

    Args:
        traffic: bytes accessed in one run, by buffer.
    """
    starts = tuple(sorted({t for b in problem.buffers for i in _events(b) for t in i}))
    groups = [group for group in problem.groups if group]
    single = set(range(len(problem.buffers))).difference(m.buffer for g in groups for m in g)
    members = [*groups, *((Member(buffer, 0),) for buffer in single)]
    members.sort(key=lambda group: min(member.buffer for member in group))
    units = tuple(_unit(problem, group, traffic, starts) for group in members)
    unit_of = [0] * len(problem.buffers)
    for number, unit in enumerate(units):
        for buffer in unit.buffers:
            unit_of[buffer] = number
    pairs = {(unit_of[a], unit_of[b]) for a, b in problem.may_share}
    sharing = frozenset((min(pair), max(pair)) for pair in pairs if pair[0] != pair[1])
    return Units(units, starts, tuple(unit_of), sharing)


def _events(buffer: Buffer) -> Iterable[tuple[int, int]]:
    for interval in (*buffer.lifetime, *(window.lifetime for window in buffer.windows)):
        yield interval.start, interval.end


def _unit(
    problem: Problem, group: Sequence[Member], traffic: Mapping[int, int], starts: Sequence[int]
) -> Unit:
    pieces: dict[int, list[Interval]] = {}
    arenas: set[int] | None = None
    for member in group:
        buffer = problem.buffers[member.buffer]
        allowed = {buffer.arena, *buffer.arenas}
        arenas = allowed if arenas is None else arenas & allowed
        inside = Interval(member.delta, member.delta + buffer.size_bytes)
        hidden = {s for w in buffer.windows for s in _sections(w.lifetime, starts)}
        for life in buffer.lifetime:
            for section in _sections(life, starts):
                # in a window a part is free: to count none of it keeps this a lower bound
                if section not in hidden and buffer.size_bytes:
                    pieces.setdefault(section, []).append(inside)
    loads = {section: sum(i.end - i.start for i in merge(all_)) for section, all_ in pieces.items()}
    buffers = tuple(sorted(member.buffer for member in group))
    ends = [member.delta + problem.buffers[member.buffer].size_bytes for member in group]
    fixed = any(problem.buffers[buffer].offset is not None for buffer in buffers)
    origin = 0 if fixed else min(member.delta for member in group)
    amount = sum(traffic.get(buffer, 0) for buffer in buffers)
    return Unit(buffers, amount, loads, max(ends) - origin, tuple(sorted(arenas or ())))


def _sections(life: Interval, starts: Sequence[int]) -> range:
    return range(bisect_left(starts, life.start), bisect_left(starts, life.end))
