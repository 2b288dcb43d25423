"""What an assignment costs at least, when the exact search had to leave ways out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from onearena.memory_map.assign import Shelf, choices, families
from onearena.memory_map.units import Units


def cost_bound(units: Units, shelves: Sequence[Shelf]) -> int:
    """No assignment costs less.

    The first k regions together hold so many live bytes and no more. In each section the units
    that do not fit cost at least the step to the next region, the coldest of them in parts.
    Sections that have no unit in common add up, and so do the steps from region to region.
    """
    start = 0
    for number, unit in enumerate(units.all):
        allowed = choices(units, shelves, number)
        start += unit.traffic * shelves[allowed[0]].cost if allowed else 0
    flexible = {k for k in range(len(units.all)) if len(choices(units, shelves, k)) == len(shelves)}
    room, total = 0, start
    for shelf, slower in pairwise(shelves):
        room += shelf.capacity_bytes
        if slower.cost > shelf.cost:
            total += _outside(units, flexible, room) * (slower.cost - shelf.cost)
    return total


def _outside(units: Units, flexible: set[int], room: int) -> int:
    """Traffic of units that cannot all lie in `room` bytes, at least."""
    found: list[tuple[int, frozenset[int]]] = []
    for section in range(len(units.starts)):
        alive = [k for k, unit in enumerate(units.all) if unit.loads.get(section, 0)]
        family = families(units, alive)
        # of a family only one is counted: the others may lie in its bytes
        seen: set[int] = set()
        counted = []
        for unit in alive:
            if unit in flexible and family.get(unit, unit) not in seen:
                seen.add(family.get(unit, unit))
                counted.append(unit)
        amount = _left_over(
            [(units.all[k].loads[section], units.all[k].traffic) for k in counted], room
        )
        if amount:
            found.append((amount, frozenset(alive)))
    total = 0
    taken: set[int] = set()
    for amount, alive_units in sorted(found, key=lambda item: -item[0]):
        if not taken & alive_units:
            taken |= alive_units
            total += amount
    return total


def _left_over(items: Sequence[tuple[int, int]], room: int) -> int:
    """The least traffic outside of `room` bytes; items are (bytes, traffic), and may be cut."""
    over = sum(size for size, _ in items) - room
    amount = 0
    for size, traffic in sorted(items, key=lambda item: item[1] / item[0]):
        if over <= 0:
            break
        part = min(size, over)
        amount += traffic * part // size
        over -= part
    return amount
