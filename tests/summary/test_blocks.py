"""Rectangles and live bytes against counting byte by byte."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onearena.summary.blocks import live_bytes
from onearena.summary.model import Rectangle

STEPS = 8


@st.composite
def rectangles(draw: st.DrawFn) -> Rectangle:
    start, low = draw(st.integers(0, STEPS - 1)), draw(st.integers(0, 20))
    end = draw(st.integers(start, STEPS))
    return Rectangle(start, end, low, low + draw(st.integers(0, 12)))


@given(st.lists(st.tuples(st.integers(1, 2), rectangles()), max_size=12))
def test_live_bytes(pieces: list[tuple[int, Rectangle]]) -> None:
    found = live_bytes(pieces, STEPS)
    assert found.keys() == {arena for arena, _ in pieces}
    for arena, curve in found.items():
        mine = [piece for where, piece in pieces if where == arena]
        for step in range(STEPS):
            taken = {b for p in mine if p.start <= step < p.end for b in range(p.low, p.high)}
            assert curve[step] == len(taken)
