"""`onearena explain model.pte`."""

from __future__ import annotations

import argparse
from typing import Any

from onearena.cli.arguments import add_time_limit
from onearena.cli.output import Progress, print_json
from onearena.options import Options


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "explain",
        help="say what sets the peak, and what would lower it by how much",
        description="Says in plain words what sets the peak of every method, and what would lower "
        "it. Every saving is computed by planning the changed program. Nothing is written.",
    )
    parser.add_argument("program", help="the .pte file to read")
    parser.add_argument("--method", metavar="NAME", help="only this method")
    parser.add_argument(
        "--shape",
        metavar="NAME=1x3x64x64",
        action="append",
        default=[],
        help="the shape of a dynamic input; shows what the bound costs there",
    )
    add_time_limit(parser, Options.time_limit_s)
    parser.add_argument("--json", action="store_true", help="print the answers as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from onearena.advice.explain import explain
    from onearena.report.explain_json import explain_json
    from onearena.report.explain_text import explain_text

    progress = Progress(args.program, enabled=not args.json)
    try:
        options = Options(time_limit_s=args.time_limit, strips=False)
        found = explain(args.program, options, progress, method=args.method, shapes=args.shape)
    finally:
        progress.close()
    if args.json:
        print_json(explain_json(found))
    else:
        print(explain_text(found))
    return 0
