"""The files of `onearena report`: what is asked for by name → content."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onearena.errors import UsageError
from onearena.summary.model import MethodSummary, ProgramSummary


@dataclass(frozen=True, slots=True)
class Content:
    """What to write.

    Attributes:
        remark: what to say about it once it is written; may be empty.
    """

    data: bytes
    remark: str = ""


@dataclass(frozen=True, slots=True)
class FileKind:
    """A file that can be asked for.

    Attributes:
        option: of the command line.
        suffixes: of which its name must have one; empty when any name will do.
        of_one_method: whether the program must have one method, or one must be chosen.
        render: the content, from the file's path and the summaries; raises OnearenaError when
            the program cannot be read again, has not one method, or matplotlib is missing.
    """

    option: str
    suffixes: tuple[str, ...]
    of_one_method: bool
    render: Callable[[str, ProgramSummary, ProgramSummary | None], Content]


def the_method(summary: ProgramSummary, option: str) -> MethodSummary:
    """The only method.

    Raises:
        UsageError: there are several, or none.
    """
    if len(summary.methods) != 1:
        raise UsageError(
            f"{summary.path}: {option} needs --method NAME where there is not exactly one; "
            f"{methods_text(summary)}"
        )
    return summary.methods[0]


def methods_text(summary: ProgramSummary) -> str:
    """Which methods a program has, in words."""
    names = ", ".join(repr(method.name) for method in summary.methods)
    return f"it has {names}" if names else "it has no methods"


def _text(text: str) -> Content:
    # a path may hold bytes that are no text
    return Content(text.encode("utf-8", "backslashreplace"))


def _output(path: str, summary: ProgramSummary, other: ProgramSummary | None) -> Content:
    if path.lower().endswith(".md"):
        from onearena.report.summary_markdown import summary_markdown

        return _text(summary_markdown(summary, other))
    from onearena.report.html import html_report
    from onearena.report.totals import known_pools

    pools = known_pools(summary.path)
    other_pools = known_pools(other.path) if other else ()
    return _text(html_report(summary, other, pools=pools, other_pools=other_pools))


def _trace(_: str, summary: ProgramSummary, __: ProgramSummary | None) -> Content:
    from onearena.report.trace import trace_json

    return _text(trace_json(summary))


def _csv(_: str, summary: ProgramSummary, __: ProgramSummary | None) -> Content:
    from onearena.report.buffers_csv import buffers_csv

    return _text(buffers_csv(summary))


def _png(_: str, summary: ProgramSummary, __: ProgramSummary | None) -> Content:
    from onearena.report.arena_map import arena_map_png

    return Content(arena_map_png(summary, the_method(summary, "--png")))


def _svg(_: str, summary: ProgramSummary, __: ProgramSummary | None) -> Content:
    from onearena.report.arena_map import arena_map_svg

    return Content(arena_map_svg(summary, the_method(summary, "--svg")))


def _model_explorer(_: str, summary: ProgramSummary, __: ProgramSummary | None) -> Content:
    from onearena.report.model_explorer import node_data_json

    return _text(node_data_json(summary))


def _problem(path: str, summary: ProgramSummary, _: ProgramSummary | None) -> Content:
    from onearena.report.problem_file import problem_text

    method = the_method(summary, "--problem")
    text, lost = problem_text(summary.path, method.name, path.lower().endswith(".csv"))
    remark = f"{', '.join(lost)}; this makes it stricter, a .json is exact" if lost else ""
    return Content(text.encode(), remark)


FILE_KINDS: Mapping[str, FileKind] = {
    "output": FileKind("-o", (".html", ".htm", ".md"), False, _output),
    "trace": FileKind("--trace", (), False, _trace),
    "csv": FileKind("--csv", (), False, _csv),
    "png": FileKind("--png", (".png",), True, _png),
    "svg": FileKind("--svg", (".svg",), True, _svg),
    "model_explorer": FileKind("--model-explorer", (), False, _model_explorer),
    "problem": FileKind("--problem", (".csv", ".json"), True, _problem),
}
"""By the name of the command line's argument."""
