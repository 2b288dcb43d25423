"""Values that nothing writes under their own names: they lie where their bytes were written."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from onearena.verification.memory_state import Extent
from onearena.verification.origins import Origin, Pieces, describe
from onearena.verification.trace_result import Trace


class JoinedValues:
    """What a record says of values that lie inside each other."""

    def __init__(
        self,
        joined: Iterable[tuple[int, int, int]],
        written: Collection[int],
        in_parts: Collection[int],
        extents: Mapping[int, Extent],
    ) -> None:
        """Prepares the checks.

        Args:
            joined: (value, value, distance): the first lies inside the second.
            written: values that some step writes under their own names.
            in_parts: values of which some step writes parts under the parts' names.
            extents: where values lie.
        """
        self._joined, self._extents = tuple(joined), extents
        self._written = frozenset(written)
        self._sources = self._written | frozenset(in_parts)
        self._mates: dict[int, set[int]] = {}
        for inner, outer, _ in self._joined:
            mates = {inner, outer, *self._mates.get(inner, ()), *self._mates.get(outer, ())}
            for value in mates:
                self._mates[value] = mates

    def covers(self, value: int) -> bool:
        """True for a value that lies inside others, or they in it, and that nothing writes."""
        return value in self._mates and value not in self._written

    def misplaced(self) -> Iterable[str]:
        """Values that do not lie where the record says."""
        for inner, outer, distance in self._joined:
            a, b = self._extents.get(outer), self._extents.get(inner)
            fits = a is not None and b is not None and a.arena == b.arena and b.end <= a.end
            if a is None or b is None or not fits or b.start - a.start != distance or distance < 0:
                yield f"value {inner} must lie {distance} bytes inside value {outer}"

    def fault(self, trace: Trace, value: int, pieces: Pieces) -> str | None:
        """What is wrong with what such a value holds, or None: every byte must be one that a mate
        wrote, at the place of the mate."""
        own = self._extents[value]
        mates = [v for v in sorted(self._mates[value] & self._sources) if v in self._extents]
        for piece in pieces:
            start = own.start + piece.start
            place = Extent(own.arena, start, start + piece.size_bytes)
            for origin, at in piece.origins:
                if not any(self._wrote(trace, mate, origin, at, place) for mate in mates):
                    return f"does not hold what it consists of, but {describe(origin)}"
        return None

    def _wrote(self, trace: Trace, mate: int, origin: Origin, at: int, place: Extent) -> bool:
        where = self._extents[mate]
        inside = where.arena == place.arena and where.start <= place.start
        inside &= place.end <= where.end and at == place.start - where.start
        return inside and origin in trace.written.get(mate, ())
