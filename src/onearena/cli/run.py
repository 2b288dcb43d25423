"""`onearena run model.pte [--input x.npy] [--repeat 10] [--memory]`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from onearena.cli.arguments import add_inputs, add_seed
from onearena.cli.output import Progress, print_json

if TYPE_CHECKING:
    from onearena.engine.trial import Trial


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "run",
        help="run a program on the native runtime",
        description="Runs a method of a program on onearena's own runtime, which uses the "
        "kernels and delegates of the installed ExecuTorch 1.5.1, and tells what came out and "
        "how much memory each pool took.",
    )
    parser.add_argument("program", help="the .pte file to run")
    parser.add_argument("--method", metavar="NAME", help="which method (default: forward)")
    add_inputs(parser)
    parser.add_argument(
        "--data", action="append", default=[], metavar="FILE", help="a .ptd file with weights"
    )
    parser.add_argument(
        "--repeat", type=int, default=1, metavar="N", help="how often (default: %(default)s)"
    )
    add_seed(parser)
    parser.add_argument(
        "--limit", type=int, metavar="BYTES", help="what the arena may have at the most"
    )
    parser.add_argument(
        "--planning",
        choices=("auto", "static", "shapes", "simple"),
        default="auto",
        help="the plan in the file, or one for the shapes of the inputs (default: %(default)s)",
    )
    parser.add_argument(
        "--unbounded", action="store_true", help="take inputs above the exported bounds"
    )
    parser.add_argument("--memory", action="store_true", help="print the memory of every pool")
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    progress = Progress(args.program, enabled=not args.json)
    progress("running")
    try:
        trial = _trial(args)
    finally:
        progress.close()
    if args.json:
        print_json(trial.to_json())
        return 0
    from onearena.engine.trial_text import trial_lines
    from onearena.report.plain import encodable

    print(encodable("\n".join(trial_lines(trial, memory=args.memory)), sys.stdout.encoding))
    return 0


def _trial(args: argparse.Namespace) -> Trial:
    from onearena.engine.trial import run_trial

    return run_trial(
        args.program,
        method=args.method,
        inputs=args.input,
        repeat=args.repeat,
        seed=args.seed,
        data_files=args.data,
        limit_bytes=args.limit,
        planning=args.planning,
        unbounded=args.unbounded,
    )
