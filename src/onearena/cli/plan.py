"""`onearena plan problem.csv -o plan.csv`."""

from __future__ import annotations

import argparse
import re
import sys
import time
from dataclasses import replace
from fractions import Fraction
from typing import TYPE_CHECKING, Any

from onearena.cli.arguments import time_limit
from onearena.cli.output import Progress, print_json
from onearena.errors import InfeasibleError, PlanError, PlanTimeoutError, UsageError

if TYPE_CHECKING:
    from onearena.problem import Memory, Plan
    from onearena.problem_files import ProblemFile
    from onearena.report.plan_text import PlanReport

_MAX_THREADS = 1024
_MAX_BYTES = (1 << 63) - 2
_SIZE = re.compile(r"([0-9]{1,30}(?:\.[0-9]{1,30})?) ?([kmgt]?)(i?b)?", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_SEED_END = 1 << 64

Capacity = tuple[int | None, int]
"""An arena, None for the only one, and its bytes."""


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "plan",
        help="give the buffers of a .csv or .json problem their offsets",
        description="Gives every buffer of a problem an offset so that buffers that are alive at "
        "once do not overlap and the arena is small, and says how small it could be at best. "
        "The plan is verified before it is written. Exit code 1: there is no plan, or none was "
        "found in time.",
    )
    parser.add_argument("problem", help="the problem, .csv (as MiniMalloc's) or .json")
    parser.add_argument("-o", "--output", metavar="FILE", help="the plan, .csv or .json")
    parser.add_argument(
        "--capacity",
        type=_capacity,
        action="append",
        default=[],
        metavar="BYTES",
        help="stop at the first plan that fits into so much, such as 65536, 512K or 1.5MiB; with "
        "several arenas ARENA=BYTES, repeated (default: make the arena as small as possible)",
    )
    parser.add_argument(
        "--time-limit",
        type=time_limit,
        default=1.0,
        metavar="S",
        help="seconds to search for (default %(default)g)",
    )
    parser.add_argument(
        "--threads", type=_integer(1, _MAX_THREADS), default=1, metavar="N", help="default 1"
    )
    parser.add_argument(
        "--seed",
        type=_integer(0, _SEED_END - 1),
        default=0,
        metavar="N",
        help="of what is random in the search (default 0)",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    parser.add_argument("--png", metavar="FILE", help="also draw the plan (needs Pillow)")
    parser.set_defaults(run=run)


def _integer(low: int, high: int) -> Any:
    def parse(text: str) -> int:
        value = int(text) if re.fullmatch("[0-9]{1,20}", text) else -1
        if not low <= value <= high:
            raise argparse.ArgumentTypeError(f"{text!r} is not an integer from {low} to {high}")
        return value

    return parse


def _capacity(text: str) -> Capacity:
    arena, equals, size = text.rpartition("=")
    if equals:
        number: int = _integer(0, _MAX_BYTES)(arena)
        return number, parse_size(size)
    return None, parse_size(size)


def parse_size(text: str) -> int:
    """Bytes from a text such as 65536, 512K, 1.5MiB (powers of 1024) or 2MB (powers of 1000).

    Raises:
        argparse.ArgumentTypeError: it is none.
    """
    found = _SIZE.fullmatch(text)
    if not found:
        raise argparse.ArgumentTypeError(f"{text!r} is not a size such as 65536, 512K or 1MiB")
    number, prefix, unit = found[1], found[2].lower(), (found[3] or "").lower()
    base = 1000 if unit == "b" else 1024
    size = Fraction(number) * base ** _POWERS[prefix]
    if size.denominator != 1 or (unit == "ib" and not prefix):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of bytes")
    if size > _MAX_BYTES:
        raise argparse.ArgumentTypeError(f"{text!r} is more than 64 bits can address")
    return int(size)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    progress = Progress(args.problem, enabled=not args.json)
    try:
        report = _plan(args, progress)
    finally:
        progress.close()
    if args.json:
        print_json(report.to_json())
    else:
        _print_text(report)
    return 0 if report.plan is not None else 1


def _print_text(report: PlanReport) -> None:
    """Ids may hold any character, also such as the terminal's encoding lacks."""
    from onearena.report.plan_text import plan_text

    encoding = sys.stdout.encoding or "utf-8"
    print(plan_text(report).encode(encoding, "backslashreplace").decode(encoding))


def _plan(args: argparse.Namespace, progress: Progress) -> PlanReport:
    from onearena.problem_files import read_problem
    from onearena.report.plan_text import PlanReport

    progress("reading")
    file = read_problem(args.problem)
    _check_targets(args, file)
    file = replace(file, memories=_memories(file, args.capacity))
    progress(f"planning {len(file.problem.buffers):,} buffers, at most {args.time_limit:g} s")
    start = time.perf_counter()
    plan, infeasible = _search(args, file)
    seconds = time.perf_counter() - start
    written: tuple[str, ...] = ()
    if plan is not None:
        progress("verifying and writing")
        written = _finish(args, file, plan)
    return PlanReport(
        args.problem,
        file.problem,
        file.memories,
        plan,
        infeasible,
        seconds,
        args.time_limit,
        written,
    )


def _check_targets(args: argparse.Namespace, file: ProblemFile) -> None:
    """Says before a long search that its result could not be written."""
    from onearena.problem_files.disk import target_path
    from onearena.problem_files.store import check_output_format
    from onearena.report.picture import require_pillow

    if args.output is not None:
        target_path(args.output, [args.problem])
        check_output_format(args.output, file.problem, file.table is None)
    if args.png is not None:
        target_path(args.png, [args.problem], [] if args.output is None else [args.output])
        if not args.png.lower().endswith(".png"):
            raise UsageError(f"{args.png}: the name of a picture must end with .png")
        require_pillow()


def _memories(file: ProblemFile, capacities: list[Capacity]) -> tuple[Memory, ...]:
    """The memories with the capacities of the command line.

    Raises:
        UsageError: a capacity is for no arena of the problem, or for several.
    """
    from onearena.problem import Memory

    memories = {memory.arena: memory for memory in file.memories}
    arenas = sorted({*file.problem.arenas, *memories}) or [0]
    given: set[int] = set()
    for named, size in capacities:
        if named is None and len(arenas) > 1:
            raise UsageError(
                f"{file.path}: has several arenas ({', '.join(map(str, arenas))}): "
                "--capacity ARENA=BYTES"
            )
        arena = named if named is not None else arenas[0]
        if named is not None and named not in arenas:
            raise UsageError(f"{file.path}: has no arena {named}")
        if arena in given:
            raise UsageError(f"--capacity names arena {arena} twice")
        given.add(arena)
        memories[arena] = replace(memories.get(arena, Memory(arena)), capacity_bytes=size)
    return tuple(memories[arena] for arena in sorted(memories))


def _search(
    args: argparse.Namespace, file: ProblemFile
) -> tuple[Plan | None, InfeasibleError | None]:
    from onearena.planners import native

    try:
        plan = native.plan(
            file.problem,
            time_limit_s=args.time_limit,
            threads=args.threads,
            seed=args.seed,
            memories=file.memories,
            fit_only=bool(args.capacity),
        )
    except InfeasibleError as error:
        return None, error
    except PlanTimeoutError:
        return None, None
    except PlanError as error:
        raise PlanError(f"{args.problem}: {error}") from None
    return plan, None


def _finish(args: argparse.Namespace, file: ProblemFile, plan: Plan) -> tuple[str, ...]:
    """Verifies the plan, and writes what was asked for; returns the paths."""
    from onearena.problem_files import check_plan
    from onearena.problem_files.disk import target_path, write_bytes
    from onearena.problem_files.store import plan_content
    from onearena.report.picture import draw_png

    check_plan(file.problem, plan, file.memories)
    contents: dict[str, bytes] = {}
    if args.output is not None:
        contents[args.output] = plan_content(args.output, plan, file).encode()
    if args.png is not None:
        contents[args.png] = draw_png(file.problem, plan)
    for path, data in contents.items():
        write_bytes(data, target_path(path, [args.problem]))
    return tuple(contents)
