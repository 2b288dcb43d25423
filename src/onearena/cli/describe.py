"""`onearena describe model.pte -o described.pte`."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from onearena.cli.output import Progress, print_json


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "describe",
        help="put the analysis of a program into its file, for onearena's own runtime",
        description="Writes the program with a description of itself, under a named-data key "
        "that other runtimes do not look at. onearena's runtime loads such a file without "
        "analysing it, which is quicker, and from C++ without Python.",
    )
    parser.add_argument("program", help="the .pte file to describe; it stays as it is")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    from onearena.engine.embedding import embed_description
    from onearena.report.plain import plain

    progress = Progress(args.program, enabled=not args.json)
    progress("describing")
    try:
        size = embed_description(args.program, args.output)
    finally:
        progress.close()
    added = size - Path(args.program).stat().st_size
    if args.json:
        print_json({"output": args.output, "size_bytes": size, "added_bytes": added})
    else:
        print(f"{plain(args.output)}: {size:,} bytes, {added:,} more than {plain(args.program)}")
    return 0
