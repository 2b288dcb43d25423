"""How small could the arenas of a method be? Better bounds than counting, where that is needed."""

from __future__ import annotations

from collections.abc import Mapping

from onearena.arena_base import with_counted_lead
from onearena.errors import PlanError
from onearena.planners import lower_bound_bytes
from onearena.planners import plan as plan_problem
from onearena.problem import Problem

TIME_LIMIT_S = 0.25


def proven_bounds(
    problem: Problem, sizes: Mapping[int, int], leads: Mapping[int, int]
) -> dict[int, int]:
    """By arena, a size in bytes that no plan of the problem undercuts.

    The largest number of bytes alive is one; where operators may work in place it counts as if
    all did. Planning tells which cannot, and is tried where an arena is larger than that.

    Args:
        sizes: by arena, its size in the file.
        leads: by arena, bytes in front of it that are to stay free; they count.
    """
    bounds = {arena: lower_bound_bytes(problem, arena) for arena in problem.arenas}
    if any(sizes.get(arena, 0) > _counted(arena, bound, leads) for arena, bound in bounds.items()):
        try:
            found = plan_problem(problem, time_limit_s=TIME_LIMIT_S).lower_bound_bytes
        except PlanError:
            found = {}  # the file's own plan may break a rule of ours
        bounds = {arena: max(bound, found.get(arena, 0)) for arena, bound in bounds.items()}
    return {arena: _counted(arena, bound, leads) for arena, bound in bounds.items()}


def _counted(arena: int, bound_bytes: int, leads: Mapping[int, int]) -> int:
    return with_counted_lead(bound_bytes, {arena: leads.get(arena, 0)})
