"""Relative links and anchors in the project's Markdown lead somewhere."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.site.hook import MADE

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md"), *ROOT.glob("benchmarks/**/*.md")])

_FENCE = re.compile(r"^\s*(```|~~~)")
_CODE = re.compile(r"`[^`]*`")
_LINK = re.compile(r"\]\(\s*<?([^)\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
_HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
_EXTERNAL = re.compile(r"^[a-z][a-z0-9+.-]*:")


def prose(text: str) -> Iterator[str]:
    """The lines of a page outside of fenced code."""
    fenced = False
    for line in text.splitlines():
        if _FENCE.match(line):
            fenced = not fenced
        elif not fenced:
            yield line


def links(text: str) -> list[str]:
    """Targets of the links and pictures of a page, as they are written there."""
    return [target for line in prose(text) for target in _LINK.findall(_CODE.sub("`code`", line))]


def slug(heading: str) -> str:
    """A heading's anchor, as GitHub makes it: letters, digits, hyphens; spaces become hyphens."""
    shown = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", heading)
    return re.sub(r"[^\w\- ]", "", shown.strip().lower()).replace(" ", "-")


def anchors(text: str) -> set[str]:
    """All anchors of a page; equal headings are numbered."""
    found: set[str] = set()
    count: dict[str, int] = {}
    for line in prose(text):
        heading = _HEADING.match(line)
        if heading is None:
            continue
        name = slug(heading[1])
        earlier = count.get(name, 0)
        count[name] = earlier + 1
        found.add(f"{name}-{earlier}" if earlier else name)
    return found


def broken(page: Path, text: str) -> list[str]:
    """The relative links of a page that lead nowhere, each with the reason."""
    faults = []
    for target in links(text):
        if _EXTERNAL.match(target):
            continue
        where, _, anchor = target.partition("#")
        file = (page.parent / where).resolve() if where else page
        if file.is_relative_to(DOCS) and file.relative_to(DOCS).as_posix() in MADE:
            continue  # made with the site, which checks its links itself
        if not file.is_relative_to(ROOT):
            faults.append(f"{target}: outside of the project")
        elif file != page and not file.exists():
            faults.append(f"{target}: no such file")
        elif anchor and file.suffix == ".md":
            inside = text if file == page else file.read_text(encoding="utf-8")
            if anchor not in anchors(inside):
                faults.append(f"{target}: no such heading")
    return faults


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_relative_links_and_anchors_exist(page: Path) -> None:
    assert broken(page, page.read_text(encoding="utf-8")) == []


def test_no_paragraph_line_looks_like_a_heading() -> None:
    # Python-Markdown takes "#123" at the start of a line for a heading, GitHub does not
    found = [
        f"{page.relative_to(ROOT)}: {line}"
        for page in PAGES
        for line in prose(page.read_text(encoding="utf-8"))
        if re.match(r"#+[^#\s]", line)
    ]
    assert found == []


def test_faults_are_found() -> None:
    page = ROOT / "docs" / "page.md"
    text = "# One `two`: three\n[a](#one-two-three) [b](#two) [c](nothing.md)\n" + (
        "[d](../README.md#onearena) [e](../README.md#nothing) [f](../../x) [g](https://h.i/j)\n"
        "```\n[k](in-code.md)\n```\n`[l](in-code.md)` ![m](no.png)\n"
    )
    assert broken(page, text) == [
        "#two: no such heading",
        "nothing.md: no such file",
        "../README.md#nothing: no such heading",
        "../../x: outside of the project",
        "no.png: no such file",
    ]


def test_anchors_are_those_of_github() -> None:
    text = "# Program.fbs & C++\n## A (#8764, #8766)\n## Same\n## Same\n## [Link](x.md) *here*\n"
    assert anchors(text) == {
        "programfbs--c",
        "a-8764-8766",
        "same",
        "same-1",
        "link-here",
    }
