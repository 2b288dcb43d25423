"""Problems that contradict themselves are refused, by the planner and by the verifier."""

from __future__ import annotations

from typing import Any

import pytest

from onearena.errors import PlanError
from onearena.lifetime import Interval, Lifetime
from onearena.planners import plan
from onearena.problem import Buffer, Memory, Plan, Problem, Window
from onearena.verification.native import verify_plan


def life(*spans: tuple[int, int]) -> Lifetime:
    return tuple(Interval(*span) for span in spans)


BAD = {
    "out of order": Buffer(0, 8, 1, 0, life((5, 6), (0, 2))),
    "nested": Buffer(0, 8, 1, 0, life((0, 9), (2, 3))),
    "empty": Buffer(0, 8, 1, 0, life((4, 4))),
    "backwards": Buffer(0, 8, 1, 0, life((4, 0))),
    "id": Buffer(3, 8, 1, 0, life((0, 1))),
    "offset": Buffer(0, 8, 1, 0, life((0, 1)), offset=-1),
    "hint": Buffer(0, 8, 1, 0, life((0, 1)), hint=-5),
    "window": Buffer(0, 8, 1, 0, life((0, 2)), windows=(Window(Interval(1, 4), 0, 4),)),
    "size": Buffer(0, -8, 1, 0, life((0, 2))),
    "alignment": Buffer(0, 8, 0, 0, life((0, 2))),
    "far": Buffer(0, 8, 1 << 62, 0, life((0, 2))),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_buffer_is_refused(name: str) -> None:
    problem = Problem((BAD[name],))
    with pytest.raises(PlanError):
        plan(problem)


@pytest.mark.parametrize("name", ["out of order", "nested", "empty", "backwards", "id"])
def test_the_verifier_does_not_take_it_either(name: str) -> None:
    found = Plan((0,), {0: 8}, {0: 8}, "by hand")
    with pytest.raises(PlanError):
        verify_plan(Problem((BAD[name],)), found)


@pytest.mark.parametrize(
    "memories", [(Memory(0), Memory(0)), (Memory(0, weight=0),), (Memory(0, -1),)]
)
def test_bad_memories_are_refused(memories: tuple[Memory, ...]) -> None:
    with pytest.raises(PlanError):
        plan(Problem((Buffer(0, 8, 1, 0, life((0, 1))),)), memories=memories)


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("time_limit_s", -1.0),
        ("time_limit_s", float("nan")),
        ("time_limit_s", float("inf")),
        ("threads", 0),
        ("threads", 1.5),
        ("seed", -1),
        ("seed", 1 << 64),
    ],
)
def test_bad_options_are_refused(option: str, value: Any) -> None:
    problem = Problem((Buffer(0, 8, 1, 0, life((0, 1))),))
    with pytest.raises(PlanError):
        plan(problem, **{option: value})


def test_touching_intervals_are_one() -> None:
    touching = Problem((Buffer(0, 8, 1, 0, life((0, 2), (2, 4))), Buffer(1, 8, 1, 0, life((1, 3)))))
    assert plan(touching).height_bytes[0] == 16


def test_more_than_all_memories_hold_is_impossible() -> None:
    buffers = tuple(Buffer(k, 8, 1, 0, life((0, 2)), arenas=(1,)) for k in range(5))
    memories = (Memory(0, 16), Memory(1, 16))
    with pytest.raises(PlanError, match="no plan is possible"):
        plan(Problem(buffers), memories=memories)
    assert plan(Problem(buffers[:4]), memories=memories).optimal


def test_many_arenas_keep_to_the_time_limit() -> None:
    """Looking at every arena for every buffer costs nothing to speak of."""
    arenas = tuple(range(1, 150))
    buffers = tuple(
        Buffer(k, 8 + k % 7, 1, 0, life((k % 50, k % 50 + 9)), arenas=arenas) for k in range(300)
    )
    found = plan(Problem(buffers), time_limit_s=0.2)
    assert verify_plan(Problem(buffers), found) == ()
