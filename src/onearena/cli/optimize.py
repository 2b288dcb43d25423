"""`onearena optimize model.pte -o small.pte`."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import Any

from onearena.cli.arguments import add_time_limit
from onearena.cli.output import Progress, print_json
from onearena.options import Options


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "optimize",
        help="plan a program and its XNNPACK delegates in one arena, write the result",
        description="Plans a program and its XNNPACK delegates in one arena, verifies the plan and "
        "writes a program that the stock runtime runs bit for bit the same. The input file is "
        "never touched.",
    )
    parser.add_argument("program", help="the .pte file to read")
    parser.add_argument("-o", "--output", required=True, help="the .pte file to write")
    parser.add_argument(
        "--closed", action="store_true", help="plan the arenas only, leave the delegates closed"
    )
    parser.add_argument(
        "--keep-order", action="store_true", help="leave kernels and nodes in their order"
    )
    parser.add_argument(
        "--no-strips",
        action="store_true",
        help="never run parts of a delegate call in strips of rows",
    )
    parser.add_argument(
        "--no-simplify",
        action="store_true",
        help="keep copies, transposes and paddings inside delegate calls that change nothing",
    )
    parser.add_argument(
        "--no-in-place",
        action="store_true",
        help="never let a kernel write over one of its operands",
    )
    parser.add_argument(
        "--transient-indirection",
        action="store_true",
        help="convolutions make their tables of pointers in each run and keep none on the heap: "
        "most of the heap that a first run takes, for up to 5%% of the time",
    )
    parser.add_argument(
        "--max-latency",
        type=float,
        default=Options.max_latency,
        metavar="RATIO",
        help="how much longer a run may take for the sake of memory, by a model of the work "
        "(default: %(default)s; 1 for no rows computed twice)",
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        help="cortex-m0 to cortex-m85: refuse a program whose kernels need more there than it "
        "gives them",
    )
    parser.add_argument(
        "--memory",
        metavar="MAP",
        help="name:capacity:memory_id[:cost] of every region, with commas between, the fastest "
        "first, such as dtcm:64K:1,sram:512K:2: plan into these memories, what is accessed most "
        "into the fastest",
    )
    add_time_limit(parser, Options.time_limit_s)
    parser.add_argument(
        "--report", metavar="HTML", help="also write a report of the memory before and after"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command."""
    from onearena.memory_map import parse_memory_map
    from onearena.memory_map.misfit import DoesNotFitError
    from onearena.pipeline import optimize
    from onearena.report.compared_page import write_compared
    from onearena.report.plain import plain
    from onearena.report.text import program_text

    memory_map = None if args.memory is None else parse_memory_map(args.memory)
    progress = Progress(args.program, enabled=not args.json)
    options = Options(
        open_delegates=not args.closed,
        reorder=not args.keep_order,
        time_limit_s=args.time_limit,
        target=args.target,
        memory_map=memory_map,
        strips=not args.no_strips,
        simplify=not args.no_simplify,
        in_place_kernels=not args.no_in_place,
        transient_indirection=args.transient_indirection,
        max_latency=args.max_latency,
    )
    try:
        page = _page(args)
        report = optimize(args.program, args.output, options, progress)
        if page is not None:
            progress("reporting")
            write_compared(args.program, args.output, page)
    except DoesNotFitError as error:
        progress.close()
        print(f"onearena: {plain(str(error))}", file=sys.stderr)
        if args.json:
            print_json(error.misfit.to_json())
        return 1
    finally:
        progress.close()
    if args.json:
        print_json(report.to_json())
    else:
        print(program_text(report))
    return 0


def _page(args: argparse.Namespace) -> Path | None:
    """Where the page goes: what cannot be written is said before the work.

    Raises:
        UsageError: it cannot be written.
    """
    if args.report is None:
        return None
    from onearena.report.compared_page import page_path

    return page_path(args.report, args.program, args.output)
