"""A summary as Markdown tables, as comments on a change show them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onearena.report.markdown import code_span
from onearena.summary.model import MethodSummary, ProgramSummary

_UNKNOWN = "unknown"


def summary_markdown(summary: ProgramSummary, other: ProgramSummary | None = None) -> str:
    """A table per program: a row per method; with `other`, a table of what differs.

    Bytes are exact. What a file cannot tell is "unknown".
    """
    if other is None:
        lines = [f"{code_span(summary.path)}, {summary.file_bytes:,} bytes", ""]
        lines += _table(_HEAD, [_row(method) for method in summary.methods])
    else:
        lines = [f"{code_span(summary.path)} compared with {code_span(other.path)}", ""]
        lines += _table(_COMPARED_HEAD, list(_compared_rows(summary, other)))
    lines += _unknown_lines([summary, other] if other else [summary])
    return "\n".join(lines) + "\n"


_HEAD = ("method", "arenas", "workspace", "total", "lower bound of the arenas", "gap", "opened")


def _row(method: MethodSummary) -> list[str]:
    called = [delegate for delegate in method.delegates if delegate.calls]
    opened = sum(delegate.is_opened for delegate in called)
    return [
        code_span(method.name),
        f"{method.arena_bytes:,}",
        _bytes(method.workspace.global_bytes),
        _bytes(method.total_bytes),
        f"{method.bound_bytes:,}",
        _gap(method.arena_bytes, method.bound_bytes),
        f"{opened} of {len(called)} delegates",
    ]


_COMPARED_HEAD = ("method", "bytes", "here", "there", "difference", "there/here")


def _compared_rows(summary: ProgramSummary, other: ProgramSummary) -> Iterable[list[str]]:
    for name, here, there in pairs(summary, other):
        for label, here_bytes, there_bytes in compared(here, there):
            yield [
                code_span(name),
                label,
                "-" if here is None else _bytes(here_bytes),
                "-" if there is None else _bytes(there_bytes),
                _difference(here_bytes, there_bytes),
                _ratio(here_bytes, there_bytes),
            ]


def pairs(
    summary: ProgramSummary, other: ProgramSummary
) -> Iterable[tuple[str, MethodSummary | None, MethodSummary | None]]:
    """The methods of two programs by name; None where a program has no such method."""
    names = dict.fromkeys(method.name for program in (summary, other) for method in program.methods)
    return [(name, summary.method(name), other.method(name)) for name in names]


def compared(
    here: MethodSummary | None, there: MethodSummary | None
) -> Iterable[tuple[str, int | None, int | None]]:
    """What two versions of a method need: label, bytes here, bytes there.

    The rows are those that say something about either: what delegates need is left out where
    neither calls one.
    """
    methods = [method for method in (here, there) if method]
    yield (
        "arenas",
        here.arena_bytes if here else None,
        there.arena_bytes if there else None,
    )
    if not any(method.calls_delegates for method in methods):
        return
    yield (
        "workspace",
        here.workspace.global_bytes if here else None,
        there.workspace.global_bytes if there else None,
    )
    yield "total", here.total_bytes if here else None, there.total_bytes if there else None


def _bytes(size: int | None) -> str:
    return _UNKNOWN if size is None else f"{size:,}"


def _gap(size: int, bound: int) -> str:
    return f"{(size - bound) / bound:.2%}" if bound else "-"


def _difference(here: int | None, there: int | None) -> str:
    return "-" if here is None or there is None else f"{there - here:+,}"


def _ratio(here: int | None, there: int | None) -> str:
    return f"{there / here:.3f}" if here and there is not None else "-"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    numeric = ["---" if column in ("method", "bytes", "opened") else "---:" for column in head]
    return [f"| {' | '.join(cells)} |" for cells in (head, numeric, *rows)]


def _unknown_lines(programs: Iterable[ProgramSummary]) -> list[str]:
    methods = (method for program in programs for method in program.methods)
    backends = dict.fromkeys(b for method in methods for b in method.workspace.unknown)
    if not backends:
        return []
    names = ", ".join(map(code_span, backends))
    return ["", f"The workspace is unknown where these backends run: {names}."]
