"""Plans a problem over the regions of a memory map: first who lies where, then at which offset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onearena.errors import InfeasibleError, PlanTimeoutError
from onearena.memory_map.assign import Assignment, Cut, Shelf, assign
from onearena.memory_map.bound import cost_bound
from onearena.memory_map.units import Units, collect_units
from onearena.planners import plan as plan_problem
from onearena.problem import Member, Memory, Plan, Problem

MAX_CUTS = 100
"""Choices that prove impossible before the planner's own way over all regions is taken."""


@dataclass(frozen=True)
class Solution:
    """A plan over regions.

    Attributes:
        plan: offsets and, by buffer, memory_ids; `optimal` when no plan has a cheaper choice, and
            none with this choice is smaller in any region.
        cost: sum of traffic x cost of the region.
        cost_bound: no plan costs less.
    """

    plan: Plan
    cost: int
    cost_bound: int


def solve_regions(
    problem: Problem, traffic: Mapping[int, int], shelves: Sequence[Shelf], time_limit_s: float
) -> Solution:
    """The plan with the least cost of accesses, and for that choice of regions the smallest.

    Args:
        problem: buffers name in `arena` and `arenas` the regions that they may lie in.
        traffic: bytes accessed in one run, by buffer.
        shelves: the regions, the fastest first.
        time_limit_s: for each search for offsets that does not reach its bound.

    Raises:
        InfeasibleError: it is proven that no plan fits.
        PlanTimeoutError: none was found.
        PlanError: the problem is malformed.
    """
    units = collect_units(problem, traffic)
    packer = _Packer(problem, units, shelves, time_limit_s)
    cuts: list[Cut] = []
    least = cost_bound(units, shelves)
    is_proven = True
    while len(cuts) < MAX_CUTS:
        found = assign(units, shelves, cuts)
        if not isinstance(found, Assignment):
            if found and is_proven:
                raise InfeasibleError("no plan is possible: the regions are too small together")
            break
        if found.is_exact and is_proven:
            least = max(least, found.cost)
        packed = packer.pack(found)
        if isinstance(packed, Plan):
            optimal = packed.optimal and found.cost <= least
            return Solution(replace(packed, optimal=optimal), found.cost, least)
        cuts += packed.cuts
        is_proven = is_proven and packed.is_proven
    return _spread(problem, units, shelves, least, time_limit_s)


def _spread(
    problem: Problem, units: Units, shelves: Sequence[Shelf], least: int, time_limit_s: float
) -> Solution:
    """The planner's own way: it minimises heights, which keeps dear regions low."""
    memories = [Memory(s.arena, s.capacity_bytes, s.cost) for s in shelves]
    plan = plan_problem(problem, time_limit_s=time_limit_s, memories=memories)
    price = {shelf.arena: shelf.cost for shelf in shelves}
    lies_in = plan.arenas or tuple(buffer.arena for buffer in problem.buffers)
    cost = sum(u.traffic * price[lies_in[u.buffers[0]]] for u in units.all)
    return Solution(replace(plan, optimal=False, arenas=lies_in), cost, least)


@dataclass(frozen=True)
class _Refused:
    """Regions that cannot hold what was chosen for them; proven, or not found in time."""

    cuts: tuple[Cut, ...]
    is_proven: bool


class _Packer:
    """Gives the units of each region their offsets; what was tried once is not tried again."""

    def __init__(
        self, problem: Problem, units: Units, shelves: Sequence[Shelf], time_limit_s: float
    ) -> None:
        self._problem = problem
        self._units = units
        self._shelves = shelves
        self._time_limit_s = time_limit_s
        self._known: dict[tuple[int, frozenset[int]], Plan] = {}

    def pack(self, assignment: Assignment) -> Plan | _Refused:
        held: list[set[int]] = [set() for _ in self._shelves]
        for unit, region in enumerate(assignment.regions):
            held[region].add(unit)
        cuts: list[Cut] = []
        is_proven = True
        plans: list[Plan] = []
        for region, units in enumerate(held):
            try:
                plans.append(self._region(region, frozenset(units)))
            except InfeasibleError as error:
                inside = self._buffers(units)
                blamed = frozenset(self._units.unit_of[inside[k]] for k in error.buffers)
                cuts.append(Cut(blamed or frozenset(units), region))
            except PlanTimeoutError:
                cuts.append(Cut(self._fullest(units), region))
                is_proven = False
        return _Refused(tuple(cuts), is_proven) if cuts else self._joined(held, plans)

    def _buffers(self, units: set[int] | frozenset[int]) -> list[int]:
        return sorted(buffer for unit in units for buffer in self._units.all[unit].buffers)

    def _region(self, region: int, units: frozenset[int]) -> Plan:
        if (region, units) not in self._known:
            shelf = self._shelves[region]
            part = part_of(self._problem, self._buffers(units), shelf.arena)
            self._known[region, units] = plan_problem(
                part,
                time_limit_s=self._time_limit_s,
                memories=[Memory(shelf.arena, shelf.capacity_bytes)],
            )
        return self._known[region, units]

    def _fullest(self, units: set[int]) -> frozenset[int]:
        """The units that are alive where most bytes are."""
        loads: dict[int, int] = {}
        for unit in units:
            for section, load in self._units.all[unit].loads.items():
                loads[section] = loads.get(section, 0) + load
        peak = max(loads, key=lambda section: loads[section])
        return frozenset(unit for unit in units if peak in self._units.all[unit].loads)

    def _joined(self, held: Sequence[set[int]], plans: Sequence[Plan]) -> Plan:
        count = len(self._problem.buffers)
        offsets, arenas = [0] * count, [0] * count
        heights: dict[int, int] = {}
        bounds: dict[int, int] = {}
        for units, plan, shelf in zip(held, plans, self._shelves, strict=True):
            for buffer, offset in zip(self._buffers(units), plan.offsets, strict=True):
                offsets[buffer], arenas[buffer] = offset, shelf.arena
            heights[shelf.arena] = plan.height_bytes.get(shelf.arena, 0)
            bounds[shelf.arena] = plan.lower_bound_bytes.get(shelf.arena, 0)
        return Plan(
            tuple(offsets),
            heights,
            bounds,
            "regions",
            all(plan.optimal for plan in plans),
            tuple(arenas),
        )


def part_of(problem: Problem, buffers: Sequence[int], arena: int) -> Problem:
    """Some buffers of a problem, in one arena; groups are in it as a whole or not at all."""
    number = {buffer: k for k, buffer in enumerate(buffers)}
    return Problem(
        tuple(
            replace(problem.buffers[buffer], id=k, arena=arena, arenas=())
            for buffer, k in number.items()
        ),
        tuple(
            tuple(Member(number[m.buffer], m.delta) for m in group)
            for group in problem.groups
            if group and group[0].buffer in number
        ),
        tuple((number[a], number[b]) for a, b in problem.may_share if {a, b} <= number.keys()),
    )
