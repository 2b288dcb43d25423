"""Sets of steps as intervals, against plain sets of integers."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from onearena.lifetime import Interval, Lifetime, intersection, intersects, merge

_intervals = st.lists(
    st.builds(
        lambda start, length: Interval(start, start + length),
        st.integers(0, 20),
        st.integers(0, 6),
    ),
    max_size=6,
)


def _steps(intervals: list[Interval] | Lifetime) -> set[int]:
    return {step for i in intervals for step in range(i.start, i.end)}


def _is_canonical(lifetime: Lifetime) -> bool:
    """In order, not empty, and with a step between one interval and the next."""
    inside = all(i.start < i.end for i in lifetime)
    return inside and all(a.end < b.start for a, b in pairwise(lifetime))


@given(_intervals)
def test_merge_is_the_union(intervals: list[Interval]) -> None:
    merged = merge(intervals)
    assert _steps(merged) == _steps(intervals)
    assert _is_canonical(merged)


@given(_intervals)
def test_merge_does_not_depend_on_order_and_changes_nothing_twice(
    intervals: list[Interval],
) -> None:
    merged = merge(intervals)
    assert merge(reversed(intervals)) == merged
    assert merge(merged) == merged


@given(_intervals, _intervals)
def test_intersects_is_a_common_step(first: list[Interval], second: list[Interval]) -> None:
    common = _steps(first) & _steps(second)
    assert intersects(merge(first), merge(second)) == bool(common)
    assert intersects(merge(second), merge(first)) == bool(common)


@given(_intervals, _intervals)
def test_intersection_is_the_common_steps(first: list[Interval], second: list[Interval]) -> None:
    both = intersection(merge(first), merge(second))
    assert _steps(both) == _steps(first) & _steps(second)
    assert _is_canonical(both)


def test_touching_intervals_have_no_common_step() -> None:
    first, second = (Interval(0, 3),), (Interval(3, 5),)
    assert not intersects(first, second)
    assert intersection(first, second) == ()
    assert merge((*second, *first)) == (Interval(0, 5),)


def test_nothing_meets_nothing() -> None:
    assert merge(()) == ()
    assert not intersects((), (Interval(0, 9),))
    assert intersection((), (Interval(0, 9),)) == ()
