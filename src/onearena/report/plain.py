"""Text that is safe to show: names come from files, and a file may hold anything."""

from __future__ import annotations

_DOTS = "..."


def plain(text: str) -> str:
    """The text in one line, with what is not printable as Python writes it in a string.

    An escape sequence would otherwise reach the terminal, a line break would tear a table, and
    a change of the writing direction would show something else than is there.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in text)


def clipped(text: str, width: int) -> str:
    """As :func:`plain`, at most `width` characters."""
    shown = plain(text)
    return shown if len(shown) <= width else shown[: max(width - len(_DOTS), 0)] + _DOTS


def encodable(text: str, encoding: str | None) -> str:
    """What a stream of this encoding can print; the other characters as escapes."""
    name = encoding or "utf-8"
    return text.encode(name, "backslashreplace").decode(name)


def can_encode(text: str, encoding: str | None) -> bool:
    """Whether a stream of this encoding can print the text as it is."""
    try:
        text.encode(encoding or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True
