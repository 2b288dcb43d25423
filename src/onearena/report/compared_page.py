"""One HTML page about two files: a program before and after."""

from __future__ import annotations

import os
from pathlib import Path

from onearena.errors import UsageError

HTML_SUFFIXES = (".html", ".htm")


def page_path(path: str, program: str, output: str) -> Path:
    """The path of a page that is to be written beside the `output` of a command.

    Raises:
        UsageError: it is no name for a page, is the `program` or the `output`, or cannot be
            written.
    """
    from onearena.problem_files.disk import target_path

    if not path.lower().endswith(HTML_SUFFIXES):
        raise UsageError(f"{path}: the report must end with {' or '.join(HTML_SUFFIXES)}")
    return target_path(path, [program], [output])


def write_compared(
    before: str | os.PathLike[str], after: str | os.PathLike[str], page: Path
) -> None:
    """Writes the page.

    Raises:
        OnearenaError: a program cannot be read, or the page cannot be written.
    """
    # only those who ask for it wait for it
    from onearena.problem_files.disk import write_bytes
    from onearena.report.html import html_report
    from onearena.report.totals import known_pools
    from onearena.summary.build import summarize

    text = html_report(
        summarize(before),
        summarize(after),
        pools=known_pools(before),
        other_pools=known_pools(after),
    )
    write_bytes(text.encode("utf-8", "backslashreplace"), page)
