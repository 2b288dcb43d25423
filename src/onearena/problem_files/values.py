"""What single values of both formats must keep to: 64 bits, order, places inside a lifetime."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from onearena.lifetime import Interval, Lifetime
from onearena.problem import Window

MIN_INT = -(1 << 63)
MAX_INT = (1 << 63) - 1

DEFAULT_ARENA = 0
"""The arena of a buffer that names none."""

_INTEGER = re.compile(r"[+-]?[0-9]+")
_MAX_DIGITS = 19
_MAX_SHOWN = 60


class BadValueError(Exception):
    """A value is wrong; whoever knows where it stands adds the file and the place."""


def shown(text: str) -> str:
    """A piece of the input as it appears in a message: quoted, printable, not too long."""
    short = text if len(text) <= _MAX_SHOWN else text[:_MAX_SHOWN] + "…"
    return ascii(short) if any(not c.isprintable() for c in short) else repr(short)


def parse_int(text: str, low: int = MIN_INT, high: int = MAX_INT) -> int:
    """A decimal integer from `low` to `high`; blanks around it are nothing.

    Raises:
        BadValueError: it is none, or out of range.
    """
    bare = text.strip(" \t")
    if not _INTEGER.fullmatch(bare):
        raise BadValueError("is empty" if not bare else f"{shown(text)} is not an integer")
    if len(bare.lstrip("+-0")) > _MAX_DIGITS:
        raise BadValueError(f"{shown(text)} does not fit into 64 bits")
    sign = "-" if bare.startswith("-") else ""
    return in_range(int(sign + (bare.lstrip("+-0") or "0")), low, high)


def in_range(value: int, low: int = MIN_INT, high: int = MAX_INT) -> int:
    """The value itself.

    Raises:
        BadValueError: it does not fit into 64 bits, or is not from `low` to `high`.
    """
    if not MIN_INT <= value <= MAX_INT:
        raise BadValueError("does not fit into 64 bits")
    if value < low:
        raise BadValueError(f"{value} must not be below {low}")
    if value > high:
        limit = f"must not be above {high}" if high >= low else "is not possible: there is none"
        raise BadValueError(f"{value} {limit}")
    return value


def ordered(start: int, end: int) -> Interval:
    """The half-open interval, which may be empty.

    Raises:
        BadValueError: it ends before it starts.
    """
    if end < start:
        raise BadValueError(f"ends at {end}, before it starts at {start}")
    return Interval(start, end)


def check_apart(intervals: Iterable[Interval], what: str) -> None:
    """Nothing is empty, nothing overlaps; touching is allowed.

    Raises:
        BadValueError: otherwise. `what` names one of the intervals.
    """
    before: Interval | None = None
    for interval in sorted(intervals):
        if interval.start >= interval.end:
            raise BadValueError(f"the {what} [{interval.start}, {interval.end}) is empty")
        if before is not None and interval.start < before.end:
            raise BadValueError(
                f"the {what}s [{before.start}, {before.end}) and "
                f"[{interval.start}, {interval.end}) overlap"
            )
        before = interval


def check_windows(windows: Sequence[Window], size_bytes: int) -> None:
    """All bytes of all windows lie inside the buffer.

    Raises:
        BadValueError: otherwise.
    """
    for window in windows:
        if not 0 <= window.start_byte <= window.end_byte <= size_bytes:
            raise BadValueError(
                f"the bytes {window.start_byte}:{window.end_byte} are not inside the "
                f"{size_bytes} bytes of the buffer"
            )


def without(whole: Interval, holes: Iterable[Interval]) -> Lifetime:
    """What is left of `whole`. The holes are inside it and apart from each other."""
    left: list[Interval] = []
    start = whole.start
    for hole in sorted(holes):
        if start < hole.start:
            left.append(Interval(start, hole.start))
        start = hole.end
    if start < whole.end:
        left.append(Interval(start, whole.end))
    return tuple(left)
