"""Names from files inside Markdown."""

from __future__ import annotations

from onearena.report.plain import clipped, plain

_MAX_NAME = 120
_MARKUP = frozenset("|`<>")


def code_span(text: str, limit: int = _MAX_NAME) -> str:
    """As code, also in a table; in one line, at most `limit` characters of it.

    Inside a code span nothing is markup but its own end, and nobody is notified by an @name. What
    ends it, what ends a cell of a table and what starts HTML is escaped as Python escapes.
    """
    escaped = "".join(f"\\x{ord(c):02x}" if c in _MARKUP else c for c in plain(text))
    shown = clipped(escaped, limit)
    return f"`{shown}`" if shown.strip() else f"`'{shown}'`"
