"""Units: alias groups and shared pairs as one thing to place."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given

from onearena.errors import PlanError
from onearena.planners.units import Unit, build_units
from onearena.problem import Buffer, Member, Problem
from tests.planners.brute import alive_together
from tests.planners.problems import life, problem, tiny_problems


def _placed(unit: Unit) -> dict[int, int]:
    return {rect.buffer: rect.delta for rect in unit.rects}


@given(tiny_problems())
def test_every_buffer_is_in_one_unit_of_its_arena(tiny: Problem) -> None:
    found = [
        (arena, rect.buffer)
        for arena in tiny.arenas
        for unit in build_units(tiny, arena)
        for rect in unit.rects
    ]
    assert sorted(found) == sorted((b.arena, b.id) for b in tiny.buffers)


@given(tiny_problems())
def test_rects_start_at_zero_and_repeat_their_buffers(tiny: Problem) -> None:
    for arena in tiny.arenas:
        for unit in build_units(tiny, arena):
            assert min(rect.delta for rect in unit.rects) == 0
            for rect in unit.rects:
                buffer = tiny.buffers[rect.buffer]
                assert (rect.size_bytes, rect.lifetime) == (buffer.size_bytes, buffer.lifetime)
            assert unit.size_bytes == max(r.delta + r.size_bytes for r in unit.rects)


@given(tiny_problems())
def test_group_members_keep_their_distances(tiny: Problem) -> None:
    for arena in tiny.arenas:
        for unit in build_units(tiny, arena):
            place = _placed(unit)
            for group in tiny.groups:
                inside = [m for m in group if m.buffer in place]
                assert len(inside) in (0, len(group))
                assert len({place[m.buffer] - m.delta for m in inside}) <= 1


@given(tiny_problems())
def test_the_congruence_is_exactly_alignment_of_all_members(tiny: Problem) -> None:
    for arena in tiny.arenas:
        for unit in build_units(tiny, arena):
            for offset in range(2 * unit.alignment):
                aligned = all(
                    (offset + rect.delta) % tiny.buffers[rect.buffer].alignment == 0
                    for rect in unit.rects
                )
                assert aligned == ((offset - unit.phase) % unit.alignment == 0)


@given(tiny_problems())
def test_a_fixed_member_fixes_its_unit(tiny: Problem) -> None:
    for arena in tiny.arenas:
        for unit in build_units(tiny, arena):
            fixed = {
                tiny.buffers[r.buffer].offset - r.delta  # type: ignore[operator]
                for r in unit.rects
                if tiny.buffers[r.buffer].offset is not None
            }
            assert unit.offset == (fixed.pop() if fixed else None)


@given(tiny_problems())
def test_sharing_collides_nowhere(tiny: Problem) -> None:
    allowed = {frozenset(pair) for pair in tiny.may_share}
    for arena in tiny.arenas:
        for unit in build_units(tiny, arena):
            for a, b in combinations(unit.rects, 2):
                if tiny.group_of.get(a.buffer, -1) == tiny.group_of.get(b.buffer, -2):
                    continue
                apart = a.delta >= b.delta + b.size_bytes or b.delta >= a.delta + a.size_bytes
                together = alive_together(tiny.buffers[a.buffer], tiny.buffers[b.buffer])
                shared = a.delta == b.delta and frozenset((a.buffer, b.buffer)) in allowed
                assert apart or shared or not together


@given(tiny_problems())
def test_without_sharing_units_are_the_groups(tiny: Problem) -> None:
    expected = {frozenset(m.buffer for m in group) for group in tiny.groups}
    expected |= {frozenset({b.id}) for b in tiny.buffers if b.id not in tiny.group_of}
    found = {
        frozenset(_placed(unit)) for a in tiny.arenas for unit in build_units(tiny, a, share=False)
    }
    assert found == expected


def test_a_pair_becomes_one_unit() -> None:
    pair = problem((8, life((0, 2))), (8, life((1, 3))), may_share=[(0, 1)])
    (unit,) = build_units(pair, 1)
    assert _placed(unit) == {0: 0, 1: 0}
    assert (unit.start, unit.end) == (0, 3)


def test_the_larger_pair_goes_first() -> None:
    """Two pairs of which only one can be merged: the one with the larger buffers wins."""
    both = problem(
        (4, life((0, 2))),
        (8, life((6, 9))),
        (4, life((1, 6))),
        (8, life((2, 7))),
        groups=[[(0, 4), (1, 0)]],
        may_share=[(0, 2), (1, 3)],
    )
    units = {frozenset(_placed(unit)) for unit in build_units(both, 1)}
    assert units == {frozenset({0, 1, 3}), frozenset({2})}


def test_a_chain_of_pairs_is_one_unit_as_long_as_neighbours_only_meet() -> None:
    chain = problem(
        (8, life((0, 2))), (8, life((1, 3))), (8, life((2, 4))), may_share=[(0, 1), (1, 2)]
    )
    assert len(build_units(chain, 1)) == 1
    longer = problem(
        (8, life((0, 3))), (8, life((1, 3))), (8, life((2, 4))), may_share=[(0, 1), (1, 2)]
    )
    assert len(build_units(longer, 1)) == 2


def test_a_pair_across_arenas_is_never_merged() -> None:
    buffers = (Buffer(0, 8, 1, 1, life((0, 2))), Buffer(1, 8, 1, 2, life((1, 3))))
    apart = Problem(buffers, (), ((0, 1),))
    assert [len(build_units(apart, arena)) for arena in (1, 2)] == [1, 1]


def test_fixed_members_that_disagree_are_an_error() -> None:
    group = problem(
        (8, life((0, 1))), (8, life((0, 1))), groups=[[(0, 0), (1, 8)]], offsets={0: 0, 1: 16}
    )
    with pytest.raises(PlanError, match="fixed offsets"):
        build_units(group, 1)


def test_fixed_offsets_that_alignment_excludes_are_an_error() -> None:
    with pytest.raises(PlanError, match="impossible"):
        build_units(problem((8, life((0, 1))), alignment=4, offsets={0: 6}), 1)


def test_a_fixed_offset_that_puts_an_alias_below_zero_is_an_error() -> None:
    below = problem(
        (8, life((0, 1))), (8, life((0, 1))), groups=[[(0, 16), (1, 0)]], offsets={0: 8}
    )
    with pytest.raises(PlanError, match="impossible"):
        build_units(below, 1)


def test_alignments_that_exclude_each_other_are_an_error() -> None:
    buffers = (Buffer(0, 8, 4, 1, life((0, 1))), Buffer(1, 8, 4, 1, life((0, 1))))
    group = Problem(buffers, ((Member(0, 0), Member(1, 2)),))
    with pytest.raises(PlanError, match="alignments"):
        build_units(group, 1)


def test_a_pair_whose_fixed_offsets_disagree_stays_apart() -> None:
    pair = problem((8, life((0, 2))), (8, life((1, 3))), may_share=[(0, 1)], offsets={0: 0, 1: 16})
    assert len(build_units(pair, 1)) == 2
