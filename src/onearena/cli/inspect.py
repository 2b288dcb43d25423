"""`onearena inspect model.pte`."""

from __future__ import annotations

import argparse
from typing import Any

from onearena.cli.output import Progress, print_json


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "inspect",
        help="show what lives where and what sets the peak, per method",
        description="Shows what a program needs at run time, what sets the peak, and what no plan "
        "of its arena, with the delegate calls as they stand, can undercut. Nothing is written.",
    )
    parser.add_argument("program", help="the .pte file to read")
    parser.add_argument(
        "--measure",
        action="store_true",
        help="also run every method once on the installed ExecuTorch and measure its workspace",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from onearena.pipeline import inspect
    from onearena.report.text import program_text

    progress = Progress(args.program, enabled=not args.json)
    progress("reading")
    try:
        report = inspect(args.program, args.measure)
    finally:
        progress.close()
    if args.json:
        print_json(report.to_json())
    else:
        print(program_text(report))
    return 0
