"""The plan verifier, against a byte-by-byte checker that knows nothing of it."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from onearena.planners import plan
from onearena.problem import Buffer, Plan, Problem
from onearena.verification.plan import verify_plan
from tests.planners.problems import life, problem, tiny_problems


def naive_faults(wanted: Problem, found: Plan) -> Counter[str]:
    """How many violations of each kind, found by listing every byte at every step."""
    places = list(zip(wanted.buffers, found.offsets, strict=True))
    kinds: Counter[str] = Counter()
    for buffer, at in places:
        end = found.height_bytes.get(buffer.arena, 0)
        kinds["bounds"] += not 0 <= at <= end - buffer.size_bytes
        kinds["alignment"] += at % buffer.alignment != 0
        kinds["pinned"] += buffer.offset not in (None, at)
    for group in wanted.groups:
        origin = found.offsets[group[0].buffer] - group[0].delta
        kinds["alias"] += sum(found.offsets[m.buffer] - m.delta != origin for m in group)
    for one, other in combinations(places, 2):
        meet = _bytes_alive(*one) & _bytes_alive(*other)
        kinds["overlap"] += bool(meet) and not _may_overlap(wanted, one, other)
    return +kinds


def _bytes_alive(buffer: Buffer, at: int) -> set[tuple[int, int, int]]:
    """(arena, step, byte) for everything the buffer holds."""
    return {
        (buffer.arena, step, byte)
        for interval in buffer.lifetime
        for step in range(interval.start, interval.end)
        for byte in range(at, at + buffer.size_bytes)
    }


def _may_overlap(wanted: Problem, one: tuple[Buffer, int], other: tuple[Buffer, int]) -> bool:
    both = {one[0].id, other[0].id}
    if any(both <= {m.buffer for m in group} for group in wanted.groups):
        return True
    return one[1] == other[1] and any(both == set(pair) for pair in wanted.may_share)


@st.composite
def changed_plans(draw: DrawFn) -> tuple[Problem, Plan]:
    """A valid plan with one to three offsets changed, some of them back to valid ones."""
    wanted = draw(tiny_problems().filter(lambda p: bool(p.buffers)))
    found = plan(wanted, time_limit_s=0.0)
    offsets = list(found.offsets)
    for _ in range(draw(st.integers(1, 3))):
        buffer, other = (draw(st.sampled_from(wanted.buffers)) for _ in range(2))
        offsets[buffer.id] = offsets[other.id] + draw(st.integers(-3, 3))
    return wanted, replace(found, offsets=tuple(offsets))


@given(tiny_problems())
def test_no_false_alarm(tiny: Problem) -> None:
    found = plan(tiny, time_limit_s=0.0)
    assert verify_plan(tiny, found) == ()
    assert naive_faults(tiny, found) == Counter()


@given(changed_plans())
@settings(max_examples=400)
def test_changed_plans_are_judged_as_by_the_naive_checker(case: tuple[Problem, Plan]) -> None:
    wanted, changed = case
    found = Counter(violation.kind for violation in verify_plan(wanted, changed))
    assert found == naive_faults(wanted, changed)


@given(tiny_problems().filter(lambda p: bool(p.buffers)), st.data())
def test_a_shorter_arena_is_found(tiny: Problem, data: st.DataObject) -> None:
    found = plan(tiny, time_limit_s=0.0)
    arena = data.draw(st.sampled_from(tiny.arenas))
    heights = {**found.height_bytes, arena: found.height_bytes[arena] - 1}
    assert {v.kind for v in verify_plan(tiny, replace(found, height_bytes=heights))} == {"bounds"}


@given(tiny_problems().filter(lambda p: bool(p.buffers)))
def test_a_higher_arena_is_fine(tiny: Problem) -> None:
    found = plan(tiny, time_limit_s=0.0)
    heights = {arena: height + 3 for arena, height in found.height_bytes.items()}
    assert verify_plan(tiny, replace(found, height_bytes=heights)) == ()


def _plan(offsets: tuple[int, ...], height: int = 99) -> Plan:
    return Plan(offsets, {1: height}, {1: 0}, "by hand")


TWO = problem((8, life((0, 2))), (8, life((1, 3))))
SHARED = problem((8, life((0, 2))), (8, life((1, 3))), may_share=[(0, 1)])
GROUP = problem((8, life((0, 2))), (4, life((1, 3))), groups=[[(0, 0), (1, 4)]])
UNEQUAL = problem((8, life((0, 2))), (4, life((1, 3))), may_share=[(0, 1)])
APART = problem((8, life((0, 1), (2, 3))), (8, life((1, 2))))
ALIGNED = problem((8, life((0, 2))), alignment=4)
FIXED = problem((8, life((0, 2))), offsets={0: 16})


@pytest.mark.parametrize(
    ("wanted", "offsets", "kinds"),
    [
        (TWO, (0, 8), set()),
        (TWO, (0, 7), {"overlap"}),
        (TWO, (0, 0), {"overlap"}),
        (SHARED, (0, 0), set()),
        (SHARED, (0, 1), {"overlap"}),
        (UNEQUAL, (0, 0), {"overlap"}),
        (GROUP, (8, 12), set()),
        (GROUP, (8, 13), {"alias"}),
        (GROUP, (8, 4), {"alias"}),
        (APART, (0, 4), set()),
        (ALIGNED, (4,), set()),
        (ALIGNED, (6,), {"alignment"}),
        (FIXED, (16,), set()),
        (FIXED, (0,), {"pinned"}),
        (TWO, (-8, 8), {"bounds"}),
        (TWO, (0, 92), {"bounds"}),
        (TWO, (0,), {"bounds"}),
        (TWO, (0, 8, 16), {"bounds"}),
    ],
)
def test_each_kind_of_fault(wanted: Problem, offsets: tuple[int, ...], kinds: set[str]) -> None:
    assert {v.kind for v in verify_plan(wanted, _plan(offsets))} == kinds


def test_a_missing_arena_is_found() -> None:
    missing = Plan((0, 8), {}, {}, "by hand")
    assert {v.kind for v in verify_plan(TWO, missing)} == {"bounds"}


def test_overlap_in_another_arena_is_none() -> None:
    buffers = (Buffer(0, 8, 1, 1, life((0, 2))), Buffer(1, 8, 1, 2, life((0, 2))))
    assert verify_plan(Problem(buffers), Plan((0, 0), {1: 8, 2: 8}, {1: 8, 2: 8}, "x")) == ()


def test_messages_name_both_buffers_and_their_bytes() -> None:
    (found,) = verify_plan(TWO, _plan((0, 7)))
    for part in ("buffer 0", "[0, 8)", "buffer 1", "[7, 15)", "arena 1"):
        assert part in found.message
