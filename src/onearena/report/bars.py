"""Bar charts made of characters."""

from __future__ import annotations

from collections.abc import Sequence

BLOCKS = "▁▂▃▄▅▆▇█"
"""Bars of one to eight eighths."""
_EIGHTHS = len(BLOCKS)
_ASCII_BAR = "#"
_UNKNOWN = "?"
_MAX_STEP_WIDTH = 4


def columns(values: Sequence[int | None], width: int) -> list[int | None]:
    """The values as at most `width` columns, each the largest of the steps it stands for.

    A few values are drawn wider, all alike. A column is None when one of its steps is.
    """
    count = len(values)
    if count <= width:
        repeat = min(_MAX_STEP_WIDTH, width // count) if count else 0
        return [value for value in values for _ in range(repeat)]
    found: list[int | None] = []
    for column in range(width):
        part = values[column * count // width : (column + 1) * count // width]
        known = [value for value in part if value is not None]
        found.append(max(known) if len(known) == len(part) else None)
    return found


def column_of(step: int, count: int, width: int) -> int:
    """The first column of :func:`columns` that shows this step."""
    if count <= width:
        return step * min(_MAX_STEP_WIDTH, width // count)
    return ((step + 1) * width - 1) // count


def chart(values: Sequence[int | None], width: int, height: int, blocks: bool) -> list[str]:
    """A bar per column, upright; the tallest one fills all lines.

    Args:
        values: not negative; None, which is not known, is shown as a question mark.
        width: columns at most.
        height: lines.
        blocks: whether block elements may be used; otherwise only ASCII.

    Returns:
        `height` lines from the top, without blanks at their ends.
    """
    shown = columns(values, width)
    top = max((value for value in shown if value is not None), default=0)
    lines = []
    for line in reversed(range(height)):
        cells = [_cell(value, top, line, height, blocks) for value in shown]
        lines.append("".join(cells).rstrip())
    return lines


def _cell(value: int | None, top: int, line: int, height: int, blocks: bool) -> str:
    if value is None:
        return _UNKNOWN if line == 0 else " "
    # rounded up: what is there is seen
    eighths = -(-value * height * _EIGHTHS // top) if top else 0
    filled = min(eighths - line * _EIGHTHS, _EIGHTHS)
    if filled <= 0:
        return " "
    return BLOCKS[filled - 1] if blocks else _ASCII_BAR


def bar(part: int, whole: int, width: int, blocks: bool) -> str:
    """A lying bar: `part` of `whole`, which would be `width` characters."""
    count = min(-(-part * width // whole), width) if whole > 0 and part > 0 else 0
    return (BLOCKS[-1] if blocks else _ASCII_BAR) * count
