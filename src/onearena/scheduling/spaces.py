"""Memory as the scheduler sees it: spans of bytes that everything that names them shares.

Values that keep their distance (views, in-place kernels), and copies that may lie where the
original lies, have one address space. It is cut where one of them begins or ends, and where a part
of a value does that is read or written in strips; so rows of a value are alive on their own. An
operand and what may be written over it are cut at the same places, so that each atom of the one
may take the place of an atom of the other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, permutations

from onearena.timeline.storage import Storage

_CUTS_LIMIT = 1 << 16
"""Of all spaces: pairs of values in two spaces at two distances could go on cutting each other."""


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
    pairs: Iterable[tuple[int, int]] = (),
) -> Spaces:
    """Puts values into address spaces.

    Args:
        values: those that may move, with their mates.
        families: copies that may have one address.
        parts: (value, first byte, end) of what is touched on its own.
        pairs: two values of one size that may lie at one address; cut at the same places, as long
            as there are not very many cuts.
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
    _cut_alike(storage, place, edges, pairs)
    cuts = {space: sorted(found) for space, found in edges.items()}
    first_atom: dict[int, int] = {}
    atom_bytes: list[int] = []
    for space, found in cuts.items():
        first_atom[space] = len(atom_bytes)
        atom_bytes += [end - start for start, end in pairwise(found)]
    return Spaces(place, cuts, first_atom, atom_bytes)


def _cut_alike(
    storage: Storage,
    place: Mapping[int, tuple[int, int]],
    edges: Mapping[int, set[int]],
    pairs: Iterable[tuple[int, int]],
) -> None:
    """Cuts both values of every pair where one of them is cut."""
    mates: dict[int, list[tuple[int, int, int, int]]] = {space: [] for space in edges}
    for pair in pairs:
        if all(value in place for value in pair) and place[pair[0]][0] != place[pair[1]][0]:
            size = storage.memories[pair[0]].size_bytes
            for (space, delta), (other, shift) in permutations([place[v] for v in pair]):
                mates[space].append((delta, delta + size, other, shift - delta))
    new = [(space, cut) for space, found in edges.items() for cut in sorted(found)]
    room = max(_CUTS_LIMIT - len(new), 0)
    while new and room:
        space, cut = new.pop()
        for start, end, other, shift in mates[space]:
            if start < cut < end and cut + shift not in edges[other]:
                edges[other].add(cut + shift)
                new.append((other, cut + shift))
                room -= 1


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
