"""`onearena simulate model.pte [--inputs 5] [--seed 0] [--method NAME]`."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from onearena.cli.output import Progress, print_json


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "simulate",
        help="run a program in one poisoned arena: does anything overwrite what is needed?",
        description="Runs the instructions of a program without delegates on the host, every "
        "tensor exactly where the plan puts it, everything else full of random bytes, and "
        "compares what is read with a run in which every tensor has memory of its own. Exit "
        "code 1 names what overwrote which bytes.",
    )
    parser.add_argument("program", help="the .pte file to run")
    parser.add_argument("--method", metavar="NAME", help="one method (default: all of them)")
    parser.add_argument(
        "--inputs",
        type=int,
        default=5,
        metavar="N",
        help="how many sets of random inputs (default: %(default)s)",
    )
    parser.add_argument(
        "--seed",
        type=int,
        default=0,
        metavar="N",
        help="of the inputs and of the random bytes (default: %(default)s)",
    )
    parser.add_argument(
        "--original",
        metavar="FILE",
        help="the program as it was exported: its offsets tell what is a view of what (default: "
        "onearena's record in the program, or its own offsets)",
    )
    parser.add_argument(
        "--target",
        metavar="NAME",
        help="cortex-m0 to cortex-m85: kernels use the scratch that they need there (default: "
        "what the program gives them)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    from onearena.report.plain import encodable
    from onearena.simulator.simulate import simulate
    from onearena.simulator.text import simulation_text

    progress = Progress(args.program, enabled=not args.json)
    progress("simulating")
    try:
        report = simulate(
            args.program,
            method=args.method,
            inputs=args.inputs,
            seed=args.seed,
            original=args.original,
            target=args.target,
            progress=progress,
        )
    finally:
        progress.close()
    if args.json:
        print_json(report.to_json())
    else:
        print(encodable(simulation_text(report), sys.stdout.encoding))
    return 0 if report.safe else 1
