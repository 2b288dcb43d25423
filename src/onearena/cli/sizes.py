"""`onearena sizes model.pte [--header sizes.h] [--target cortex-m55] [--runner]`."""

from __future__ import annotations

import argparse
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from onearena.cli.output import Progress, print_json

if TYPE_CHECKING:
    from onearena.sizes.results import ProgramPools
    from onearena.sizes.runner import RunnerLog
    from onearena.sizes.targets import Target


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "sizes",
        help="how large every pool must be, before the program is flashed or run",
        description="Computes from the file how large every pool must be that an application "
        "gives to the runtime, per method: method allocator, temp allocator, planned memory, "
        "inputs and outputs. What the file does not tell is unknown, and why is said. A program "
        "that was exported for a core whose kernels need less scratch is refused.",
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
    parser.add_argument(
        "--runner",
        action="store_true",
        help="print what Arm's runner for bare metal would log, instead of the pools",
    )
    parser.add_argument(
        "--against",
        metavar="BASE",
        help="with --runner: an earlier version of the program, put beside it",
    )
    parser.add_argument("--json", action="store_true", help="print the sizes as JSON")
    parser.set_defaults(run=run)


@dataclass(frozen=True)
class _Sizes:
    """The pools of a program, and the runner's logs of it and of the earlier version."""

    pools: ProgramPools
    logs: tuple[RunnerLog, ...]
    before: tuple[RunnerLog, ...]


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    from onearena.errors import UsageError
    from onearena.report.plain import encodable

    if args.against is not None and not args.runner:
        raise UsageError("--against goes with --runner")
    progress = Progress(args.program, enabled=not args.json)
    progress("reading")
    try:
        sizes = _sizes(args)
    finally:
        progress.close()
    if args.json:
        print_json({**sizes.pools.to_json(), "header": args.header, **_runner_json(args, sizes)})
        return 0
    print(encodable(_text(args, sizes), sys.stdout.encoding))
    return 0


def _text(args: argparse.Namespace, sizes: _Sizes) -> str:
    from onearena.report.plain import plain
    from onearena.report.runner_text import runner_text
    from onearena.report.sizes_text import sizes_text

    text = runner_text(sizes.logs, sizes.before) if args.runner else sizes_text(sizes.pools)
    return text if args.header is None else f"{text}\n\nwritten: {plain(args.header)}"


def _runner_json(args: argparse.Namespace, sizes: _Sizes) -> dict[str, Any]:
    if not args.runner:
        return {}
    found: dict[str, Any] = {"runner": [log.to_json() for log in sizes.logs]}
    if args.against is not None:
        found["runner_before"] = [log.to_json() for log in sizes.before]
    return found


def _sizes(args: argparse.Namespace) -> _Sizes:
    """Computes the sizes, and writes the header when there shall be one."""
    from onearena.problem_files.disk import target_path, write_bytes
    from onearena.report.sizes_header import sizes_header
    from onearena.sizes.targets import find_target

    target = find_target(args.target)
    header = None if args.header is None else target_path(args.header, [args.program])
    pools, logs = _read(args.program, target)
    before = () if args.against is None else _read(args.against, target)[1]
    if header is not None:
        write_bytes(sizes_header(pools, Path(args.header).name).encode(), header)
    return _Sizes(pools, logs, before)


def _read(path: str, target: Target) -> tuple[ProgramPools, tuple[RunnerLog, ...]]:
    from onearena.pte.reader import open_pte
    from onearena.sizes.program import checked_pools
    from onearena.sizes.runner import runner_logs

    with open_pte(path) as file:
        pools = checked_pools(file, target)
        return pools, runner_logs(file, pools.methods, target)
