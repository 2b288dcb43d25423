"""Placing units one by one, each at the lowest offset that is free."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onearena.errors import PlanError
from onearena.lifetime import intersects
from onearena.planners.units import Unit

Gap = tuple[int, int, int]
"""(other, low, high): with the other at offset x, this one must not lie in (x + low, x + high)."""


@dataclass(frozen=True)
class Conflicts:
    """Per unit, where it must not be relative to others that live at the same time."""

    gaps: tuple[tuple[Gap, ...], ...]


def find_conflicts(units: Sequence[Unit]) -> Conflicts:
    """Finds all conflicts by sweeping over time."""
    gaps: list[list[Gap]] = [[] for _ in units]
    order = sorted(range(len(units)), key=lambda k: units[k].start)
    active: list[int] = []
    for k in order:
        start = units[k].start
        active = [other for other in active if units[other].end > start]
        if units[k].end <= start:
            continue
        for other in active:
            _add_gaps(gaps, units, k, other)
        active.append(k)
    return Conflicts(tuple(tuple(g) for g in gaps))


def _add_gaps(gaps: list[list[Gap]], units: Sequence[Unit], first: int, second: int) -> None:
    for a in units[first].rects:
        for b in units[second].rects:
            if intersects(a.lifetime, b.lifetime):
                low = b.delta - a.delta - a.size_bytes
                high = b.delta - a.delta + b.size_bytes
                gaps[first].append((second, low, high))
                gaps[second].append((first, -high, -low))


def check_fixed(units: Sequence[Unit], conflicts: Conflicts) -> None:
    """Makes sure that the fixed offsets leave room for each other.

    Raises:
        PlanError: two units that live at the same time are fixed to the same bytes.
    """
    for unit, gaps in zip(units, conflicts.gaps, strict=True):
        for other, low, high in gaps:
            at, there = unit.offset, units[other].offset
            if at is not None and there is not None and low < at - there < high:
                raise PlanError(f"two buffers are fixed to byte {max(at, there)}")


@dataclass(frozen=True)
class Placement:
    """Offsets per unit, the height in bytes, and the last unit that raised it."""

    offsets: tuple[int, ...]
    height_bytes: int
    highest: int


def first_fit(
    units: Sequence[Unit],
    conflicts: Conflicts,
    order: Sequence[int],
    best_fit: bool = False,
    limit_bytes: int | None = None,
) -> Placement | None:
    """Places the units in the given order; units with a fixed offset count from the start.

    Args:
        best_fit: take the smallest gap that fits instead of the lowest.
        limit_bytes: give up as soon as the height reaches this.

    Returns:
        None when the limit was reached.
    """
    offsets: list[int] = [-1] * len(units)
    height, highest = 0, -1
    for k, unit in enumerate(units):
        if unit.offset is not None:
            offsets[k] = unit.offset
            height = max(height, unit.offset + unit.size_bytes)
    for k in order:
        unit = units[k]
        if unit.offset is not None:
            continue
        offset = _lowest(unit, conflicts.gaps[k], offsets, best_fit)
        offsets[k] = offset
        top = offset + unit.size_bytes
        if top > height:
            height, highest = top, k
            if limit_bytes is not None and height >= limit_bytes:
                return None
    return Placement(tuple(offsets), height, highest)


def _lowest(unit: Unit, gaps: Sequence[Gap], offsets: Sequence[int], best_fit: bool) -> int:
    taken = sorted(
        (offsets[other] + low, offsets[other] + high)
        for other, low, high in gaps
        if offsets[other] >= 0
    )
    alignment, phase = unit.alignment, unit.phase
    position = phase
    best = best_room = -1
    for low, high in taken:
        if position <= low:
            if not best_fit:
                return position
            if best < 0 or low - position < best_room:
                best, best_room = position, low - position
        if high > position:
            position = high + (phase - high) % alignment
    return position if best < 0 else best
