"""The compiled verifier against the checker that lists every byte."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onearena import _core
from onearena.native_problem import to_native
from onearena.problem import Plan
from onearena.verification.native import verify_plan
from tests.native.oracle import Fault, all_memories, best_plan, faults, tight_plan
from tests.native.strategies import (
    FEATURES,
    Case,
    Pick,
    examples,
    how_many,
    make_case,
    picker,
    random_cases,
    seeded,
)

NOWHERE = 99
"""An arena that no problem has."""


def found_by_core(case: Case, plan: Plan) -> list[Fault]:
    """What the verifier says, with arenas instead of the core's numbers of memories."""
    arenas = list(all_memories(case.problem, case.memories))
    if not arenas:
        return []
    index = {arena: k for k, arena in enumerate(arenas)}
    found = _core.verify(
        to_native(case.problem, case.memories),
        list(plan.offsets),
        [index.get(arena, -1) for arena in plan.arenas],
        [plan.height_bytes[arena] for arena in arenas],
    )
    return [(k, arenas[a] if k == "capacity" else a, b) for k, a, b in found]


def any_plan(pick: Pick) -> tuple[Case, Plan]:
    """A problem, and places for its buffers that were chosen without looking at it."""
    case = make_case(pick, None)
    arenas = (*all_memories(case.problem, case.memories), NOWHERE)
    places = {
        buffer.id: (arenas[pick(0, 2 * len(arenas)) % len(arenas)], pick(-1, 14))
        for buffer in case.problem.buffers
    }
    plan = tight_plan(case.problem, places, arenas)
    heights = {a: plan.height_bytes[a] + (0, 0, -1, 2)[pick(0, 3)] for a in arenas[:-1]}
    return case, replace(plan, height_bytes=heights)


def changed_plan(pick: Pick) -> tuple[Case, Plan]:
    """A best plan in which up to two buffers were moved, perhaps to places just as good."""
    case = make_case(pick, None)
    plan = best_plan(case.problem, case.memories)
    if plan is None or not case.problem.buffers:
        return any_plan(pick)
    places = {k: (plan.arenas[k], at) for k, at in enumerate(plan.offsets)}
    for _ in range(pick(0, 2)):
        k, other = (pick(0, len(places) - 1) for _ in range(2))
        arena, at = places[other]
        places[k] = (arena, at + pick(-5, 5))
    return case, tight_plan(case.problem, places, tuple(plan.height_bytes))


def judge(case: Case, plan: Plan) -> None:
    assert set(found_by_core(case, plan)) == faults(case.problem, plan, case.memories)


@given(st.data())
@examples(400)
def test_any_plan_is_judged_as_by_the_naive_checker(data: st.DataObject) -> None:
    judge(*any_plan(picker(data.draw)))


@given(st.data())
@examples(400)
def test_changed_plans_are_judged_as_by_the_naive_checker(data: st.DataObject) -> None:
    judge(*changed_plan(picker(data.draw)))


@pytest.mark.parametrize("make", [any_plan, changed_plan])
def test_many_plans_are_judged_as_by_the_naive_checker(
    make: Callable[[Pick], tuple[Case, Plan]],
) -> None:
    pick = seeded(make.__name__).randint
    for _ in range(how_many(2000)):
        judge(*make(pick))


@pytest.mark.parametrize("feature", FEATURES)
def test_each_feature_alone_is_judged_as_by_the_naive_checker(feature: str) -> None:
    pick = seeded(feature).randint
    for case in random_cases(200, (feature,)):
        arenas = tuple(all_memories(case.problem, case.memories))
        places = {
            b.id: (arenas[pick(0, len(arenas) - 1)], pick(0, 9)) for b in case.problem.buffers
        }
        judge(case, tight_plan(case.problem, places, arenas))


def test_faults_are_in_order_and_none_is_said_twice() -> None:
    kinds = ["bounds", "alignment", "pinned", "region", "memory", "capacity"]
    kinds += ["alias", "overlap", "last"]
    pick = seeded("order").randint
    for _ in range(how_many(300)):
        case, plan = any_plan(pick)
        found = [(kinds.index(kind), a, b) for kind, a, b in found_by_core(case, plan)]
        assert found == sorted(set(found))


def test_from_python_the_same_kinds_are_found() -> None:
    pick = seeded("python").randint
    for _ in range(how_many(300)):
        case, plan = any_plan(pick)
        kinds = [violation.kind for violation in verify_plan(case.problem, plan, case.memories)]
        assert kinds == [kind for kind, _, _ in found_by_core(case, plan)]
