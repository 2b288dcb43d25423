"""Without any time left there still is a valid plan, however many buffers meet."""

from __future__ import annotations

from random import Random

import pytest

from onearena import _core
from onearena.errors import PlanTimeoutError
from onearena.lifetime import Interval, Lifetime
from onearena.native_problem import to_native
from onearena.planners import plan
from onearena.problem import Buffer, Member, Memory, Problem, Window
from onearena.verification.native import verify_plan

COUNT = 1500  # more than a million pairs that meet


def _buffers(seed: int, gaps: bool = False, count: int = COUNT) -> list[Buffer]:
    rng = Random(seed)
    found = []
    for number in range(count):
        birth = rng.randint(0, 20)
        lifetime: Lifetime = (Interval(birth, birth + rng.randint(40, 80)),)
        if gaps:
            middle = 105 + rng.randint(0, 3)
            lifetime = (*lifetime, Interval(middle, middle + 3))
        if number % 100 == 0:
            lifetime = (Interval(100, 104),)
        found.append(Buffer(number, rng.randint(1, 10**6), 64, 1, lifetime))
    return found


def _changed(buffer: Buffer, **changes: object) -> Buffer:
    fields = {name: getattr(buffer, name) for name in Buffer.__dataclass_fields__}
    return Buffer(**{**fields, **changes})


def _pinned(seed: int) -> Problem:
    first, second, *rest = _buffers(seed)
    low, high = _changed(first, offset=0), _changed(second, offset=1 << 22)
    return Problem((low, high, *rest))


def _with_a_last_one(seed: int) -> Problem:
    first, *rest = _buffers(seed, gaps=True)
    return Problem((_changed(first, is_last=True), *rest))


def _grouped(seed: int) -> Problem:
    groups = tuple((Member(k, 0), Member(k + 1, 64 * k)) for k in range(0, COUNT, 2))
    return Problem(tuple(_buffers(seed)), groups)


PROBLEMS = {
    "plain": lambda seed: Problem(tuple(_buffers(seed))),
    "gaps": lambda seed: Problem(tuple(_buffers(seed, gaps=True))),
    "pinned": _pinned,
    "last": _with_a_last_one,
    "groups": _grouped,
}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("seed", range(3))
def test_no_time_at_all(name: str, seed: int) -> None:
    problem = PROBLEMS[name](seed)
    found = plan(problem, time_limit_s=0)
    assert verify_plan(problem, found) == ()
    assert ("stacked" if name in ("pinned", "last") else "stopped") in found.method


def test_windows_that_are_too_many_for_first_fit_are_planned_as_if_there_were_none() -> None:
    """More meetings than can be listed in the time: still no worse than without any window."""
    plain = _buffers(0, count=3 * COUNT)
    windowed = [_changed(buffer, windows=_windows(buffer)) for buffer in plain]
    found = plan(Problem(tuple(windowed)), time_limit_s=1)
    assert verify_plan(Problem(tuple(windowed)), found) == ()
    whole = plan(Problem(tuple(plain)), time_limit_s=0.2)
    assert found.height_bytes[1] <= 1.05 * whole.height_bytes[1]


def _windows(buffer: Buffer) -> tuple[Window, ...]:
    start, end, half = buffer.lifetime[0].start, buffer.lifetime[0].end, buffer.size_bytes // 2
    if end - start < 8:
        return ()
    early, late = Interval(start + 1, start + 3), Interval(end - 3, end - 1)
    return Window(early, 0, half), Window(late, half, buffer.size_bytes)


def test_a_fallback_that_is_too_high_for_the_capacity_is_not_used() -> None:
    problem = _pinned(0)
    stacked = plan(problem, time_limit_s=0).height_bytes[1]
    found = plan(problem, time_limit_s=0, memories=(Memory(1, stacked - 1),))
    assert "stacked" not in found.method
    assert found.height_bytes[1] < stacked
    assert verify_plan(problem, found) == ()


def test_what_must_be_last_is_not_covered_by_another_last_one() -> None:
    """The second one's hollow part would land on the first one."""
    many = _buffers(0)
    last = Buffer(COUNT, 64, 1, 1, (Interval(0, 10),), is_last=True)
    high = Buffer(COUNT + 1, 64, 1, 1, (Interval(20, 30),), is_last=True)
    beside = Buffer(COUNT + 2, 64, 1, 1, (Interval(0, 5),))
    group = (Member(COUNT + 1, 0), Member(COUNT + 2, 0))
    problem = Problem((*many, last, high, beside), (group,))
    try:
        found = plan(problem, time_limit_s=0)
    except PlanTimeoutError:
        return
    assert verify_plan(problem, found) == ()


def test_costs_near_the_limit_of_64_bits() -> None:
    size = 1 << 58
    buffers = tuple(Buffer(k, size, 1, 1, (Interval(0, 1),), arenas=(2,)) for k in range(2))
    memories = (Memory(1, size, 1 << 30), Memory(2, size, 1 << 30))
    found = _core.plan(to_native(Problem(buffers), memories), 1.0)
    assert sorted(found.memories) == [0, 1]
