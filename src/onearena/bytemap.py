"""A map from byte ranges of one arena to owners."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from typing import Generic, TypeVar

T = TypeVar("T")


class ByteMap(Generic[T]):
    """Half-open byte ranges with an owner each; bytes that nobody wrote have none.

    A write of n ranges costs O(log n) to find its place and O(k) for the k ranges it covers.
    """

    def __init__(self) -> None:
        """Starts empty."""
        self._starts: list[int] = []
        self._ends: list[int] = []
        self._owners: list[T] = []

    def copy(self) -> ByteMap[T]:
        """An independent copy."""
        other: ByteMap[T] = ByteMap()
        other._starts = self._starts.copy()
        other._ends = self._ends.copy()
        other._owners = self._owners.copy()
        return other

    def write(self, start: int, end: int, owner: T) -> None:
        """Makes `owner` the owner of [start, end)."""
        if start >= end:
            return
        first, last = self._span(start, end)
        starts, ends, owners = [start], [end], [owner]
        if first < last:
            if self._starts[first] < start:
                starts.insert(0, self._starts[first])
                ends.insert(0, start)
                owners.insert(0, self._owners[first])
            if self._ends[last - 1] > end:
                starts.append(end)
                ends.append(self._ends[last - 1])
                owners.append(self._owners[last - 1])
        self._starts[first:last] = starts
        self._ends[first:last] = ends
        self._owners[first:last] = owners

    def read(self, start: int, end: int) -> tuple[tuple[int, int, T | None], ...]:
        """The pieces of [start, end) in order as (start, end, owner); None where unowned."""
        pieces: list[tuple[int, int, T | None]] = []
        position = start
        first, last = self._span(start, end)
        for index in range(first, last):
            low = max(self._starts[index], start)
            high = min(self._ends[index], end)
            if low > position:
                pieces.append((position, low, None))
            pieces.append((low, high, self._owners[index]))
            position = high
        if position < end:
            pieces.append((position, end, None))
        return tuple(pieces)

    def owners(self, start: int, end: int) -> tuple[T, ...]:
        """The distinct owners of bytes in [start, end), in address order."""
        first, last = self._span(start, end)
        return tuple(dict.fromkeys(self._owners[first:last]))

    def items(self) -> Iterator[tuple[int, int, T]]:
        """All owned ranges in address order."""
        return zip(self._starts, self._ends, self._owners, strict=True)

    def _span(self, start: int, end: int) -> tuple[int, int]:
        """Indices of the stored ranges that intersect [start, end)."""
        if start >= end:
            return 0, 0
        first = bisect_right(self._starts, start) - 1
        if first < 0 or self._ends[first] <= start:
            first += 1
        return first, max(first, bisect_left(self._starts, end))
