"""How fast the HTML report of a large program is, in Chromium: `python -m benchmarks.report_speed`.

The program is made up: many buffers with sizes and lifetimes like those of a transformer, planned
first fit. Measured: the size of the report, the time from navigation to the first painted map,
the time of a frame while the map is panned and zoomed, and the time of a hover.
"""

from __future__ import annotations

import argparse
import random
import statistics
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.browser import open_browser
from onearena.lifetime import Interval
from onearena.report.html import html_report
from onearena.summary.blocks import live_bytes
from onearena.summary.model import (
    ArenaSummary,
    Block,
    DelegateSummary,
    Kind,
    MethodSummary,
    ProgramSummary,
    Rectangle,
    StepKind,
    StepSummary,
    TensorSummary,
    Workspace,
)

_OPERATORS = ("aten::add.out", "aten::mul.out", "aten::native_layer_norm.out", "aten::bmm.out")
_FRAMES = 60
_ALIGNMENT = 64


@dataclass(frozen=True)
class Speed:
    """What was measured. Times in milliseconds; of frames the median and the 95th percentile."""

    buffers: int
    report_bytes: int
    open_ms: float
    pan_ms: tuple[float, float]
    zoom_ms: tuple[float, float]
    hover_ms: tuple[float, float]


def synthetic_program(buffers: int, seed: int = 0) -> ProgramSummary:
    """A program with one method of `buffers` steps, each of which writes one buffer."""
    chance = random.Random(seed)
    pieces = _planned(buffers, chance)
    tensors = tuple(_tensor(number, piece) for number, piece in enumerate(pieces))
    blocks = tuple(
        Block(number, 1, tensors[number].kind, (number,), (piece,))
        for number, piece in enumerate(pieces)
    )
    steps = _steps(buffers)
    live = live_bytes(((1, piece) for piece in pieces), len(steps))[1]
    peak = max(live)
    size = max(piece.high for piece in pieces) + _ALIGNMENT
    unopened = DelegateSummary(
        0, "XnnpackBackend", (1,), False, None, 4096, 1, peak // 8, 0, 1024, ()
    )
    method = MethodSummary(
        name="forward",
        steps=steps,
        tensors=tensors,
        blocks=blocks,
        arenas=(ArenaSummary(1, size, live, peak, live.index(peak)),),
        delegates=(unopened,),
        workspace=Workspace(peak // 8, peak // 8, peak // 8, ()),
        workspace_by_step=tuple(0 if s.delegate is None else peak // 8 for s in steps),
        unplanned=(),
        state_bytes=0,
        optimized_by=None,
        notes=(),
    )
    return ProgramSummary(f"synthetic_{buffers}.pte", 10_000_000, 1_000_000, 9_000_000, (method,))


def _planned(buffers: int, chance: random.Random) -> list[Rectangle]:
    """Each at the lowest address that is free while it is alive."""
    alive: list[Rectangle] = []
    pieces = []
    for start in range(buffers):
        size = _ALIGNMENT * int(min(2.0**18, chance.lognormvariate(8, 2)) + 1)
        end = min(buffers + 1, start + 2 + int(chance.expovariate(1 / 12)))
        if chance.random() < 0.01:
            end = min(buffers + 1, start + buffers // 10 + 2)
        alive = [piece for piece in alive if piece.end > start]
        low = 0
        for piece in sorted(alive, key=lambda piece: piece.low):
            if piece.low - low >= size:
                break
            low = max(low, piece.high)
        pieces.append(Rectangle(start, end, low, low + size))
        alive.append(pieces[-1])
    return pieces


def _tensor(number: int, piece: Rectangle) -> TensorSummary:
    kinds = (Kind.ACTIVATION, Kind.INNER, Kind.INNER, Kind.ACTIVATION)
    size = piece.high - piece.low
    return TensorSummary(
        value=number,
        name=f"layers.{number // 40}.attention.{number % 40}",
        kind=Kind.INPUT if number == 0 else kinds[number // 40 % 4],
        dtype="float",
        shape=(1, size // 64, 16),
        is_dynamic=False,
        size_bytes=size,
        arena=1,
        offset=piece.low,
        lifetime=(Interval(piece.start, piece.end),),
        producers=(piece.start,),
        consumers=(piece.start + 1, piece.end - 1) if piece.end - piece.start > 2 else (),
        block=number,
        pinned=None,
    )


def _steps(buffers: int) -> tuple[StepSummary, ...]:
    first = StepSummary(0, -1, None, "inputs", StepKind.ENTRY, None, None)
    last = StepSummary(buffers, buffers - 1, None, "outputs", StepKind.EXIT, None, None)
    middle = tuple(
        StepSummary(
            number,
            number - 1,
            None,
            "XnnpackBackend" if number % 50 == 0 else _OPERATORS[number % len(_OPERATORS)],
            StepKind.DELEGATE if number % 50 == 0 else StepKind.KERNEL,
            0 if number % 50 == 0 else None,
            None,
        )
        for number in range(1, buffers)
    )
    return (first, *middle, last)


# Times whole frames, from one animation frame to the next, while something changes in each. Panned
# is at twice the size: half of everything is in sight, and every frame shows another half.
_FRAME_SCRIPT = """
async ([frames, action]) => {
  const pane = window.onearena.panes[0];
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const times = [];
  if (action === "pan") pane.zoom(0.5);
  await frame();
  await frame();
  const { x0, x1 } = pane.view();
  for (let k = 0; k < frames; k++) {
    const start = performance.now();
    if (action === "pan") pane.pan(((x1 - x0) / frames) * (k < frames / 2 ? 1 : -1));
    else pane.zoom(k < frames / 2 ? 0.93 : 1 / 0.93);
    await frame();
    times.push(performance.now() - start);
  }
  if (action === "pan") pane.zoom(2);
  return times;
}
"""


def measure(buffers: int, runs: int = 3) -> Speed:
    """Opens the report of a made-up program and plays with it."""
    text = html_report(synthetic_program(buffers))
    with tempfile.TemporaryDirectory() as folder, open_browser() as browser:
        path = Path(folder) / "report.html"
        path.write_text(text, encoding="utf-8")
        opened = []
        for _ in range(runs):
            page = browser.new_page(viewport={"width": 1500, "height": 1000})
            page.goto(path.as_uri())
            # two frames after the load: the first map has been painted
            opened.append(
                page.evaluate(
                    "() => new Promise((done) => requestAnimationFrame(() => "
                    "requestAnimationFrame(() => done(performance.now()))))"
                )
            )
            if len(opened) < runs:
                page.close()
        return Speed(
            buffers,
            len(text.encode()),
            statistics.median(opened),
            _frames(page, "pan"),
            _frames(page, "zoom"),
            _hovers(page),
        )


def _frames(page: Any, action: str) -> tuple[float, float]:
    return _typical(page.evaluate(_FRAME_SCRIPT, [_FRAMES, action]))


def _typical(times: Sequence[float]) -> tuple[float, float]:
    return statistics.median(times), statistics.quantiles(times, n=20)[-1]


def _hovers(page: Any) -> tuple[float, float]:
    """From a pointer that moves to the next frame, with the tooltip in place."""
    box = page.locator(".plot").first.bounding_box()
    script = """async ([left, top, width, height]) => {
      const host = document.querySelector(".plot");
      const times = [];
      for (let k = 0; k < 40; k++) {
        const start = performance.now();
        host.dispatchEvent(new PointerEvent("pointermove", {
          clientX: left + 100 + ((width - 120) * k) / 40,
          clientY: top + height * 0.6,
          bubbles: true,
        }));
        await new Promise((done) => requestAnimationFrame(done));
        times.push(performance.now() - start);
      }
      return times;
    }"""
    return _typical(page.evaluate(script, [box["x"], box["y"], box["width"], box["height"]]))


def table(found: Sequence[Speed]) -> str:
    """As Markdown."""
    lines = [
        "| buffers | report | open | frame, panning | zooming | hovering |",
        "|---:|---:|---:|---:|---:|---:|",
    ]
    for speed in found:
        frames = " | ".join(
            f"{median:.0f} ({slow:.0f}) ms"
            for median, slow in (speed.pan_ms, speed.zoom_ms, speed.hover_ms)
        )
        lines.append(
            f"| {speed.buffers:,} | {speed.report_bytes / 1e6:.2f} MB | {speed.open_ms:,.0f} ms "
            f"| {frames} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--buffers", type=int, nargs="+", default=[10_000, 50_000])
    arguments = parser.parse_args()
    print(table([measure(buffers) for buffers in arguments.buffers]))


if __name__ == "__main__":
    main()
