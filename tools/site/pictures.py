"""Draws the pictures of docs/concepts.md: `python -m tools.site.pictures`.

Nothing in them is placed by hand: the tensors are given by sizes and lifetimes, and where they
lie is what the planner says. Time runs to the right, addresses upwards.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

import onearena
from tools import ROOT

FOLDER = ROOT / "docs" / "pictures"
_STEP, _BYTE, _LEFT, _TOP, _GAP, _BOTTOM, _ROW = 46, 15, 12, 44, 40, 44, 22
_STYLE = (
    "rect{stroke:#fff}text{font:12px sans-serif;fill:#333}.head{font-weight:bold}"
    ".input{fill:#2a9d8f}.output{fill:#e76f51}.activation{fill:#7fb0e3}.inner{fill:#f4b942}"
    ".workspace{fill:#c4c4c4}.frame{fill:#f4f4f4;stroke:#999}.line{stroke:#c0392b;stroke-width:2}"
    ".mark{text-anchor:middle}.small{font-size:11px;fill:#666}"
)


@dataclass(frozen=True)
class Block:
    """A tensor: `size` units of memory during the steps [start, end)."""

    name: str
    kind: str
    size: int
    start: int
    end: int


@dataclass(frozen=True)
class Placed:
    """A tensor at an offset."""

    block: Block
    offset: int


@dataclass(frozen=True)
class Panel:
    """One plot of memory over time.

    Attributes:
        steps: what is written below each step.
        splits: (height, text) of lines across, such as the end of the arena.
    """

    title: str
    blocks: tuple[Placed, ...]
    steps: tuple[str, ...]
    splits: tuple[tuple[int, str], ...] = ()

    @property
    def height(self) -> int:
        """Units up to the end of the highest tensor."""
        return max(p.offset + p.block.size for p in self.blocks)


def placed(blocks: Sequence[Block], above: int = 0) -> tuple[Placed, ...]:
    """Where the planner puts tensors; all `above` units higher."""
    buffers = tuple(
        onearena.Buffer(k, b.size, 1, 0, (onearena.Interval(b.start, b.end),), name=b.name)
        for k, b in enumerate(blocks)
    )
    plan = onearena.plan(onearena.Problem(buffers))
    assert plan.optimal
    return tuple(Placed(b, above + o) for b, o in zip(blocks, plan.offsets, strict=True))


def most_alive(blocks: Iterable[Block]) -> int:
    """The largest sum of sizes that are alive at one step: no plan is lower."""
    found = list(blocks)
    return max(sum(b.size for b in found if b.start <= t < b.end) for t in {b.start for b in found})


# -- what is shown ----------------------------------------------------------------------------

_CHAIN = (
    Block("image", "input", 3, 0, 2),
    Block("a", "activation", 6, 1, 3),
    Block("b", "activation", 4, 2, 5),
    Block("c", "activation", 6, 3, 4),
    Block("d", "activation", 5, 4, 6),
    Block("result", "output", 2, 5, 7),
)
_CHAIN_STEPS = ("set", "conv", "pool", "conv", "add", "conv", "read")

_OUTER = (
    Block("x", "input", 2, 0, 3),
    Block("p", "activation", 4, 2, 4),
    Block("q", "activation", 4, 3, 6),
    Block("y", "output", 2, 6, 8),
)
_INNER_FIRST = (Block("u", "inner", 6, 1, 3),)
_INNER_SECOND = (Block("v", "inner", 6, 4, 6), Block("w", "inner", 4, 5, 7))
_BREAK_STEPS = ("set", "call 1", "call 1", "resize", "call 2", "call 2", "call 2", "read")

_WIDE = (
    Block("in", "input", 2, 0, 9),
    Block("wide", "activation", 12, 1, 9),
    Block("out", "output", 2, 5, 10),
)


def _strips() -> tuple[Block, ...]:
    wide = [Block(f"strip {k + 1}", "activation", 4, 1 + 2 * k, 3 + 2 * k) for k in range(4)]
    return (_WIDE[0], *wide, Block("out", "output", 2, 2, 10))


def _closed_panel() -> Panel:
    """Arena and workspace apart, as ExecuTorch and XNNPACK have them."""
    arena = placed(_OUTER)
    end = max(p.offset + p.block.size for p in arena)
    grey = [
        placed([Block(b.name, "workspace", b.size, b.start, b.end) for b in inner], end)
        for inner in (_INNER_FIRST, _INNER_SECOND)
    ]
    blocks = (*arena, *grey[0], *grey[1])
    return Panel("closed calls", blocks, _BREAK_STEPS, ((end, "workspace"),))


def _opened_panel() -> Panel:
    blocks = placed((*_OUTER, *_INNER_FIRST, *_INNER_SECOND))
    return Panel("opened calls, one plan", blocks, _BREAK_STEPS)


def _shapes_panels() -> tuple[Panel, ...]:
    small = [Block(b.name, b.kind, max(1, b.size // 3), b.start, b.end) for b in _CHAIN]
    return (
        Panel("planned for the bound", placed(_CHAIN), _CHAIN_STEPS),
        Panel("planned for the actual shape", placed(small), _CHAIN_STEPS),
    )


def _strip_panels() -> tuple[Panel, ...]:
    whole = Panel("whole", placed(_WIDE), ("",) + ("conv 1",) * 4 + ("conv 2",) * 4 + ("",))
    steps = ("",) + ("conv 1", "conv 2") * 4 + ("",)
    return whole, Panel("in four strips of rows", placed(_strips()), steps)


def pictures() -> Mapping[str, str]:
    """All pictures, as SVG, by file name."""
    return {
        "lifetimes.svg": _lifetimes(_CHAIN, _CHAIN_STEPS),
        "plan.svg": _panels((Panel("one arena", placed(_CHAIN), _CHAIN_STEPS),)),
        "graph-break.svg": _panels((_closed_panel(),)),
        "opening.svg": _panels((_closed_panel(), _opened_panel())),
        "strips.svg": _panels(_strip_panels()),
        "re-planning.svg": _panels(_shapes_panels()),
    }


# -- drawing ----------------------------------------------------------------------------------


def _svg(width: float, height: float, label: str, parts: Iterable[str]) -> str:
    return "\n".join(
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" '
            f'width="{width:g}" role="img" aria-label="{escape(label)}">',
            f"<style>{_STYLE}</style>",
            f'<rect width="{width:g}" height="{height:g}" fill="#fff"/>',
            *parts,
            "</svg>\n",
        )
    )


def _text(x: float, y: float, text: str, kind: str = "mark") -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(text)}</text>'


def _box(x: float, y: float, width: float, height: float, kind: str) -> str:
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}" class="{kind}"/>'


def _panels(panels: Sequence[Panel]) -> str:
    """Plots side by side, at one scale."""
    highest = max(panel.height for panel in panels)
    bottom = _TOP + _BYTE * highest
    parts: list[str] = []
    x = float(_LEFT)
    for panel in panels:
        width = _STEP * len(panel.steps)
        parts.append(_text(x, 24, f"{panel.title}: {panel.height} units", "head"))
        parts.append(_box(x, _TOP, width, _BYTE * highest, "frame"))
        for place in panel.blocks:
            parts += _rectangle(place, x, bottom)
        parts += [_text(x + _STEP * (k + 0.5), bottom + 16, s) for k, s in enumerate(panel.steps)]
        for height, text in panel.splits:
            y = bottom - _BYTE * height
            parts.append(f'<path d="M{x:g} {y:g}h{width:g}" class="line"/>')
            parts.append(_text(x + 6, y - 5, text, "small"))
        x += width + _GAP
    label = "; ".join(f"{panel.title}: {panel.height} units of memory" for panel in panels)
    return _svg(x - _GAP + _LEFT, bottom + _BOTTOM, label, parts)


def _rectangle(place: Placed, left: float, bottom: float) -> Iterable[str]:
    block = place.block
    x, width = left + _STEP * block.start, _STEP * (block.end - block.start)
    y = bottom - _BYTE * (place.offset + block.size)
    yield _box(x, y, width, _BYTE * block.size, block.kind)
    yield _text(x + width / 2, y + _BYTE * block.size / 2 + 4, f"{block.name} {block.size}")


def _lifetimes(blocks: Sequence[Block], steps: Sequence[str]) -> str:
    """A bar for each tensor, and what is alive at each step below."""
    width = _STEP * len(steps)
    parts = [_text(_LEFT, 24, "when each tensor is alive", "head")]
    for row, block in enumerate(blocks):
        x, y = float(_LEFT + _STEP * block.start), float(_TOP + _ROW * row)
        length = _STEP * (block.end - block.start)
        parts.append(_box(x, y, length, _ROW - 4, block.kind))
        parts.append(_text(x + length / 2, y + 13, f"{block.name} {block.size}"))
    y = float(_TOP + _ROW * len(blocks) + 4)
    parts += [_text(_LEFT + _STEP * (k + 0.5), y + 12, step) for k, step in enumerate(steps)]
    bound = most_alive(blocks)
    top = y + 52
    parts.append(_text(_LEFT, top - 14, f"alive at each step; at most {bound}", "head"))
    for k in range(len(steps)):
        alive = sum(b.size for b in blocks if b.start <= k < b.end)
        x, height = _LEFT + _STEP * k, _BYTE * alive
        parts.append(_box(x, top + _BYTE * bound - height, _STEP, height, "activation"))
        parts.append(_text(x + _STEP / 2, top + _BYTE * bound - 6, str(alive)))
    parts.append(f'<path d="M{_LEFT} {top:g}h{width}" class="line"/>')
    label = f"Lifetimes of {len(blocks)} tensors; at most {bound} units are alive at once"
    return _svg(width + 2 * _LEFT, top + _BYTE * bound + 12, label, parts)


def main() -> int:
    """Writes them all."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for name, picture in pictures().items():
        (FOLDER / name).write_text(picture, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
