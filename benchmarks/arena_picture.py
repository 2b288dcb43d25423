"""Draws a program's memory before and after, as one SVG: `python -m benchmarks.arena_picture`.

Time runs to the right (one step per kernel and per XNNPACK node), the address upwards. The
left panel is the file as exported: the arena, and on top of it the workspace that XNNPACK
allocates for itself and that nothing else may use. The right panel is the optimized file.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from onearena.program import AnalysedMethod, analyse_method, arena_bytes
from onearena.pte import open_pte

_PANEL_WIDTH, _HEIGHT, _GAP, _TOP, _LEFT = 560, 420, 40, 46, 10
_COLOURS = {
    "input": "#2a9d8f",
    "output": "#e76f51",
    "state": "#8d5fd3",
    "activation": "#4a90d9",
    "opened": "#f4b942",
    "workspace": "#b8b8b8",
}
_MB = 1_000_000


@dataclass(frozen=True)
class _Box:
    left: float
    right: float
    low_bytes: int
    high_bytes: int
    kind: str
    title: str


@dataclass(frozen=True)
class _Panel:
    heading: str
    boxes: tuple[_Box, ...]
    total_bytes: int


def _boxes(method: AnalysedMethod, first_opened: int) -> Iterable[_Box]:
    storage, steps = method.timeline.storage, method.steps
    span = steps.exit_step + 1
    for value, lifetime in storage.lifetimes.items():
        memory = storage.memories[value]
        kind = "activation"
        if value in storage.state:
            kind = "state"
        elif value in steps.inputs:
            kind = "input"
        elif value in steps.outputs:
            kind = "output"
        elif value >= first_opened:
            kind = "opened"
        shape = "x".join(map(str, steps.tensor(value).sizes or ()))
        for interval in lifetime:
            yield _Box(
                interval.start / span,
                interval.end / span,
                memory.start,
                memory.end,
                kind,
                f"value {value} ({shape}), {memory.size_bytes:,} bytes",
            )


def _panel(path: Path, heading: str, first_opened: int | None) -> tuple[_Panel, int]:
    with open_pte(path) as file:
        plan = (file.program.execution_plan or ())[0]
        method = analyse_method(file, plan)
        count = len(plan.values or ())
        arena = arena_bytes(plan)
        boxes = list(_boxes(method, count if first_opened is None else first_opened))
        if method.workspace_bytes:
            top = arena + method.workspace_bytes
            title = f"XNNPACK workspace, {method.workspace_bytes:,} bytes"
            boxes.append(_Box(0, 1, arena, top, "workspace", title))
        total = arena + method.workspace_bytes
        return _Panel(f"{heading}: {total / _MB:,.1f} MB", tuple(boxes), total), count


def _svg_panel(panel: _Panel, left: float, scale_bytes: int) -> Iterable[str]:
    bottom = _TOP + _HEIGHT
    yield f'<text x="{left}" y="{_TOP - 14}" class="h">{panel.heading}</text>'
    yield (f'<rect x="{left}" y="{_TOP}" width="{_PANEL_WIDTH}" height="{_HEIGHT}" class="frame"/>')
    for box in sorted(panel.boxes, key=lambda b: b.low_bytes - b.high_bytes):
        low = bottom - _HEIGHT * box.high_bytes / scale_bytes
        height = _HEIGHT * (box.high_bytes - box.low_bytes) / scale_bytes
        width = _PANEL_WIDTH * (box.right - box.left)
        if height < 0.4:
            continue
        yield (
            f'<rect x="{left + _PANEL_WIDTH * box.left:.1f}" y="{low:.1f}" width="{width:.1f}" '
            f'height="{height:.1f}" class="{box.kind}"><title>{box.title}</title></rect>'
        )


def draw(before: Path, after: Path) -> str:
    """The picture of two files of one program."""
    left, count = _panel(before, "as exported (arena + XNNPACK workspace)", None)
    right, _ = _panel(after, "optimized (one arena)", count)
    scale = max(left.total_bytes, right.total_bytes)
    width = 2 * _PANEL_WIDTH + _GAP + 2 * _LEFT
    height = _TOP + _HEIGHT + 44
    styles = "".join(f".{k}{{fill:{v}}}" for k, v in _COLOURS.items())
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img" '
        f'aria-label="{left.heading}; {right.heading}">',
        f"<style>rect{{stroke:#fff;stroke-width:.3}}.frame{{fill:#f7f7f7;stroke:#999}}"
        f"text{{font:13px sans-serif;fill:#333}}.h{{font-weight:bold}}{styles}</style>",
        f'<rect width="{width}" height="{height}" fill="#fff"/>',
        *_svg_panel(left, _LEFT, scale),
        *_svg_panel(right, _LEFT + _PANEL_WIDTH + _GAP, scale),
    ]
    x = float(_LEFT)
    for kind, colour in _COLOURS.items():
        y = _TOP + _HEIGHT + 16
        label = "inside XNNPACK" if kind == "opened" else kind
        lines.append(f'<rect x="{x}" y="{y}" width="12" height="12" fill="{colour}"/>')
        lines.append(f'<text x="{x + 17}" y="{y + 11}">{label}</text>')
        x += 42 + 7.4 * len(label)
    lines.append(f'<text x="{width - 330}" y="{y + 11}">time → &#160;&#160; address ↑</text>')
    return "\n".join([*lines, "</svg>", ""])


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("before", type=Path)
    parser.add_argument("after", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    args = parser.parse_args()
    args.output.write_text(draw(args.before, args.after), encoding="utf-8")


if __name__ == "__main__":
    main()
