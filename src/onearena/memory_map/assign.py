"""Which unit lies in which region: the cheapest choice whose live bytes fit, section by section.

A search over time. Between two sections only the units alive on both sides matter, so what is kept
is the cheapest way to every choice for these. With `MAX_STATES` ways or fewer the result is
exact: no choice that fits is cheaper. Live bytes are what a region needs at least; whether a plan
with so many bytes exists is found out later, and what proves impossible comes back as a `Cut`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onearena.memory_map.units import Units

MAX_STATES = 2000
"""Ways that are kept from one section to the next."""
ROUNDING = 16
"""Sizes of memories, and the room in regions, are whole multiples of it."""

_Chain = tuple[int, int, "_Chain"] | None
"""A choice (unit, region), and those before."""
_States = dict[tuple[tuple[int, ...], int], tuple[int, _Chain]]
"""By regions of the open units and escaped cuts: the cost so far and the choices."""


@dataclass(frozen=True)
class Cut:
    """These units do not all fit into this region."""

    units: frozenset[int]
    region: int


@dataclass(frozen=True)
class Assignment:
    """The result.

    Attributes:
        regions: by unit, the position of its region.
        cost: sum of traffic x cost of the region.
        is_exact: no choice is cheaper.
    """

    regions: tuple[int, ...]
    cost: int
    is_exact: bool


@dataclass(frozen=True)
class Shelf:
    """A region as the search knows it: its memory_id, and room and price of a byte in it."""

    arena: int
    capacity_bytes: int
    cost: int


def assign(units: Units, shelves: Sequence[Shelf], cuts: Sequence[Cut]) -> Assignment | bool:
    """The cheapest assignment; True when it is certain that there is none, False when there may
    be one that was not found."""
    return _Search(units, shelves, cuts).run()


def choices(units: Units, shelves: Sequence[Shelf], unit: int) -> tuple[int, ...]:
    """The positions of the regions that a unit may lie in by itself, the fastest first."""
    found = units.all[unit]
    return tuple(
        k
        for k, shelf in enumerate(shelves)
        if shelf.arena in found.arenas and found.extent_bytes <= shelf.capacity_bytes
    )


class _Search:
    def __init__(self, units: Units, shelves: Sequence[Shelf], cuts: Sequence[Cut]) -> None:
        self._units = units
        self._shelves = shelves
        self._cuts = cuts
        self._choices = [choices(units, shelves, k) for k in range(len(units.all))]
        opened: dict[int, list[int]] = {}
        for number, unit in enumerate(units.all):
            if unit.loads:
                opened.setdefault(unit.first, []).append(number)
        self._opened = opened
        order = [unit for section in sorted(opened) for unit in opened[section]]
        rank = {unit: k for k, unit in enumerate(order)}
        self._cuts_of: dict[int, list[tuple[int, bool]]] = {}
        for number, cut in enumerate(cuts):
            last = max(cut.units, key=lambda unit: rank.get(unit, -1))
            for member in cut.units:
                self._cuts_of.setdefault(member, []).append((number, member == last))
        self._alike = self._signatures()
        self._is_exact = True

    def _signatures(self) -> list[tuple[int, int] | None]:
        """By unit, when it ends and what it takes until then: units with the same may change
        places once they are open. None for those that are bound to others in some way."""
        bound = {unit for pair in self._units.sharing for unit in pair} | self._cuts_of.keys()
        result: list[tuple[int, int] | None] = []
        for number, unit in enumerate(self._units.all):
            sizes = set(unit.loads.values())
            steady = len(sizes) == 1 and len(unit.loads) == unit.last - unit.first + 1
            free = steady and number not in bound
            result.append((unit.last, sizes.pop()) if free else None)
        return result

    def run(self) -> Assignment | bool:
        if not all(self._choices):
            return True
        states: _States = {((), 0): (0, None)}
        open_units: list[int] = []
        for section in range(len(self._units.starts)):
            fits = _Room(self._units, self._shelves, section)
            for unit in self._opened.get(section, ()):
                open_units.append(unit)
                states = self._opening(states, open_units, fits)
            states = self._closing(states, open_units, section)
            if not states:
                return self._is_exact
        # what is never alive only needs a place
        regions = [self._choices[k][-1] for k in range(len(self._units.all))]
        cost, chain = min(states.values(), key=lambda state: state[0])
        while chain is not None:
            unit, region, chain = chain
            regions[unit] = region
        idle = [k for k, unit in enumerate(self._units.all) if not unit.loads]
        cost += sum(self._units.all[k].traffic * self._shelves[regions[k]].cost for k in idle)
        return Assignment(tuple(regions), cost, self._is_exact)

    def _opening(self, states: _States, open_units: Sequence[int], fits: _Room) -> _States:
        unit = open_units[-1]
        traffic = self._units.all[unit].traffic
        result: _States = {}
        for (placed, escaped), (cost, chain) in states.items():
            for region in self._choices[unit]:
                mask = self._escaped(unit, region, escaped)
                now = (*placed, region)
                if mask is not None and fits.holds(open_units, now, region):
                    price = cost + traffic * self._shelves[region].cost
                    result[now, mask] = price, (unit, region, chain)
        return result

    def _escaped(self, unit: int, region: int, escaped: int) -> int | None:
        """The cuts that are known to be kept, among those that are not decided; None when this
        choice breaks one."""
        for number, is_last in self._cuts_of.get(unit, ()):
            bit = 1 << number
            if self._cuts[number].region != region:
                escaped |= bit
            if is_last:
                if not escaped & bit:
                    return None
                escaped &= ~bit
        return escaped

    def _closing(self, states: _States, open_units: list[int], section: int) -> _States:
        """Forgets the units that end here, and all but the cheapest ways."""
        kept = [k for k, unit in enumerate(open_units) if self._units.all[unit].last > section]
        alike: dict[tuple[int, int], list[int]] = {}
        for position, k in enumerate(kept):
            signature = self._alike[open_units[k]]
            if signature is not None:
                alike.setdefault(signature, []).append(position)
        interchangeable = [positions for positions in alike.values() if len(positions) > 1]
        result: _States = {}
        for (placed, escaped), state in states.items():
            key = _canonical([placed[k] for k in kept], interchangeable), escaped
            if key not in result or state[0] < result[key][0]:
                result[key] = state
        open_units[:] = [open_units[k] for k in kept]
        if len(result) > MAX_STATES:
            self._is_exact = False
            cheapest = sorted(result.items(), key=lambda item: item[1][0])[:MAX_STATES]
            result = dict(cheapest)
        return result


def _canonical(placed: list[int], alike: Sequence[Sequence[int]]) -> tuple[int, ...]:
    """The regions with those of units that may change places in ascending order: what lies where
    afterwards depends on how many of them are in each region only."""
    for positions in alike:
        regions = sorted(placed[position] for position in positions)
        for position, region in zip(positions, regions, strict=True):
            placed[position] = region
    return tuple(placed)


class _Room:
    """What fits into the regions during a section.

    Units that may share bytes are counted as if all of them did: the largest one counts.
    """

    def __init__(self, units: Units, shelves: Sequence[Shelf], section: int) -> None:
        self._loads = {k: unit.loads.get(section, 0) for k, unit in enumerate(units.all)}
        self._shelves = shelves
        self._family = families(units, {k for k, load in self._loads.items() if load})

    def holds(self, units: Sequence[int], regions: Sequence[int], region: int) -> bool:
        """True when the live bytes of the units in `region` fit there."""
        total = 0
        largest: dict[int, int] = {}
        for unit, place in zip(units, regions, strict=True):
            if place == region:
                load, family = self._loads[unit], self._family.get(unit)
                if family is None:
                    total += load
                else:
                    largest[family] = max(largest.get(family, 0), load)
        return total + sum(largest.values()) <= self._shelves[region].capacity_bytes


def families(units: Units, alive: Iterable[int]) -> Mapping[int, int]:
    """By unit that may share bytes with another one that is alive, the number of its family."""
    living = set(alive)
    parent: dict[int, int] = {}

    def root(unit: int) -> int:
        while parent.setdefault(unit, unit) != unit:
            unit = parent[unit]
        return unit

    for first, second in sorted(units.sharing):
        if first in living and second in living:
            a, b = root(first), root(second)
            parent[max(a, b)] = min(a, b)
    return {unit: root(unit) for unit in list(parent)}
