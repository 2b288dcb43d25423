"""The ranges in use, against a list of all that were ever added."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onearena.timeline.active_bytes import ActiveBytes

_SPANS = st.lists(
    st.tuples(
        st.integers(0, 3),  # steps since the last one
        st.integers(1, 6),  # steps that it lives
        st.integers(0, 20),  # start
        st.integers(1, 12),  # bytes
    ),
    max_size=30,
)


@given(_SPANS)
def test_finds_what_overlaps_and_is_alive(spans: list[tuple[int, int, int, int]]) -> None:
    active, now = ActiveBytes(), 0
    all_of_them: list[tuple[int, int, int]] = []
    for value, (later, life, start, count) in enumerate(spans):
        now += later
        end = start + count
        expected = {
            other
            for other, (its_start, its_end, until) in enumerate(all_of_them)
            if until > now and its_start < end and start < its_end
        }
        found = active.overlapping(start, end, now)
        assert set(found) == expected
        assert len(found) == len(expected)
        active.add(start, end, now + life, value)
        all_of_them.append((start, end, now + life))


def test_neighbours_do_not_overlap() -> None:
    active = ActiveBytes()
    active.add(16, 32, 9, 7)
    assert active.overlapping(0, 16, 0) == []
    assert active.overlapping(32, 48, 0) == []
    assert active.overlapping(31, 32, 0) == [7]


def test_forgets_a_value_at_the_end_of_its_life() -> None:
    active = ActiveBytes()
    active.add(0, 8, 3, 1)
    assert active.overlapping(0, 8, 2) == [1]
    assert active.overlapping(0, 8, 3) == []
