"""Text that comes from a program file, made fit for the page: names there can be anything."""

from __future__ import annotations

import html

from onearena.report.plain import clipped

_WIDTH = 300


def shown(text: str) -> str:
    """`text` in one line and printable; cut, since a name of a megabyte must not fill the page."""
    return clipped(text, _WIDTH)


def escaped(text: str) -> str:
    """`shown` as HTML, in text and in quoted attributes."""
    return html.escape(shown(text))
