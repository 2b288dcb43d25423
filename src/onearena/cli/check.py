"""`onearena check model.pte --budget arena=2MB`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from onearena.cli.output import Progress, print_json
from onearena.errors import UsageError

if TYPE_CHECKING:
    from onearena.checking.config import Config
    from onearena.checking.sizes import Growth
    from onearena.checking.verdict import Rules, Verdict
    from onearena.sizes.targets import Target

_STDOUT = "-"
_DESCRIPTION = """\
Holds programs against their memory budgets and against an earlier version of themselves. Exit
code 0: within all limits, 1: over one, or not known, 2: it could not be checked."""


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "check",
        help="is the program within its memory budget? exit 1 with the reason",
        description=_DESCRIPTION,
    )
    parser.add_argument("programs", nargs="+", metavar="program", help="the .pte files to check")
    parser.add_argument(
        "--budget",
        action="append",
        default=[],
        metavar="WHAT=SIZE,...",
        help="limits such as arena=2MB,total=3MiB or METHOD:arena.1=64kB; of arena, arena.N, "
        "workspace, total, state, indirection, method_allocator, file, constants",
    )
    parser.add_argument(
        "--config", metavar="FILE", help="more budgets, a TOML file; --budget wins over it"
    )
    parser.add_argument(
        "--against",
        action="append",
        default=[],
        metavar="BASE",
        help="the earlier .pte; for several programs repeat it, or name a directory that holds "
        "them under the same paths",
    )
    parser.add_argument(
        "--max-growth",
        metavar="SIZE",
        help="how much more than BASE is accepted, such as 1%% or 64kB (default 0)",
    )
    parser.add_argument(
        "--allow-unknown", action="store_true", help="what is not known passes, with a warning"
    )
    parser.add_argument(
        "--target",
        default="host64",
        metavar="NAME",
        help="machine for which method_allocator is computed (default %(default)s)",
    )
    parser.add_argument(
        "--markdown",
        nargs="?",
        const=_STDOUT,
        metavar="FILE",
        help="Markdown for a comment on a pull request, to FILE or instead of the text",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    if args.json and args.markdown == _STDOUT:
        raise UsageError("--json and --markdown both print to standard output: give a FILE")
    _check_markdown_path(args)
    progress = Progress("check", enabled=not args.json)
    try:
        verdicts = _verdicts(args, progress)
    finally:
        progress.close()
    _report(args, verdicts)
    return 0 if all(verdict.passes for verdict in verdicts) else 1


def _check_markdown_path(args: argparse.Namespace) -> None:
    """`check --markdown model.pte` must not replace the model."""
    from onearena.problem_files.disk import target_path

    if args.markdown in (None, _STDOUT):
        return
    if args.markdown.lower().endswith(".pte"):
        raise UsageError(f"--markdown {args.markdown}: would replace a program; write it last")
    read = [*args.programs, *args.against, *([args.config] if args.config else [])]
    target_path(args.markdown, read)


def _verdicts(args: argparse.Namespace, progress: Progress) -> list[Verdict]:
    from onearena.checking.budget import METHOD_ALLOCATOR, parse_budgets
    from onearena.checking.config import read_config
    from onearena.checking.load import base_paths, load_sizes
    from onearena.checking.verdict import Rules, evaluate
    from onearena.sizes.targets import find_target

    budgets = parse_budgets(args.budget)
    config = read_config(args.config) if args.config is not None else None
    growth = _growth(args)
    if not budgets and config is None and not args.against:
        raise UsageError("nothing to check: give --budget, --config or --against")
    target = find_target(args.target)
    verdicts = []
    for path, base in zip(args.programs, base_paths(args.programs, args.against), strict=True):
        progress(path)
        limits = {**(config.budgets_for(path) if config is not None else {}), **budgets}
        asked = {quantity for _, quantity in limits}
        needed: Target | None = target if METHOD_ALLOCATOR in asked else None
        after = load_sizes(path, needed)
        before = load_sizes(base, needed) if base is not None else None
        rules = Rules(limits, growth, args.allow_unknown)
        verdicts.append(evaluate(after, rules, before, _notes(args, config, rules, base)))
    return verdicts


def _growth(args: argparse.Namespace) -> Growth:
    from onearena.checking.sizes import NO_GROWTH, parse_growth

    if args.max_growth is None:
        return NO_GROWTH
    if not args.against:
        raise UsageError("--max-growth needs --against BASE")
    return parse_growth(args.max_growth)


def _notes(
    args: argparse.Namespace, config: Config | None, rules: Rules, base: str | None
) -> list[str]:
    notes = []
    if args.against and base is None:
        notes.append("new: there is no base to compare it with")
    if config is not None and not rules.budgets:
        notes.append(f"no budget of {config.path} applies to it")
    return notes


def _report(args: argparse.Namespace, verdicts: list[Verdict]) -> None:
    from onearena.problem_files.disk import target_path, write_bytes
    from onearena.report.check_markdown import check_markdown
    from onearena.report.check_text import SIGNS, check_json, check_text
    from onearena.report.plain import can_encode

    if args.markdown not in (None, _STDOUT):
        write_bytes(check_markdown(verdicts).encode(), target_path(args.markdown))
    if args.json:
        print_json(check_json(verdicts))
    elif args.markdown == _STDOUT:
        _print(check_markdown(verdicts))
    else:
        _print(check_text(verdicts, can_encode(SIGNS, sys.stdout.encoding)))


def _print(text: str) -> None:
    """Names may hold characters that the terminal's encoding lacks."""
    from onearena.report.plain import encodable

    print(encodable(text.rstrip("\n"), sys.stdout.encoding))
