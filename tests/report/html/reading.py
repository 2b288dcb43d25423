"""Reads a report back, without a browser."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from html.parser import HTMLParser
from typing import Any

_VOID = {"meta", "link", "br", "input", "hr", "img"}


@dataclass
class Page(HTMLParser):
    """Elements, text and scripts of a page. Fails where an element is closed that is not open."""

    tags: list[tuple[str, dict[str, str | None]]] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    scripts: list[str] = field(default_factory=list)
    styles: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in _VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        inside = self.open[-1] if self.open else ""
        kept = {"script": self.scripts, "style": self.styles}.get(inside, self.texts)
        kept.append(data)

    def data(self) -> dict[str, Any]:
        """The data block."""
        found: dict[str, Any] = json.loads(self.scripts[0])
        return found

    def text(self) -> str:
        """All text."""
        return " ".join(" ".join(self.texts).split())

    def with_tag(self, tag: str) -> list[dict[str, str | None]]:
        """The attributes of each element of this name."""
        return [attributes for name, attributes in self.tags if name == tag]


def read_page(text: str) -> Page:
    """The page; everything that was opened is closed."""
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == []
    return page
