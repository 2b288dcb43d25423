"""The default planner: several first-fit orders, then local search, until the bound or the time.

This is the place where another planner plugs in: anything that maps (units, conflicts,
bound) to a placement can join `_SEARCHES`. The exact planner of a later version goes first.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Sequence

from onearena.errors import PlanError
from onearena.planners.bounds import lower_bound_bytes
from onearena.planners.first_fit import Conflicts, Placement, check_fixed, find_conflicts, first_fit
from onearena.planners.units import Unit, build_units
from onearena.problem import Plan, Problem

DEFAULT_TIME_LIMIT_S = 0.5
_SEED = 20240917


def plan(problem: Problem, time_limit_s: float = DEFAULT_TIME_LIMIT_S) -> Plan:
    """Plans every arena of the problem; stops early where the lower bound is reached.

    The result depends on the time limit (and so on the machine) only while a plan is above
    its lower bound.

    Raises:
        PlanError: the problem contradicts itself.
    """
    offsets = [0] * len(problem.buffers)
    heights: dict[int, int] = {}
    bounds: dict[int, int] = {}
    methods: list[str] = []
    for arena in problem.arenas:
        bound = lower_bound_bytes(problem, arena)
        units, placement, method = _plan_arena(problem, arena, bound, time_limit_s)
        for unit, offset in zip(units, placement.offsets, strict=True):
            for rect in unit.rects:
                offsets[rect.buffer] = offset + rect.delta
        heights[arena] = placement.height_bytes
        bounds[arena] = bound
        methods.append(method)
    return Plan(tuple(offsets), heights, bounds, "+".join(dict.fromkeys(methods)) or "empty")


def _plan_arena(
    problem: Problem, arena: int, bound: int, time_limit_s: float
) -> tuple[tuple[Unit, ...], Placement, str]:
    deadline = time.monotonic() + time_limit_s
    best: tuple[tuple[Unit, ...], Placement, str] | None = None
    for share in (True, False) if problem.may_share else (True,):
        units = build_units(problem, arena, share)
        conflicts = find_conflicts(units)
        try:
            check_fixed(units, conflicts)
        except PlanError:
            if best is None:
                raise
            break  # possible only because buffers share
        placement, name = _search(units, conflicts, bound, deadline)
        if best is None or placement.height_bytes < best[1].height_bytes:
            best = (units, placement, name)
        if best[1].height_bytes <= bound:
            break
        deadline = time.monotonic() + time_limit_s / 4
    assert best is not None
    return best


def _search(
    units: Sequence[Unit], conflicts: Conflicts, bound: int, deadline: float
) -> tuple[Placement, str]:
    best, name, starts = None, "", []
    for label, order, best_fit in _orders(units):
        placement = first_fit(units, conflicts, order, best_fit)
        assert placement is not None
        starts.append((placement.height_bytes, list(order), best_fit))
        if best is None or placement.height_bytes < best.height_bytes:
            best, name = placement, label
        if best.height_bytes <= bound or time.monotonic() > deadline:
            return best, name
    assert best is not None
    starts.sort(key=lambda start: start[0])
    improved = _local_search(units, conflicts, bound, deadline, starts[:4], best)
    return improved, name if improved is best else "local search"


_KEYS: tuple[tuple[str, Callable[[Unit], tuple[int, ...]]], ...] = (
    ("size", lambda u: (-u.size_bytes, u.start)),
    ("volume", lambda u: (-u.size_bytes * (u.end - u.start), u.start)),
    ("length", lambda u: (-(u.end - u.start), -u.size_bytes)),
    ("birth", lambda u: (u.start, -u.size_bytes)),
    ("death", lambda u: (-u.end, -u.size_bytes)),
)


def _orders(units: Sequence[Unit]) -> Iterable[tuple[str, list[int], bool]]:
    for label, key in _KEYS:
        order = sorted(range(len(units)), key=lambda k, key=key: (key(units[k]), k))  # type: ignore[misc]
        yield f"first fit by {label}", order, False
        yield f"best fit by {label}", order, True


def _local_search(
    units: Sequence[Unit],
    conflicts: Conflicts,
    bound: int,
    deadline: float,
    starts: list[tuple[int, list[int], bool]],
    best: Placement,
) -> Placement:
    """Moves the unit that sets the height earlier, or swaps it with one it collides with."""
    rng = random.Random(_SEED)
    turn = 0
    while best.height_bytes > bound and time.monotonic() < deadline and len(units) > 1:
        index = turn % len(starts)
        turn += 1
        height, order, best_fit = starts[index]
        current = first_fit(units, conflicts, order, best_fit)
        assert current is not None
        changed = _mutate(order, current.highest, conflicts, rng)
        placement = first_fit(units, conflicts, changed, best_fit)
        assert placement is not None
        if placement.height_bytes <= height or rng.random() < 0.01:
            starts[index] = (placement.height_bytes, changed, best_fit)
        if placement.height_bytes < best.height_bytes:
            best = placement
    return best


def _mutate(
    order: Sequence[int], highest: int, conflicts: Conflicts, rng: random.Random
) -> list[int]:
    changed = list(order)
    if highest >= 0:
        position = changed.index(highest)
        neighbours = conflicts.gaps[highest]
        if rng.random() < 0.6 or not neighbours:
            changed.pop(position)
            changed.insert(rng.randint(0, max(0, position - 1)), highest)
        else:
            other = changed.index(rng.choice(neighbours)[0])
            changed[position], changed[other] = changed[other], changed[position]
    if rng.random() < 0.3:
        i, j = rng.randrange(len(changed)), rng.randrange(len(changed))
        changed[i], changed[j] = changed[j], changed[i]
    return changed
