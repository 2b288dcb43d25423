"""The compiled planner against plans found by trying everything."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given

from onearena import _core
from onearena.errors import InfeasibleError
from onearena.native_problem import to_native
from onearena.planners.native import plan
from onearena.problem import Memory, Plan
from onearena.verification.native import verify_plan
from tests.native.oracle import all_memories, best_plan, cost, faults, only
from tests.native.strategies import FEATURES, Case, cases, crowded_cases, examples, random_cases

TIME_LIMIT_S = 10.0
"""Never needed: problems this small are to be finished in no time."""


def planned(case: Case, *, fit_only: bool = False) -> Plan | None:
    """The planner's plan, or None when there is none."""
    conflict: tuple[int, ...] = ()
    try:
        return plan(
            case.problem, time_limit_s=TIME_LIMIT_S, memories=case.memories, fit_only=fit_only
        )
    except InfeasibleError as error:
        conflict = error.buffers
    assert best_plan(only(case.problem, conflict), case.memories) is None
    return None


def assert_valid(case: Case, found: Plan) -> None:
    assert verify_plan(case.problem, found, case.memories) == ()
    assert faults(case.problem, found, case.memories) == set()


def assert_best(case: Case) -> None:
    """The planner is right in everything it says about a tiny problem."""
    best = best_plan(case.problem, case.memories)
    found = planned(case)
    assert (found is None) == (best is None)
    if found is None or best is None:
        return
    assert_valid(case, found)
    assert cost(found, case.memories) == cost(best, case.memories)
    assert found.optimal
    for arena, bound in found.lower_bound_bytes.items():
        assert 0 <= bound <= least_height(case, arena)


def least_height(case: Case, arena: int) -> int:
    """The least height that one arena can have in any plan."""
    memories = [
        replace(memory, weight=int(number == arena))
        for number, memory in all_memories(case.problem, case.memories).items()
    ]
    best = best_plan(case.problem, memories)
    assert best is not None
    return best.height_bytes[arena]


@given(cases())
@examples(300)
def test_tiny_problems_are_planned_as_well_as_can_be(case: Case) -> None:
    assert_best(case)


def test_many_tiny_problems_are_planned_as_well_as_can_be() -> None:
    for case in random_cases(2500):
        assert_best(case)


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_alone_is_planned_as_well_as_can_be(feature: str) -> None:
    for case in random_cases(100, (feature,)):
        assert_best(case)


@pytest.mark.parametrize(
    "features",
    [(), ("alignment",), ("pins",), ("regions",), ("pairs",), ("alignment", "regions", "last")],
    ids="+".join,
)
def test_crowded_problems_are_planned_as_well_as_can_be(features: tuple[str, ...]) -> None:
    for case in crowded_cases(250, features):
        assert_best(case)


@pytest.mark.parametrize("features", list(combinations(FEATURES, 2)), ids="+".join)
def test_two_features_are_planned_as_well_as_can_be(features: tuple[str, str]) -> None:
    for case in random_cases(60, features):
        assert_best(case)


def test_fitting_is_possible_exactly_when_a_plan_is() -> None:
    for case in random_cases(600):
        found = planned(case, fit_only=True)
        assert (found is None) == (best_plan(case.problem, case.memories) is None)
        if found:
            assert_valid(case, found)
            best = best_plan(case.problem, case.memories)
            assert best is not None
            assert cost(found, case.memories) >= cost(best, case.memories)


def test_fitting_needs_all_of_a_tight_capacity_and_no_more() -> None:
    """The least height as a capacity can be kept, a byte less cannot."""
    for case in random_cases(400, [name for name in FEATURES if name != "arenas"]):
        best = best_plan(case.problem)
        if best is None or not case.problem.buffers:
            continue
        height = best.height_bytes[1]
        for fit_only in (False, True):
            tight = Case(case.problem, (Memory(1, height),))
            found = planned(tight, fit_only=fit_only)
            assert found is not None
            assert_valid(tight, found)
            assert found.height_bytes[1] == height
            if height:
                assert (
                    planned(Case(case.problem, (Memory(1, height - 1),)), fit_only=fit_only) is None
                )


def test_without_time_what_is_said_is_still_true() -> None:
    for case in random_cases(400):
        if not all_memories(case.problem, case.memories):
            continue
        best = best_plan(case.problem, case.memories)
        found = _core.plan(to_native(case.problem, case.memories), 0.0, node_limit=3)
        if found.status == "infeasible":
            assert best is None
            assert best_plan(only(case.problem, found.conflict), case.memories) is None
        if found.status in ("optimal", "feasible"):
            assert best is not None
            assert found.cost_bound <= cost(best, case.memories) <= found.cost
            assert found.status == "feasible" or found.cost == cost(best, case.memories)
            heights = dict(zip(best.height_bytes, found.heights, strict=True))
            arenas = tuple(tuple(heights)[k] for k in found.memories)
            result = Plan(tuple(found.offsets), heights, {}, found.method, arenas=arenas)
            assert_valid(case, result)


def test_any_number_of_threads_finds_the_same_plan() -> None:
    for case in random_cases(100):
        try:
            one = plan(case.problem, time_limit_s=TIME_LIMIT_S, memories=case.memories, seed=5)
        except InfeasibleError:
            continue
        again = plan(
            case.problem, time_limit_s=TIME_LIMIT_S, memories=case.memories, seed=5, threads=3
        )
        assert again == one


def test_lower_bound_of_one_memory() -> None:
    for case in random_cases(300, [name for name in FEATURES if name != "arenas"]):
        best = best_plan(case.problem)
        if best is not None and case.problem.buffers:
            assert _core.lower_bound(to_native(case.problem)) <= best.height_bytes[1]
