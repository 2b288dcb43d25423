"""`onearena optimize model.pte -o small.pte`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onearena.cli.arguments import add_time_limit
from onearena.cli.output import Progress, print_json
from onearena.errors import ExecutionError, RuntimeUnavailableError
from onearena.options import ARENA_BASES, Options, Pointers

if TYPE_CHECKING:
    from onearena.results import ProgramReport


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
        "--no-join-in-place",
        action="store_true",
        help="never let the result of a concatenation or slice lie where its operands are",
    )
    parser.add_argument(
        "--no-rematerialise",
        action="store_true",
        help="never run a cheap kernel once more instead of keeping its result",
    )
    parser.add_argument(
        "--transient-indirection",
        choices=[choice.value for choice in Pointers],
        default=Options.transient_indirection.value,
        help="whether convolutions make their tables of pointers in each run and keep none on the "
        "heap: most of the heap that a first run takes, for up to 5%% of the time when all do "
        "(default: %(default)s, those where it costs next to nothing)",
    )
    parser.add_argument(
        "--max-latency",
        type=float,
        metavar="RATIO",
        help="how much longer a run may take for the sake of memory (default: "
        f"{Options.max_latency:g}; 1 for no rows computed twice)",
    )
    parser.add_argument(
        "--measure-latency",
        action=argparse.BooleanOptionalAction,
        default=None,
        help="run the result beside the original on the installed ExecuTorch, and undo what makes "
        "it too slow or changes a bit (default: when --max-latency is given and ExecuTorch is "
        "there; else --max-latency is by a model of the work)",
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
    parser.add_argument(
        "--arena-base",
        type=int,
        choices=ARENA_BASES,
        help="address of an arena on the target, modulo 64 (a multiple of 16), so that large "
        "tensors begin at cache lines (default: 16 for arenas of 128 KiB and more, what glibc's "
        "malloc gives; else 0)",
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
        join_in_place=not args.no_join_in_place,
        rematerialise=not args.no_rematerialise,
        transient_indirection=Pointers(args.transient_indirection),
        max_latency=Options.max_latency if args.max_latency is None else args.max_latency,
        measure_latency=bool(args.measure_latency),
        arena_base=args.arena_base,
    )
    try:
        page = _page(args)
        report = _optimized(args, options, progress)
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


def _optimized(args: argparse.Namespace, options: Options, progress: Progress) -> ProgramReport:
    """With `--max-latency` alone, measures where that is possible, and says it where it is not."""
    from onearena.pipeline import optimize

    applies = not options.target and options.memory_map is None
    if args.max_latency is None or args.measure_latency is not None or not applies:
        return optimize(args.program, args.output, options, progress)
    try:
        measuring = replace(options, measure_latency=True)
        return optimize(args.program, args.output, measuring, progress)
    except (RuntimeUnavailableError, ExecutionError) as error:
        report = optimize(args.program, args.output, options, progress)
        note = f"--max-latency is by a model of the work; it could not be measured: {error}"
        return replace(report, notes=(*report.notes, note))


def _page(args: argparse.Namespace) -> Path | None:
    """Where the page goes: what cannot be written is said before the work.

    Raises:
        UsageError: it cannot be written.
    """
    if args.report is None:
        return None
    from onearena.report.compared_page import page_path

    return page_path(args.report, args.program, args.output)
