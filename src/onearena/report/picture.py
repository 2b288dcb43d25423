"""A plan as a picture: time to the right, addresses upwards, one box per part of a buffer.

Needs Pillow, which is an optional dependency.
"""

from __future__ import annotations

import colorsys
import io
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onearena.errors import UsageError
from onearena.lifetime import Interval
from onearena.problem import Buffer, Plan, Problem

if TYPE_CHECKING:
    from PIL.ImageDraw import ImageDraw

MAX_PANELS = 12
"""Arenas that are drawn, the highest ones."""

_WIDTH, _WIDTH_OF_MANY, _MANY = 1600, 3200, 4000
_HEIGHT, _MIN_PANEL = 900, 160
_MARGIN, _HEADING = 16, 26
_MAX_LABELLED = 400
_FONT_SIZE = 14
_PAPER, _FRAME, _INK, _BOUND = (255, 255, 255), (246, 246, 246), (51, 51, 51), (200, 30, 30)
_GOLDEN_RATIO = 0.618033988749895


@dataclass(frozen=True, slots=True)
class Box:
    """Bytes of a buffer that are occupied for some steps."""

    buffer: int
    steps: Interval
    low_byte: int
    high_byte: int


@dataclass(frozen=True, slots=True)
class _Panel:
    """A rectangle of the picture, in pixels, and what it shows: steps and bytes."""

    left: int
    top: int
    width: int
    height: int
    steps: Interval
    bytes: int

    def x(self, step: int) -> int:
        span = max(self.steps.end - self.steps.start, 1)
        return self.left + (step - self.steps.start) * self.width // span

    def y(self, byte: int) -> int:
        return self.top + self.height - byte * self.height // max(self.bytes, 1)


def require_pillow() -> None:
    """Looks whether pictures can be drawn.

    Raises:
        UsageError: Pillow is not installed.
    """
    try:
        import PIL  # noqa: F401
    except ImportError:
        raise UsageError("pictures need Pillow: pip install onearena[png]") from None


def draw_png(problem: Problem, plan: Plan) -> bytes:
    """The picture as a PNG file.

    Raises:
        UsageError: Pillow is not installed.
    """
    require_pillow()
    from PIL import Image, ImageDraw

    arenas = sorted(plan.height_bytes, key=lambda a: (-plan.height_bytes[a], a))[:MAX_PANELS]
    panel_height = max(_MIN_PANEL, _HEIGHT // max(len(arenas), 1))
    width = _WIDTH_OF_MANY if len(problem.buffers) > _MANY else _WIDTH
    height = (panel_height + _HEADING + _MARGIN) * max(len(arenas), 1) + _MARGIN
    image = Image.new("RGB", (width + 2 * _MARGIN, height), _PAPER)
    draw = ImageDraw.Draw(image)
    boxes = boxes_of(problem, plan)
    steps = _span(problem)
    top = _MARGIN
    for arena in sorted(arenas):
        size = plan.height_bytes[arena]
        panel = _Panel(_MARGIN, top + _HEADING, width, panel_height, steps, size)
        draw.text((_MARGIN, top), _heading(plan, arena), fill=_INK, font_size=_FONT_SIZE)
        _draw_panel(draw, panel, problem, boxes.get(arena, []))
        _draw_bound(draw, panel, plan.lower_bound_bytes.get(arena, 0))
        top += panel_height + _HEADING + _MARGIN
    out = io.BytesIO()
    image.save(out, "PNG")
    return out.getvalue()


def _heading(plan: Plan, arena: int) -> str:
    name = f"arena {arena}: " if len(plan.height_bytes) > 1 else ""
    bound = plan.lower_bound_bytes.get(arena, 0)
    return f"{name}{plan.height_bytes[arena]:,} bytes, lower bound {bound:,} (red line)"


def _span(problem: Problem) -> Interval:
    """All steps at which anything is alive."""
    lives = [buffer.lifetime for buffer in problem.buffers if buffer.lifetime]
    if not lives:
        return Interval(0, 1)
    return Interval(min(life[0].start for life in lives), max(life[-1].end for life in lives))


def boxes_of(problem: Problem, plan: Plan) -> dict[int, list[Box]]:
    """By arena, what is occupied when."""
    boxes: dict[int, list[Box]] = {}
    for buffer, offset in zip(problem.buffers, plan.offsets, strict=True):
        arena = plan.arenas[buffer.id] if plan.arenas else buffer.arena
        boxes.setdefault(arena, []).extend(_parts(buffer, offset))
    return boxes


def _parts(buffer: Buffer, offset: int) -> Iterable[Box]:
    for life in buffer.lifetime:
        start = life.start
        for window in sorted(buffer.windows, key=lambda w: w.lifetime):
            if window.lifetime.start < life.start or window.lifetime.end > life.end:
                continue
            whole = Interval(start, window.lifetime.start)
            yield Box(buffer.id, whole, offset, offset + buffer.size_bytes)
            low, high = offset + window.start_byte, offset + window.end_byte
            yield Box(buffer.id, window.lifetime, low, high)
            start = window.lifetime.end
        yield Box(buffer.id, Interval(start, life.end), offset, offset + buffer.size_bytes)


def _draw_panel(draw: ImageDraw, panel: _Panel, problem: Problem, boxes: list[Box]) -> None:
    right, bottom = panel.left + panel.width, panel.top + panel.height
    draw.rectangle((panel.left, panel.top, right, bottom), fill=_FRAME)
    has_labels = len(boxes) <= _MAX_LABELLED
    for box in boxes:
        if box.steps.start >= box.steps.end or box.low_byte >= box.high_byte:
            continue
        x0, x1 = panel.x(box.steps.start), panel.x(box.steps.end)
        y0, y1 = panel.y(box.high_byte), panel.y(box.low_byte)
        # even the smallest one is a pixel; room for an edge shows where one ends
        is_framed = x1 - x0 > 3 and y1 - y0 > 3
        area = (x0, y0, max(x1 - 1, x0), max(y1 - 1, y0))
        draw.rectangle(area, fill=_colour(box.buffer), outline=_PAPER if is_framed else None)
        if has_labels:
            _draw_label(draw, area, problem.buffers[box.buffer].name or str(box.buffer))


def _colour(buffer: int) -> tuple[int, int, int]:
    """Neighbours in the list of buffers have colours that are far apart."""
    red, green, blue = colorsys.hls_to_rgb(buffer * _GOLDEN_RATIO % 1.0, 0.66, 0.55)
    return int(red * 255), int(green * 255), int(blue * 255)


def _draw_label(draw: ImageDraw, area: tuple[int, int, int, int], name: str) -> None:
    """The name in the middle of a box, when there is room for it."""
    x0, y0, x1, y1 = area
    label = "".join(c if c.isascii() and c.isprintable() else "?" for c in name[:200])
    left, top, right, bottom = draw.textbbox((0, 0), label, font_size=_FONT_SIZE)
    if right - left + 6 > x1 - x0 or bottom - top + 4 > y1 - y0:
        return
    x = x0 + (x1 - x0 - (right - left)) / 2 - left
    y = y0 + (y1 - y0 - (bottom - top)) / 2 - top
    draw.text((x, y), label, fill=_INK, font_size=_FONT_SIZE)


def _draw_bound(draw: ImageDraw, panel: _Panel, bound: int) -> None:
    y = panel.y(min(bound, panel.bytes))
    draw.line((panel.left, y, panel.left + panel.width, y), fill=_BOUND, width=2)
