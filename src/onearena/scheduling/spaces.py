"""Memory as the scheduler sees it: spans of bytes that everything that names them shares.

Values that keep their distance (views, in-place kernels), and copies that may lie where the
original lies, have one address space. It is cut where one of them begins or ends, and where a part
of a value does that is read or written in strips; so rows of a value are alive on their own.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from onearena.timeline.storage import Storage


@dataclass(frozen=True)
class Spaces:
    """By value, where it lies and which atoms it consists of.

    Attributes:
        place: by value, its address space and its first byte in it.
        cuts: by address space, where its atoms begin and end, ascending.
        first_atom: by address space, the number of its first atom.
        atom_bytes: by atom, its size.
    """

    place: Mapping[int, tuple[int, int]]
    cuts: Mapping[int, Sequence[int]]
    first_atom: Mapping[int, int]
    atom_bytes: Sequence[int]

    def atoms(self, value: int, start: int, end: int) -> range:
        """The atoms of some bytes of a value; empty for one that is not planned."""
        if value not in self.place:
            return range(0)
        space, delta = self.place[value]
        cuts, first = self.cuts[space], self.first_atom[space]
        low, high = bisect_left(cuts, delta + start), bisect_left(cuts, delta + end)
        return range(first + low, first + high)


def address_spaces(
    storage: Storage,
    values: Iterable[int],
    families: Iterable[Sequence[int]],
    parts: Iterable[tuple[int, int, int]],
) -> Spaces:
    """Puts values into address spaces.

    Args:
        values: those that may move, with their mates.
        families: copies that may have one address.
        parts: (value, first byte, end) of what is touched on its own.
    """
    place = {value: (value, 0) for value in values}
    members = {value: [value] for value in place}
    for group in storage.groups:
        own = [value for value in group if value in place]
        for value in own[1:]:
            distance = storage.memories[value].start - storage.memories[own[0]].start
            _join(place, members, own[0], value, distance)
    for family in families:
        own = [value for value in family if value in place]
        for value in own[1:]:
            _join(place, members, own[0], value, 0)
    edges: dict[int, set[int]] = {space: set() for space in members}
    for value, (space, delta) in place.items():
        edges[space].update((delta, delta + storage.memories[value].size_bytes))
    for value, start, end in parts:
        if value in place:
            space, delta = place[value]
            edges[space].update((delta + start, delta + end))
    cuts = {space: sorted(found) for space, found in edges.items()}
    first_atom: dict[int, int] = {}
    atom_bytes: list[int] = []
    for space, found in cuts.items():
        first_atom[space] = len(atom_bytes)
        atom_bytes += [end - start for start, end in pairwise(found)]
    return Spaces(place, cuts, first_atom, atom_bytes)


def _join(
    place: dict[int, tuple[int, int]],
    members: dict[int, list[int]],
    first: int,
    second: int,
    distance: int,
) -> None:
    """Puts the space of one value into that of another, where it lies `distance` behind it."""
    (space, base), (other, delta) = place[first], place[second]
    if space == other:
        return
    shift = base + distance - delta
    for value in members.pop(other):
        place[value] = (space, place[value][1] + shift)
        members[space].append(value)
