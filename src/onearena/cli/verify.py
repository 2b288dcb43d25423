"""`onearena verify model.pte`."""

from __future__ import annotations

import argparse
from typing import Any

from onearena.cli.output import Progress, print_json


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "verify",
        help="is the plan in this file safe? exit 1 with every violation named",
        description="Follows every byte through the program, inside XNNPACK calls too, and names "
        "each read that would see bytes it should not. Exit code 1 when there is any.",
    )
    parser.add_argument("program", help="the .pte file to read")
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from onearena.pipeline import verify
    from onearena.report.text import verify_text

    progress = Progress(args.program, enabled=not args.json)
    progress("verifying")
    try:
        report = verify(args.program)
    finally:
        progress.close()
    if args.json:
        print_json(report.to_json())
    else:
        print(verify_text(report))
    return 0 if report.safe else 1
