"""What windows see, against looking at every row."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from onearena.verification.strip_rules import RowWindow

_SMALL = st.integers(0, 9)
_POSITIVE = st.integers(1, 5)


@given(_POSITIVE, _SMALL, _POSITIVE, _POSITIVE, st.integers(-12, 12), st.integers(-12, 30), _SMALL)
def test_what_a_window_sees(
    step: int, padding: int, height: int, dilation: int, low: int, high: int, count: int
) -> None:
    window = RowWindow(step, padding, height, dilation)
    seen = {row * step - padding + k * dilation for row in range(count) for k in range(height)}
    assert window.sees_between(low, high, count) == any(low <= row < high for row in seen)


def test_images_of_many_rows() -> None:
    window = RowWindow(step=2, padding_top=1, height=3, dilation=1)
    count = 1 << 40
    assert window.sees_between(-1, 0, count)
    assert not window.sees_between(-5, -1, count)
    assert window.sees_between(2 * count - 1, 2 * count, count)
    assert not window.sees_between(2 * count, 1 << 50, count)
