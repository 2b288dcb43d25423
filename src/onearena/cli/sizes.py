"""`onearena sizes model.pte [--header sizes.h] [--target cortex-m55]`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onearena.cli.output import Progress, print_json

if TYPE_CHECKING:
    from onearena.sizes.results import ProgramPools


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "sizes",
        help="how large every pool must be, before the program is flashed or run",
        description="Computes from the file how large every pool must be that an application "
        "gives to the runtime, per method: method allocator, temp allocator, planned memory, "
        "inputs and outputs. What the file does not tell is unknown, and why is said.",
    )
    parser.add_argument("program", help="the .pte file to read")
    parser.add_argument(
        "--target",
        default="host64",
        metavar="NAME",
        help="what it will run on: host64 (default), or cortex-m0 to cortex-m85",
    )
    parser.add_argument(
        "--header", metavar="FILE", help="also write the sizes as a header for C and C++"
    )
    parser.add_argument("--json", action="store_true", help="print the sizes as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    from onearena.report.plain import encodable, plain
    from onearena.report.sizes_text import sizes_text

    progress = Progress(args.program, enabled=not args.json)
    progress("reading")
    try:
        pools = _pools(args)
    finally:
        progress.close()
    if args.json:
        print_json({**pools.to_json(), "header": args.header})
        return 0
    text = sizes_text(pools)
    if args.header is not None:
        text += f"\n\nwritten: {plain(args.header)}"
    print(encodable(text, sys.stdout.encoding))
    return 0


def _pools(args: argparse.Namespace) -> ProgramPools:
    """Computes the pools, and writes the header when there shall be one."""
    from onearena.problem_files.disk import target_path, write_bytes
    from onearena.pte.reader import open_pte
    from onearena.report.sizes_header import sizes_header
    from onearena.sizes.pools import program_pools
    from onearena.sizes.targets import find_target

    target = find_target(args.target)
    header = None if args.header is None else target_path(args.header, [args.program])
    with open_pte(args.program) as file:
        pools = program_pools(file, target)
    if header is not None:
        write_bytes(sizes_header(pools, Path(args.header).name).encode(), header)
    return pools
