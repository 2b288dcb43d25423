"""`onearena bundle model.pte -o model.bpte [--reference original.pte]`."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING, Any

from onearena.cli.arguments import add_inputs, add_seed, add_timeout
from onearena.cli.output import Progress, print_json
from onearena.errors import UsageError

if TYPE_CHECKING:
    from onearena.bundling.results import BundleReport

_DEFAULT_RUNS = 2
_DESCRIPTION = """\
Writes a bundled program: the program, test inputs, and the outputs that the installed ExecuTorch
computes for them. ExecuTorch's runtime on a phone or a board runs it and compares
(docs/bundle.md). Exit code 1: the program does not do what the reference does; nothing is
written."""


def add_parser(subparsers: Any) -> None:
    """Adds the command to the parser."""
    parser = subparsers.add_parser(
        "bundle",
        help="put test inputs and expected outputs beside a program, for a check on a device",
        description=_DESCRIPTION,
    )
    parser.add_argument("program", help="the .pte file (with --extract: the .bpte file)")
    parser.add_argument("-o", "--output", required=True, metavar="FILE", help="the file to write")
    parser.add_argument(
        "--reference",
        metavar="FILE",
        help="the program that computes the expected outputs, such as the one before `optimize` "
        "(default: the program itself)",
    )
    parser.add_argument("--method", metavar="NAME", help="one method (default: all of them)")
    parser.add_argument(
        "--runs",
        type=int,
        metavar="N",
        help=f"test cases per method (default: {_DEFAULT_RUNS})",
    )
    add_inputs(parser)
    add_seed(parser)
    add_timeout(parser)
    parser.add_argument(
        "--extract", action="store_true", help="write the program in a bundle to a file of its own"
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the command; returns the exit code.

    Raises:
        OnearenaError: exit code 2.
    """
    if args.extract:
        return _extract(args)
    if not args.timeout > 0:
        raise UsageError(f"--timeout must be positive, it is {args.timeout:g}")
    if args.input and args.runs not in (None, 1):
        raise UsageError("--input makes one test case: it does not go with --runs")
    from onearena.bundling.bundle import bundle
    from onearena.bundling.results import NotReproducedError
    from onearena.report.plain import plain

    progress = Progress(args.program, enabled=not args.json)
    try:
        report = bundle(
            args.program,
            args.output,
            reference=args.reference,
            method=args.method,
            runs=_DEFAULT_RUNS if args.runs is None else args.runs,
            inputs=args.input,
            seed=args.seed,
            timeout_s=args.timeout,
            progress=progress,
        )
    except NotReproducedError as error:
        progress.close()
        print(f"onearena: {plain(str(error))}", file=sys.stderr)
        if args.json:
            print_json({"output": None, "reason": str(error)})
        return 1
    finally:
        progress.close()
    if args.json:
        print_json(report.to_json())
    else:
        print("\n".join(plain(line) for line in render(report)))
    return 0


def _extract(args: argparse.Namespace) -> int:
    from onearena.bundling.file import extract
    from onearena.report.plain import plain

    if args.reference or args.method or args.input or args.runs is not None:
        raise UsageError("--extract goes with -o only")
    size = extract(args.program, args.output)
    if args.json:
        print_json({"path": args.program, "output": args.output, "size_bytes": size})
    else:
        print(f"{plain(args.output)}: {size:,} bytes")
    return 0


def render(report: BundleReport) -> list[str]:
    """The report as lines for people."""
    added = report.size_bytes - report.program_bytes
    lines = [f"{report.output}: {report.size_bytes:,} bytes, {added:,} of them tests"]
    for method in report.methods:
        cases = f"{method.cases} case{'s' if method.cases != 1 else ''}"
        lines.append(
            f"  method {method.name}: {cases} of {_count(method.inputs, 'input')} and "
            f"{_count(method.outputs, 'output')}"
        )
    lines += [f"  method {name}: no test ({reason})" for name, reason in report.skipped]
    judge = report.reference or "the program itself"
    lines.append(f"  expected outputs: {judge}, on {report.runtime}; confirmed there")
    lines += [f"  note: {note}" for note in report.notes]
    return lines


def _count(number: int, what: str) -> str:
    return f"{number} {what}{'s' if number != 1 else ''}"
