"""How small could the arenas of a method be? Better bounds than counting, where that is needed."""

from __future__ import annotations

from collections.abc import Mapping

from onearena.errors import PlanError
from onearena.planners import lower_bound_bytes
from onearena.planners import plan as plan_problem
from onearena.problem import Problem

TIME_LIMIT_S = 0.25


def proven_bounds(problem: Problem, sizes: Mapping[int, int]) -> dict[int, int]:
    """By arena, a size in bytes that no plan of the problem undercuts.

    The largest number of bytes alive is one; where operators may work in place it counts as if
    all did. Planning tells which cannot, and is tried where an arena is larger than that.

    Args:
        sizes: by arena, its size in the file.
    """
    bounds = {arena: lower_bound_bytes(problem, arena) for arena in problem.arenas}
    if all(sizes.get(arena, 0) <= bound for arena, bound in bounds.items()):
        return bounds
    try:
        found = plan_problem(problem, time_limit_s=TIME_LIMIT_S)
    except PlanError:
        return bounds  # the file's own plan may break a rule of ours
    return {
        arena: max(bound, found.lower_bound_bytes.get(arena, 0)) for arena, bound in bounds.items()
    }
