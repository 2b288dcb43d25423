"""The pages of the benchmarks, made from what `make bench` and `make bench-planner` wrote."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

_LEFT, _WIDTH, _ROW, _BAR, _TOP, _LEGEND = 160, 560, 34, 12, 8, 40
_STYLE = (
    "text{font:13px sans-serif;fill:#888}.arena{fill:#4a90d9}.workspace{fill:#b0b0b0}"
    ".after{fill:#2a9d8f}"
)


@dataclass(frozen=True)
class Saving:
    """One program of the benchmark: bytes of arena and workspace, before and after."""

    name: str
    arena_bytes: int
    workspace_bytes: int
    after_bytes: int

    @property
    def before_bytes(self) -> int:
        """Both together."""
        return self.arena_bytes + self.workspace_bytes


def programs_page(root: Path) -> str:
    """benchmarks/results.md with a picture of its tables of memory.

    Raises:
        ValueError: the file has not the form that `make bench` gives it.
    """
    page = (root / "benchmarks" / "results.md").read_text(encoding="utf-8")
    picture = "![Memory of every program before and after, in shares of what it was](savings.svg)\n"
    heading = "\n## Programs"
    before, found, after = page.partition(heading)
    if not found:
        raise ValueError("benchmarks/results.md has another form than it had")
    return f"{before}\n## At a glance\n\n{picture}{found}{after}"


def planner_page(root: Path) -> str:
    """benchmarks/planner/results.md."""
    return (root / "benchmarks" / "planner" / "results.md").read_text(encoding="utf-8")


def savings(root: Path) -> list[Saving]:
    """What every program needed before and needs after, as measured; the largest saving first."""
    results = json.loads((root / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    found = [_saving(program) for program in results["programs"]]
    return sorted(found, key=lambda saving: saving.after_bytes / saving.before_bytes)


def _saving(program: Mapping[str, Any]) -> Saving:
    before, after = program["optimization"]["before"], program["optimization"]["after"]
    version = max(program["trials"])
    measured = program["trials"][version]["workspaces"]
    # what could not be measured is predicted
    workspaces = [
        side["predictions"][version]["total"] if bytes_ is None else bytes_
        for side, bytes_ in zip((before, after), measured, strict=True)
    ]
    return Saving(program["name"], before["arena"], workspaces[0], after["arena"] + workspaces[1])


def savings_picture(root: Path) -> str:
    """An SVG with two bars per program: arena and workspace before, and all of it after."""
    rows = savings(root)
    height = _TOP + _ROW * len(rows) + _LEGEND
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_LEFT + _WIDTH + 60} {height}" '
        f'role="img" aria-label="Memory before and after"><style>{_STYLE}</style>'
    ]
    parts += [_row(row, _TOP + _ROW * k) for k, row in enumerate(rows)]
    legend = (("arena", "arena before"), ("workspace", "XNNPACK workspace before"))
    for k, (kind, text) in enumerate((*legend, ("after", "both after optimize"))):
        x, y = _LEFT + 190 * k, height - 22
        parts.append(f'<rect class="{kind}" x="{x}" y="{y}" width="12" height="12"/>')
        parts.append(f'<text x="{x + 18}" y="{y + 11}">{text}</text>')
    return "\n".join((*parts, "</svg>\n"))


def _row(row: Saving, y: int) -> str:
    arena = _WIDTH * row.arena_bytes / row.before_bytes
    after = _WIDTH * row.after_bytes / row.before_bytes
    text_y = y + _BAR + 4
    return (
        f'<text x="{_LEFT - 8}" y="{text_y}" text-anchor="end">{escape(row.name)}</text>'
        f'<rect class="arena" x="{_LEFT}" y="{y}" width="{arena:.1f}" height="{_BAR}"/>'
        f'<rect class="workspace" x="{_LEFT + arena:.1f}" y="{y}" '
        f'width="{_WIDTH - arena:.1f}" height="{_BAR}"/>'
        f'<rect class="after" x="{_LEFT}" y="{y + _BAR + 2}" width="{after:.1f}" height="{_BAR}"/>'
        f'<text x="{_LEFT + _WIDTH + 8}" y="{text_y}">'
        f"{row.after_bytes / row.before_bytes:.2f}</text>"
    )
