"""What is missing when a program does not fit into a memory map."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from onearena.errors import InfeasibleError, PlanError
from onearena.memory_map.assign import ROUNDING, Shelf, assign
from onearena.memory_map.regions import MemoryMap
from onearena.memory_map.solve import solve_regions
from onearena.memory_map.units import Units, collect_units
from onearena.planners import plan as plan_problem
from onearena.problem import Memory, Problem
from onearena.results import Peak

_MAX_NAMED = 4
"""Tensors that the message names; JSON has them all."""
_MAX_PRICE = 1 << 32
"""Of a byte of the region that may grow; the planner's sums have to fit into 64 bits."""
_MAX_PROVEN_UNITS = 200
"""With more buffers it takes too long to prove that no smaller change would do."""


@dataclass(frozen=True)
class Enlargement:
    """A change that would do: one region larger, the others as they are.

    Attributes:
        region: its name.
        over_bytes: what it must have in addition.
        is_least: whether it is proven that less would not do.
    """

    region: str
    over_bytes: int
    is_least: bool

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "region": self.region,
            "over_bytes": self.over_bytes,
            "is_least": self.is_least,
        }


@dataclass(frozen=True)
class Misfit:
    """Why a method does not fit.

    Attributes:
        enlargements: what would do, the smallest first; empty if nothing was found in time.
        peak: where most bytes are alive, whichever region they lie in; None if that is not it.
        is_proven: whether no plan fits; else none was found.
    """

    enlargements: tuple[Enlargement, ...]
    peak: Peak | None
    is_proven: bool

    @property
    def rank(self) -> tuple[bool, int]:
        """Orders by how little is missing."""
        least = min((change.over_bytes for change in self.enlargements), default=0)
        return not self.enlargements, least

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "fits": False,
            "is_proven": self.is_proven,
            "enlargements": [change.to_json() for change in self.enlargements],
            "peak": self.peak.to_json() if self.peak else None,
        }


class DoesNotFitError(InfeasibleError):
    """A method does not fit into the memory map; `misfit` tells what is missing."""

    def __init__(self, what: str, memory_map: MemoryMap, misfit: Misfit) -> None:
        super().__init__(f"{what}: {_message(memory_map, misfit)}")
        self.misfit = misfit


def _message(memory_map: MemoryMap, misfit: Misfit) -> str:
    regions = " + ".join(f"{r.name} ({r.capacity_bytes:,} B)" for r in memory_map.regions)
    verb = "does not fit into" if misfit.is_proven else "no plan was found in time for"
    parts = [f"{verb} {regions}"]
    if misfit.enlargements:
        change = misfit.enlargements[0]
        least = " and not less" if change.is_least else ", perhaps less"
        parts.append(f"{change.region} needs {change.over_bytes:,} B more{least}")
    else:
        parts.append("no region was found that would do if it were larger")
    if misfit.peak is not None:
        named = [
            f"value {tensor.value} {tensor.description} {tensor.size_bytes:,} B"
            for tensor in misfit.peak.tensors[:_MAX_NAMED]
        ]
        rest = len(misfit.peak.tensors) - len(named)
        named += [f"{rest} more"] if rest else []
        parts.append(
            f"at the peak, {misfit.peak.step}, {misfit.peak.live_bytes:,} B are alive: "
            f"{', '.join(named)}"
        )
    return "; ".join(parts)


def find_enlargements(
    problem: Problem,
    memory_map: MemoryMap,
    shelves: Sequence[Shelf],
    time_limit_s: float,
    tail_bytes: int = 0,
) -> tuple[Enlargement, ...]:
    """For each region, how much larger it must be if the others stay; the smallest first.

    Args:
        shelves: the regions in the order of the map, with what they have for buffers.
        tail_bytes: what a region must have besides.
    """
    units = collect_units(problem, {})
    found: list[Enlargement] = []
    for position, region in enumerate(memory_map.regions):
        try:
            height = _lowest(problem, shelves, position, time_limit_s)
        except PlanError:
            continue
        room = shelves[position].capacity_bytes
        least = room + ROUNDING
        if len(units.all) <= _MAX_PROVEN_UNITS:
            least = _least(units, shelves, position, height)
            if least < height and _is_enough(problem, shelves, position, least, time_limit_s):
                height = least
        over = height + tail_bytes - region.capacity_bytes
        found.append(Enlargement(region.name, over, height <= least))
    return tuple(sorted(found, key=lambda change: change.over_bytes))


def _lowest(problem: Problem, shelves: Sequence[Shelf], position: int, time_limit_s: float) -> int:
    """The height of a region that may grow, in a plan that keeps it low.

    Raises:
        PlanError: no plan was found.
    """
    others = [shelf for k, shelf in enumerate(shelves) if k != position]
    memories = [Memory(shelf.arena, shelf.capacity_bytes) for shelf in others]
    # a byte here is dearer than all bytes elsewhere: the cheapest plan is the lowest here
    price = min(sum(shelf.capacity_bytes for shelf in others) + 1, _MAX_PRICE)
    memories.append(Memory(shelves[position].arena, None, price))
    plan = plan_problem(problem, time_limit_s=time_limit_s, memories=memories)
    height = plan.height_bytes[shelves[position].arena]
    return max(height + -height % ROUNDING, shelves[position].capacity_bytes + ROUNDING)


def _least(units: Units, shelves: Sequence[Shelf], position: int, most: int) -> int:
    """The smallest size of a region, at most `most`, that live bytes alone do not rule out."""
    low, high = shelves[position].capacity_bytes // ROUNDING, most // ROUNDING
    while low + 1 < high:
        middle = (low + high) // 2
        if assign(units, _resized(shelves, position, middle * ROUNDING), ()) is True:
            low = middle
        else:
            high = middle
    return high * ROUNDING


def _is_enough(
    problem: Problem, shelves: Sequence[Shelf], position: int, size: int, time_limit_s: float
) -> bool:
    try:
        solve_regions(problem, {}, _resized(shelves, position, size), time_limit_s)
    except PlanError:
        return False
    return True


def _resized(shelves: Sequence[Shelf], position: int, size_bytes: int) -> list[Shelf]:
    result = list(shelves)
    result[position] = replace(result[position], capacity_bytes=size_bytes)
    return result
