"""`onearena report model.pte -o report.html`."""

from __future__ import annotations

import argparse
import logging
import shutil
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from onearena.cli.output import Progress, print_json
from onearena.errors import UsageError

if TYPE_CHECKING:
    from onearena.report.files import Content, FileKind
    from onearena.sizes.results import ProgramPools
    from onearena.summary.model import ProgramSummary


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "report",
        help="show the memory of a program: as text, HTML, pictures, and files for other tools",
        description="Shows what a program's memory holds and when: which tensors and delegates, "
        "what sets the peak, what no plan for this order can undercut. Prints text unless files "
        "are asked for.",
    )
    parser.add_argument("program", help="the .pte file to read")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="the report as one HTML file, or as .md"
    )
    parser.add_argument("--compare", metavar="PTE", help="another program, to set beside the first")
    parser.add_argument("--method", metavar="NAME", help="only this method")
    parser.add_argument(
        "--trace", metavar="FILE", help="a trace for ui.perfetto.dev and chrome://tracing"
    )
    parser.add_argument("--csv", metavar="FILE", help="a table of all planned tensors")
    parser.add_argument(
        "--png", metavar="FILE", help="a map of the arenas of one method (needs matplotlib)"
    )
    parser.add_argument("--svg", metavar="FILE", help="the same as SVG (needs matplotlib)")
    parser.add_argument(
        "--model-explorer", metavar="FILE", help="bytes in use as node data for Model Explorer"
    )
    parser.add_argument(
        "--problem",
        metavar="FILE",
        help="the planning problem of one method for `onearena plan`, .csv (as MiniMalloc's, which "
        "knows no aliases: a stricter problem where there are some) or .json (exact)",
    )
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    progress = Progress(args.program, enabled=not args.json)
    try:
        _check_files(args)
        report = _read(args, progress)
        written = _write(args, report, progress)
    finally:
        progress.close()
    if args.json:
        _print_json(report, written)
    elif written:
        for path, remark in written.items():
            _print(f"written: {path}{f' ({remark})' if remark else ''}")
    else:
        _print_report(report)
    return 0


@dataclass(frozen=True)
class _Report:
    """What was read."""

    summary: ProgramSummary
    other: ProgramSummary | None

    @cached_property
    def pools(self) -> tuple[ProgramPools, ...]:
        """The pools of the first program."""
        return _pools(self.summary.path)

    @cached_property
    def other_pools(self) -> tuple[ProgramPools, ...]:
        """The pools of the second program."""
        return _pools(self.other.path) if self.other else ()


def _pools(path: str) -> tuple[ProgramPools, ...]:
    from onearena.report.totals import known_pools

    return known_pools(path)


# -- printing ---------------------------------------------------------------------------------


def _print(text: str) -> None:
    """A line that is safe for a terminal, also one whose encoding lacks a character."""
    from onearena.report.plain import encodable, plain

    print(encodable(plain(text), sys.stdout.encoding))


def _print_report(report: _Report) -> None:
    from onearena.report.bars import BLOCKS
    from onearena.report.plain import can_encode, encodable
    from onearena.report.summary_text import PIPE_COLUMNS, TextStyle, summary_text

    encoding = sys.stdout.encoding
    columns = shutil.get_terminal_size().columns if sys.stdout.isatty() else PIPE_COLUMNS
    style = TextStyle(columns, can_encode(BLOCKS, encoding))
    text = summary_text(
        report.summary, report.other, style, report.pools, other_pools=report.other_pools
    )
    print(encodable(text, encoding))


def _print_json(report: _Report, written: Iterable[str]) -> None:
    from onearena.report.summary_json import summary_json

    content = summary_json(
        report.summary, report.other, pools=report.pools, other_pools=report.other_pools
    )
    content["written"] = list(written)
    print_json(content)


# -- reading ----------------------------------------------------------------------------------


def _asked(args: argparse.Namespace) -> Iterator[tuple[str, FileKind]]:
    """The files that are asked for: path and kind."""
    from onearena.report.files import FILE_KINDS

    for name, kind in FILE_KINDS.items():
        path = getattr(args, name)
        if path is not None:
            yield path, kind


def _check_files(args: argparse.Namespace) -> None:
    """Says before the work that a file could not be written.

    Raises:
        UsageError: it could not.
    """
    from onearena.problem_files.disk import target_path

    inputs = [args.program] if args.compare is None else [args.program, args.compare]
    outputs: list[str] = []
    for path, kind in _asked(args):
        target_path(path, inputs, outputs)
        outputs.append(path)
        if kind.suffixes and not path.lower().endswith(kind.suffixes):
            raise UsageError(
                f"{path}: the file of {kind.option} must end with {_any(kind.suffixes)}"
            )
    if args.png is not None or args.svg is not None:
        from onearena.report.arena_map import require_matplotlib

        # where its cache is, is nothing that a user asked for
        logging.getLogger("matplotlib").setLevel(logging.ERROR)
        require_matplotlib()


def _any(words: Iterable[str]) -> str:
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def _read(args: argparse.Namespace, progress: Progress) -> _Report:
    from onearena.report.files import the_method
    from onearena.summary.build import summarize

    progress("reading")
    summary = _only(summarize(args.program), args.method)
    for _, kind in _asked(args):
        if kind.of_one_method:
            the_method(summary, kind.option)
    if args.compare is None:
        return _Report(summary, None)
    progress(f"reading {args.compare}")
    return _Report(summary, _only(summarize(args.compare), args.method))


def _only(summary: ProgramSummary, name: str | None) -> ProgramSummary:
    """The summary with this method alone.

    Raises:
        UsageError: there is none.
    """
    if name is None:
        return summary
    from onearena.report.files import methods_text

    method = summary.method(name)
    if method is None:
        raise UsageError(f"{summary.path}: has no method {name!r}; {methods_text(summary)}")
    return replace(summary, methods=(method,))


# -- writing ----------------------------------------------------------------------------------


def _write(args: argparse.Namespace, report: _Report, progress: Progress) -> dict[str, str]:
    """Renders everything before anything is written; returns remarks by path."""
    from onearena.problem_files.disk import target_path, write_bytes

    contents: dict[str, Content] = {}
    for path, kind in _asked(args):
        progress(f"making {path}")
        contents[path] = kind.render(path, report.summary, report.other)
    inputs = [args.program] if args.compare is None else [args.program, args.compare]
    for path, content in contents.items():
        write_bytes(content.data, target_path(path, inputs))
    return {path: content.remark for path, content in contents.items()}
