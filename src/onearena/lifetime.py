"""Sets of steps as sorted half-open intervals."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, order=True)
class Interval:
    """The steps start, start + 1, ..., end - 1."""

    start: int
    end: int


Lifetime = tuple[Interval, ...]
"""Disjoint intervals in order; empty for memory that is never used."""


def merge(intervals: Iterable[Interval]) -> Lifetime:
    """The union as disjoint intervals in order; touching ones are joined."""
    result: list[Interval] = []
    for interval in sorted(intervals):
        if result and interval.start <= result[-1].end:
            last = result.pop()
            result.append(Interval(last.start, max(last.end, interval.end)))
        elif interval.start < interval.end:
            result.append(interval)
    return tuple(result)


def intersects(first: Lifetime, second: Lifetime) -> bool:
    """True when both are alive at some step."""
    i = j = 0
    while i < len(first) and j < len(second):
        if first[i].end <= second[j].start:
            i += 1
        elif second[j].end <= first[i].start:
            j += 1
        else:
            return True
    return False


def intersection(first: Lifetime, second: Lifetime) -> Lifetime:
    """The steps at which both are alive."""
    return tuple(
        Interval(max(a.start, b.start), min(a.end, b.end))
        for a in first
        for b in second
        if max(a.start, b.start) < min(a.end, b.end)
    )
