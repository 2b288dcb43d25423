"""The planner on problems of programs: valid, optimal, and repeatable."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onearena.errors import PlanError
from onearena.planners import lower_bound_bytes, plan
from onearena.problem import Buffer, Member, Plan, Problem
from onearena.verification.plan import verify_plan
from tests.planners.brute import optimum_bytes
from tests.planners.problems import life, network, problem, tiny_problems


def _check(wanted: Problem, found: Plan) -> None:
    assert verify_plan(wanted, found) == ()
    assert set(found.height_bytes) == set(found.lower_bound_bytes) == set(wanted.arenas)
    for arena in wanted.arenas:
        ends = [
            offset + buffer.size_bytes
            for buffer, offset in zip(wanted.buffers, found.offsets, strict=True)
            if buffer.arena == arena
        ]
        assert found.height_bytes[arena] == max(ends)
        assert found.lower_bound_bytes[arena] >= lower_bound_bytes(wanted, arena)
        assert found.height_bytes[arena] >= found.lower_bound_bytes[arena]


@given(tiny_problems(), st.sampled_from((0.0, 2.0)))
def test_every_plan_is_valid(tiny: Problem, time_limit_s: float) -> None:
    _check(tiny, plan(tiny, time_limit_s=time_limit_s))


@given(tiny_problems(max_buffers=5, max_arenas=1))
def test_tiny_plans_are_optimal(tiny: Problem) -> None:
    found = plan(tiny, time_limit_s=10)
    assert found.optimal
    for arena in tiny.arenas:
        assert found.height_bytes[arena] == optimum_bytes(tiny, arena)


def _random_problem(rng: random.Random) -> Problem:
    count = rng.randint(3, 6)
    buffers = []
    for k in range(count):
        start = rng.randint(0, 6)
        lifetime = life((start, start + rng.randint(1, 4)))
        buffers.append(Buffer(k, rng.randint(1, 6), rng.choice((1, 1, 2)), 1, lifetime))
    groups = ((Member(0, 0), Member(1, 2)),) if rng.random() < 0.3 else ()
    equal = [
        (a.id, b.id)
        for a in buffers
        for b in buffers[a.id + 1 :]
        if a.size_bytes == b.size_bytes and not (groups and b.id == 1)
    ]
    return Problem(tuple(buffers), groups, tuple(equal[:2]))


def test_small_plans_are_optimal() -> None:
    rng = random.Random(7)
    for _ in range(150):
        tiny = _random_problem(rng)
        found = plan(tiny, time_limit_s=10)
        assert found.optimal
        assert found.height_bytes[1] == optimum_bytes(tiny, 1)


def test_networks_are_planned_at_their_bounds() -> None:
    for seed in range(12):
        wanted = network(seed)
        found = plan(wanted, time_limit_s=10)
        _check(wanted, found)
        assert found.gap < 0.005, seed


@given(tiny_problems())
def test_the_same_problem_gets_the_same_plan(tiny: Problem) -> None:
    assert plan(tiny) == plan(tiny)


def test_networks_get_the_same_plan_again() -> None:
    for seed in (1, 2, 3):
        assert plan(network(seed)) == plan(network(seed), threads=2)


def test_nothing_to_plan() -> None:
    found = plan(problem())
    assert (found.offsets, dict(found.height_bytes), found.gap) == ((), {}, 0.0)
    assert found.method == "empty"


def test_one_buffer_lies_at_the_bottom() -> None:
    found = plan(problem((100, life((3, 4))), alignment=64))
    assert (found.offsets, found.height_bytes[1], found.gap) == ((0,), 100, 0.0)


def test_buffers_that_are_never_alive_still_lie_inside_the_arena() -> None:
    found = plan(problem((100, life()), (50, life()), (60, life((0, 1)))))
    _check(problem((100, life()), (50, life()), (60, life((0, 1)))), found)
    assert found.height_bytes[1] == 100


def test_equal_buffers_stack_without_a_gap() -> None:
    equal = problem(*((16, life((0, 5))) for _ in range(6)), alignment=16)
    found = plan(equal)
    assert sorted(found.offsets) == [0, 16, 32, 48, 64, 80]
    assert found.gap == 0.0


def test_arenas_are_planned_apart() -> None:
    buffers = (Buffer(0, 8, 1, 1, life((0, 2))), Buffer(1, 8, 1, 3, life((0, 2))))
    found = plan(Problem(buffers))
    assert found.offsets == (0, 0)
    assert dict(found.height_bytes) == {1: 8, 3: 8}
    assert found.total_bytes == 16


def test_a_fixed_buffer_stays_and_others_go_around_it() -> None:
    fixed = problem((8, life((0, 3))), (8, life((0, 3))), (4, life((0, 3))), offsets={0: 4})
    found = plan(fixed)
    _check(fixed, found)
    assert found.offsets == (4, 12, 0)
    assert found.optimal


def test_a_pair_that_may_share_gets_one_offset() -> None:
    pair = problem((8, life((0, 2))), (8, life((1, 3))), may_share=[(0, 1)])
    found = plan(pair)
    assert found.offsets == (0, 0)
    assert found.height_bytes[1] == 8


def test_sharing_is_dropped_where_it_costs() -> None:
    """Merged, buffers 1 and 3 are one long block that 0 and 2 do not fit around."""
    buffers = ((4, life((2, 5))), (2, life((4, 7))), (2, life((1, 3))), (2, life((1, 2))))
    pair = problem(*buffers, may_share=[(1, 3)])
    found = plan(pair)
    _check(pair, found)
    assert found.height_bytes[1] == optimum_bytes(pair, 1) == 6


def test_contradictory_fixed_offsets_are_an_error() -> None:
    with pytest.raises(PlanError):
        plan(problem((8, life((0, 2))), (8, life((1, 3))), offsets={0: 0, 1: 4}))
    with pytest.raises(PlanError):
        plan(problem((8, life((0, 1))), alignment=4, offsets={0: 2}))


def test_fixed_buffers_that_may_share_stay_together() -> None:
    pair = problem((8, life((0, 2))), (8, life((1, 3))), may_share=[(0, 1)], offsets={0: 8, 1: 8})
    found = plan(pair)
    _check(pair, found)
    assert found.offsets == (8, 8)
