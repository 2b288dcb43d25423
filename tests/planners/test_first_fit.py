"""Placing units one by one, against searching byte by byte."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from onearena.errors import PlanError
from onearena.lifetime import intersects
from onearena.planners.first_fit import Placement, check_fixed, find_conflicts, first_fit
from onearena.planners.units import Unit, build_units
from onearena.problem import Problem
from tests.planners.problems import life, problem, tiny_problems


@st.composite
def placements(draw: DrawFn) -> tuple[tuple[Unit, ...], list[int], bool, Placement]:
    tiny = draw(tiny_problems(max_arenas=1))
    units = build_units(tiny, 1, share=draw(st.booleans())) if tiny.arenas else ()
    order = draw(st.permutations(range(len(units))))
    best_fit = draw(st.booleans())
    placement = first_fit(units, find_conflicts(units), order, best_fit)
    assert placement is not None
    return units, list(order), best_fit, placement


def collide(first: Unit, at: int, second: Unit, there: int) -> bool:
    """True when two units overlap in bytes and time, rect by rect."""
    return any(
        at + a.delta < there + b.delta + b.size_bytes
        and there + b.delta < at + a.delta + a.size_bytes
        and intersects(a.lifetime, b.lifetime)
        for a in first.rects
        for b in second.rects
    )


@given(tiny_problems(max_arenas=1))
def test_conflicts_are_the_collisions(tiny: Problem) -> None:
    units = build_units(tiny, 1) if tiny.arenas else ()
    gaps = find_conflicts(units).gaps
    for (k, one), (other, two) in combinations(enumerate(units), 2):
        for there in range(25):
            for a, b, first, second in ((k, other, one, two), (other, k, two, one)):
                forbidden = any(
                    who == b and 12 + low < there < 12 + high for who, low, high in gaps[a]
                )
                assert forbidden == collide(first, there, second, 12)


@given(placements())
def test_a_placement_collides_nowhere_and_is_aligned(
    placed: tuple[tuple[Unit, ...], list[int], bool, Placement],
) -> None:
    units, _, _, placement = placed
    for k, unit in enumerate(units):
        offset = placement.offsets[k]
        assert offset >= 0
        if unit.offset is None:
            assert (offset - unit.phase) % unit.alignment == 0
        else:
            assert offset == unit.offset
    for (k, one), (other, two) in combinations(enumerate(units), 2):
        assert not collide(one, placement.offsets[k], two, placement.offsets[other])


@given(placements())
def test_the_height_is_the_highest_end(
    placed: tuple[tuple[Unit, ...], list[int], bool, Placement],
) -> None:
    units, _, _, placement = placed
    ends = [offset + unit.size_bytes for unit, offset in zip(units, placement.offsets, strict=True)]
    assert placement.height_bytes == max(ends, default=0)
    if placement.highest >= 0:
        assert ends[placement.highest] == placement.height_bytes


@given(placements())
def test_each_unit_takes_the_lowest_free_offset_or_the_tightest(
    placed: tuple[tuple[Unit, ...], list[int], bool, Placement],
) -> None:
    units, order, best_fit, placement = placed
    there = {k: u.offset for k, u in enumerate(units) if u.offset is not None}
    for k in order:
        if units[k].offset is None:
            free = _free_offsets(units, k, there)
            chosen = _tightest(units, k, there, free) if best_fit else free[0]
            assert placement.offsets[k] == chosen
            there[k] = placement.offsets[k]


def _free_offsets(units: Sequence[Unit], k: int, there: dict[int, int]) -> list[int]:
    unit = units[k]
    top = max((at + units[o].size_bytes for o, at in there.items()), default=0)
    candidates = range(unit.phase, top + unit.alignment + 1, unit.alignment)
    return [
        at
        for at in candidates
        if not any(collide(unit, at, units[o], where) for o, where in there.items())
    ]


def _tightest(units: Sequence[Unit], k: int, there: dict[int, int], free: list[int]) -> int:
    """The free offset that could move up least before it collides; the lowest of these. An
    offset above everything can move up for ever and is the last resort."""

    def room(at: int) -> float:
        limit = 60
        for up in range(1, limit):
            if any(collide(units[k], at + up, units[o], where) for o, where in there.items()):
                return up
        return float("inf")

    starts = [at for at in free if at == free[0] or _is_blocked_below(units, k, there, at)]
    return min(starts, key=lambda at: (room(at), at))


def _is_blocked_below(units: Sequence[Unit], k: int, there: dict[int, int], at: int) -> bool:
    """True when the next lower aligned offset is taken: `at` starts a gap."""
    below = at - units[k].alignment
    return any(collide(units[k], below, units[o], where) for o, where in there.items())


@given(placements(), st.integers(1, 40))
def test_the_limit_gives_up_exactly_when_the_height_reaches_it(
    placed: tuple[tuple[Unit, ...], list[int], bool, Placement], limit: int
) -> None:
    units, order, best_fit, placement = placed
    limited = first_fit(units, find_conflicts(units), order, best_fit, limit)
    grows = placement.highest >= 0 and placement.height_bytes >= limit
    assert limited == (None if grows else placement)


@pytest.mark.parametrize(("best_fit", "offset"), [(False, 0), (True, 20)])
def test_best_fit_takes_the_tightest_gap(best_fit: bool, offset: int) -> None:
    """Free are [0, 8), [20, 24) and everything above 30."""
    always = life((0, 9))
    rocks = {0: 8, 1: 24}
    holes = problem((12, always), (6, always), (4, always), offsets=rocks)
    units = build_units(holes, 1)
    placement = first_fit(units, find_conflicts(units), range(3), best_fit)
    assert placement is not None
    assert placement.offsets == (8, 24, offset)


@pytest.mark.parametrize("best_fit", [False, True])
def test_the_end_is_only_taken_when_no_gap_fits(best_fit: bool) -> None:
    always = life((0, 9))
    holes = problem((12, always), (6, always), (9, always), offsets={0: 8, 1: 24})
    units = build_units(holes, 1)
    placement = first_fit(units, find_conflicts(units), range(3), best_fit)
    assert placement is not None
    assert placement.offsets == (8, 24, 30)


def test_a_gap_between_two_lifetimes_is_used() -> None:
    holes = problem((8, life((0, 1), (4, 5))), (8, life((1, 4))))
    units = build_units(holes, 1)
    placement = first_fit(units, find_conflicts(units), range(2))
    assert placement is not None
    assert placement.offsets == (0, 0)


def test_memory_that_is_never_alive_is_in_nobodys_way() -> None:
    dead = problem((8, life()), (8, life((0, 5))))
    units = build_units(dead, 1)
    assert find_conflicts(units).gaps == ((), ())


def test_fixed_units_that_collide_are_an_error() -> None:
    for offsets, fine in (({0: 0, 1: 8}, True), ({0: 0, 1: 7}, False), ({0: 7, 1: 0}, False)):
        units = build_units(problem((8, life((0, 2))), (8, life((1, 3))), offsets=offsets), 1)
        with nullcontext() if fine else pytest.raises(PlanError, match="fixed"):
            check_fixed(units, find_conflicts(units))


def test_fixed_units_may_overlap_at_different_times() -> None:
    apart = problem((8, life((0, 2))), (8, life((2, 3))), offsets={0: 0, 1: 4})
    units = build_units(apart, 1)
    check_fixed(units, find_conflicts(units))
