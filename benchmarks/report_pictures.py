"""Takes the pictures of docs/report.md: `python -m benchmarks.report_pictures u2net.pte`.

The program is optimized first; the pictures are of the report on it before, after, and of both.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import onearena
from benchmarks.browser import open_browser
from onearena.report.html import html_report
from onearena.report.totals import known_pools
from onearena.summary.build import summarize
from onearena.summary.model import ProgramSummary

_DOCS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True)
class _Picture:
    """A report, how the page is looked at, and what is done to it before the picture is taken."""

    name: str
    files: tuple[Path, ...]
    scheme: str
    size: tuple[int, int]
    action: Callable[[Any], None]


def _largest(page: Any) -> dict[str, Any]:
    """Where the block with the most bytes times steps is, of those in the first map."""
    script = """() => {
      const data = JSON.parse(document.getElementById("data").textContent);
      const areas = data.files[0].methods[0].blocks.rectangles
        .map(([start, end, low, high]) => (end - start) * (high - low));
      return window.onearena.panes[0].place(areas.indexOf(Math.max(...areas)));
    }"""
    found: dict[str, Any] = page.evaluate(script)
    return found


def _hover(page: Any) -> None:
    at = _largest(page)
    page.locator(".plot").first.hover(position={"x": at["x"], "y": at["y"]})


def _follow(page: Any) -> None:
    at = _largest(page)
    page.locator(".plot").first.click(position={"x": at["x"], "y": at["y"]})
    page.mouse.move(4, 4)


def _nothing(page: Any) -> None:
    page.mouse.move(4, 4)


def _summary(path: Path) -> ProgramSummary:
    """Without the folder, which is nobody's business."""
    return replace(summarize(path), path=path.name)


def _take(browser: Any, picture: _Picture, folder: Path, docs: Path) -> None:
    pools = [known_pools(path) for path in picture.files]
    text = html_report(
        *(_summary(path) for path in picture.files), pools=pools[0], other_pools=pools[-1]
    )
    report = folder / f"{picture.name}.html"
    report.write_text(text, encoding="utf-8")
    width, height = picture.size
    page = browser.new_page(
        viewport={"width": width, "height": height}, color_scheme=picture.scheme
    )
    page.goto(report.as_uri())
    picture.action(page)
    page.wait_for_timeout(300)
    target = docs / f"report-{picture.name}.png"
    page.screenshot(path=target)
    page.close()
    print(f"{target.name}  {target.stat().st_size:,} B")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("program", type=Path, help="the .pte before it is optimized")
    parser.add_argument("--docs", type=Path, default=_DOCS, help="where the pictures go")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, open_browser() as browser:
        folder = Path(name)
        before = arguments.program
        after = folder / f"{before.stem}_small.pte"
        onearena.optimize(before, after)
        for picture in (
            _Picture("light", (before,), "light", (1440, 1080), _hover),
            _Picture("dark", (after,), "dark", (1440, 1080), _follow),
            _Picture("compare", (before, after), "light", (1600, 1010), _nothing),
        ):
            _take(browser, picture, folder, arguments.docs)


if __name__ == "__main__":
    main()
