"""The ranges of an arena that are in use at a moment, while time goes on."""

from __future__ import annotations

from bisect import bisect_left, insort
from heapq import heappop, heappush


class ActiveBytes:
    """Ranges of bytes, each until the end of a value's life. Ranges may overlap each other."""

    def __init__(self) -> None:
        self._ranges: list[tuple[int, int, int]] = []  # start, value, end; sorted
        self._ends: list[tuple[int, int, int, int]] = []  # a heap: end of life, and the range
        self._longest = 0
        """No range was ever longer: none that begins further below a byte reaches it."""

    def overlapping(self, start: int, end: int, now: int) -> list[int]:
        """The values that share a byte with [start, end), once those that ended by step `now` are
        forgotten. `now` never decreases."""
        ranges, ends = self._ranges, self._ends
        while ends and ends[0][0] <= now:
            del ranges[bisect_left(ranges, heappop(ends)[1:])]
        first = bisect_left(ranges, (start - self._longest,))
        last = bisect_left(ranges, (end,), first)
        return [value for _, value, its_end in ranges[first:last] if its_end > start]

    def add(self, start: int, end: int, until: int, value: int) -> None:
        """Puts [start, end) to use, of a value that lives until before step `until`."""
        insort(self._ranges, (start, value, end))
        heappush(self._ends, (until, start, value, end))
        self._longest = max(self._longest, end - start)
