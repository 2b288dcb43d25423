"""Lower bounds: what no plan can undercut."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from onearena.lifetime import Interval, Lifetime, intersection, merge
from onearena.problem import Buffer, Member, Problem

_Events = dict[int, int]


def lower_bound_bytes(problem: Problem, arena: int) -> int:
    """The best known lower bound on the height of one arena: its max-live bytes, the ends of
    the buffers with a fixed offset, and the largest buffer."""
    ends = [(b.offset or 0) + b.size_bytes for b in problem.buffers if b.arena == arena]
    return max(max_live_bytes(problem, arena), *ends, 0)


def max_live_bytes(problem: Problem, arena: int) -> int:
    """The largest number of bytes that must be distinct at one step.

    An alias group counts each of its bytes once. The second buffer of a pair that may share
    is left out while the first is alive too, which keeps the bound valid whether or not the
    two end up at one offset.
    """
    events: _Events = {}
    for buffer in problem.buffers:
        if buffer.arena == arena and buffer.id not in problem.group_of:
            _count(events, buffer.lifetime, buffer.size_bytes)
    for group in problem.groups:
        if problem.buffers[group[0].buffer].arena == arena:
            _count_group(events, problem.buffers, group)
    for buffer, common in _shared_lifetimes(problem):
        if buffer.arena == arena:
            _count(events, common, -buffer.size_bytes)
    live = peak = 0
    for step in sorted(events):
        live += events[step]
        peak = max(peak, live)
    return peak


def _count(events: _Events, lifetime: Lifetime, size_bytes: int) -> None:
    for interval in lifetime:
        events[interval.start] = events.get(interval.start, 0) + size_bytes
        events[interval.end] = events.get(interval.end, 0) - size_bytes


def _count_group(events: _Events, buffers: Sequence[Buffer], group: tuple[Member, ...]) -> None:
    """Adds the number of bytes of the union of the live members, over time."""
    steps = sorted({s for m in group for i in buffers[m.buffer].lifetime for s in (i.start, i.end)})
    for start, end in pairwise(steps):
        live = (
            Interval(m.delta, m.delta + buffers[m.buffer].size_bytes)
            for m in group
            if any(i.start <= start < i.end for i in buffers[m.buffer].lifetime)
        )
        covered = sum(piece.end - piece.start for piece in merge(live))
        _count(events, (Interval(start, end),), covered)


def _shared_lifetimes(problem: Problem) -> Iterable[tuple[Buffer, Lifetime]]:
    """Per second buffer of a pair, when one of its firsts is alive too."""
    common: dict[int, list[Interval]] = {}
    for first, second in problem.may_share:
        both = intersection(problem.buffers[first].lifetime, problem.buffers[second].lifetime)
        common.setdefault(second, []).extend(both)
    return [(problem.buffers[buffer], merge(spans)) for buffer, spans in common.items()]
