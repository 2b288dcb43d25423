"""Lower bounds: valid, and sharp where they should be."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given

from onearena.planners import lower_bound_bytes
from onearena.problem import Problem
from tests.planners.brute import optimum_bytes
from tests.planners.problems import MAX_STEP, life, problem, tiny_problems


@given(tiny_problems(max_buffers=5))
def test_no_plan_is_below_the_bound(tiny: Problem) -> None:
    for arena in tiny.arenas:
        best = optimum_bytes(tiny, arena)
        if best is not None:
            assert lower_bound_bytes(tiny, arena) <= best


def _plain(tiny: Problem) -> Problem:
    """The same without alignments and fixed offsets, and whatever relates buffers."""
    return Problem(tuple(replace(b, alignment=1, offset=None) for b in tiny.buffers))


@given(tiny_problems())
def test_the_bound_is_what_is_alive_at_once(tiny: Problem) -> None:
    plain = _plain(tiny)
    for arena in plain.arenas:
        largest = max(b.size_bytes for b in plain.buffers if b.arena == arena)
        live = max(
            sum(
                b.size_bytes
                for b in plain.buffers
                if b.arena == arena and any(i.start <= step < i.end for i in b.lifetime)
            )
            for step in range(MAX_STEP + 4)
        )
        assert lower_bound_bytes(plain, arena) == max(live, largest)


@given(tiny_problems())
def test_a_group_counts_each_byte_once(tiny: Problem) -> None:
    plain = replace(_plain(tiny), groups=tiny.groups)
    for arena in plain.arenas:
        live = max(len(_distinct(plain, arena, step)) for step in range(MAX_STEP + 4))
        assert lower_bound_bytes(plain, arena) >= live


def _distinct(tiny: Problem, arena: int, step: int) -> set[tuple[int, int]]:
    """(owner, byte) pairs alive; a group is one owner."""
    delta = {m.buffer: m.delta for group in tiny.groups for m in group}
    return {
        (tiny.group_of.get(b.id, -1 - b.id), delta.get(b.id, 0) + byte)
        for b in tiny.buffers
        if b.arena == arena and any(i.start <= step < i.end for i in b.lifetime)
        for byte in range(b.size_bytes)
    }


def test_a_pair_that_may_share_counts_once_while_both_are_alive() -> None:
    pair = problem((10, life((0, 3))), (10, life((2, 5))), may_share=[(0, 1)])
    assert lower_bound_bytes(pair, 1) == 10
    apart = problem((10, life((0, 3))), (10, life((2, 5))))
    assert lower_bound_bytes(apart, 1) == 20


def test_only_one_buffer_of_a_pair_is_left_out() -> None:
    """A third buffer lives just where the two meet."""
    three = problem((10, life((0, 3))), (10, life((2, 5))), (5, life((2, 3))), may_share=[(0, 1)])
    assert lower_bound_bytes(three, 1) == 15


def test_two_firsts_of_one_second_count_twice() -> None:
    both = problem(
        (10, life((0, 3))), (10, life((0, 3))), (10, life((2, 5))), may_share=[(0, 2), (1, 2)]
    )
    assert lower_bound_bytes(both, 1) == 20


def test_sizes_are_rounded_up_to_a_common_alignment_but_for_the_highest() -> None:
    aligned = problem((5, life((0, 1))), (6, life((0, 1))), (9, life((0, 1))), alignment=4)
    assert lower_bound_bytes(aligned, 1) == 8 + 8 + 9


def test_a_fixed_offset_and_dead_memory_raise_the_bound() -> None:
    fixed = problem((10, life((0, 1))), offsets={0: 96})
    assert lower_bound_bytes(fixed, 1) == 106
    dead = problem((10, life()))
    assert lower_bound_bytes(dead, 1) == 10


def test_nothing_needs_nothing() -> None:
    assert lower_bound_bytes(problem(), 1) == 0
    assert lower_bound_bytes(problem((10, life((0, 1)))), 2) == 0
