"""Which bytes of a value hold something that is needed, step by step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onearena.lifetime import Interval


@dataclass(frozen=True, slots=True)
class Use:
    """Bytes of a value that are read or written at some of the steps."""

    steps: Interval
    bytes: Interval
    is_write: bool


def occupied(uses: Sequence[Use], steps: Interval, size_bytes: int) -> list[Interval]:
    """By step, the smallest range with the bytes that were written and are still to be read, and
    those that are being touched; the whole value where there is no such byte.

    Args:
        uses: may lie outside of `steps`.
    """
    count = steps.end - steps.start
    written: list[Interval | None] = [None] * count
    needed: list[Interval | None] = [None] * count
    touched: list[Interval | None] = [None] * count
    for use in uses:
        first, end = max(use.steps.start, steps.start), min(use.steps.end, steps.end)
        for step in range(first, end):
            touched[step - steps.start] = _hull(touched[step - steps.start], use.bytes)
        if use.is_write and use.steps.start < steps.end:
            at = max(use.steps.start - steps.start, 0)
            written[at] = _hull(written[at], use.bytes)
        elif not use.is_write and use.steps.end > steps.start:
            at = min(use.steps.end - 1 - steps.start, count - 1)
            needed[at] = _hull(needed[at], use.bytes)
    for step in range(1, count):
        written[step] = _hull(written[step], written[step - 1])
        needed[count - 1 - step] = _hull(needed[count - 1 - step], needed[count - step])
    whole = Interval(0, size_bytes)
    return [
        _hull(_both(written[step], needed[step]), touched[step]) or whole for step in range(count)
    ]


def _hull(first: Interval | None, second: Interval | None) -> Interval | None:
    if first is None or second is None:
        return first or second
    return Interval(min(first.start, second.start), max(first.end, second.end))


def _both(first: Interval | None, second: Interval | None) -> Interval | None:
    if first is None or second is None:
        return None
    low, high = max(first.start, second.start), min(first.end, second.end)
    return Interval(low, high) if low < high else None
