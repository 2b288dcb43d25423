"""``onearena compare a.pte b.pte``: run both on the real runtime, compare bit for bit."""

from __future__ import annotations

import argparse
import math
from typing import TYPE_CHECKING

from onearena.cli.arguments import add_inputs, add_seed, add_timeout
from onearena.cli.output import Progress, print_json
from onearena.errors import UsageError

if TYPE_CHECKING:
    from onearena.runtime.compare import CompareReport, MethodResult
    from onearena.runtime.workspace import WorkspaceMeasurement

_DESCRIPTION = """\
Run two programs on the installed ExecuTorch runtime with the same inputs and compare their
outputs bit for bit; compare their latency and measure the XNNPACK workspace of both. Exit
code 0: every bit is equal, 1: something differs, 2: they could not be compared."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Adds the subcommand."""
    parser = subparsers.add_parser(
        "compare", help="run two programs and compare their outputs", description=_DESCRIPTION
    )
    parser.add_argument("a", metavar="A.pte", help="the reference")
    parser.add_argument("b", metavar="B.pte", help="the program to compare with it")
    parser.add_argument("--method", metavar="NAME", help="one method (default: all of them)")
    parser.add_argument(
        "--runs", type=int, default=5, metavar="N", help="runs per method (default: %(default)s)"
    )
    add_inputs(parser)
    add_seed(parser)
    parser.add_argument(
        "--no-measure", action="store_true", help="skip extra timed runs and the workspaces"
    )
    add_timeout(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    """Runs the subcommand; returns the exit code.

    Raises:
        OnearenaError: the programs could not be compared; exit code 2.
    """
    if not args.timeout > 0:
        raise UsageError(f"--timeout must be positive, it is {args.timeout:g}")
    progress = Progress("compare", enabled=not args.json)
    try:
        report = _compare(args, progress)
    finally:
        progress.close()
    if args.json:
        print_json(report.to_json())
    else:
        print("\n".join(render(report)))
    return 0 if report.bit_exact else 1


def _compare(args: argparse.Namespace, progress: Progress) -> CompareReport:
    from onearena.runtime.compare import compare

    return compare(
        args.a,
        args.b,
        method=args.method,
        runs=args.runs,
        inputs=args.input,
        seed=args.seed,
        measure=not args.no_measure,
        timeout_s=args.timeout,
        progress=progress,
    )


def render(report: CompareReport) -> list[str]:
    """The report as lines for people."""
    rows = [
        ("bit-exact", _exactness(report)),
        ("runs", _runs(report)),
        ("latency b/a", f"{report.latency_ratio_median:.3f}"),
    ]
    if len(report.methods) > 1:
        rows += [(f"  {method.name}", _method(method)) for method in report.methods]
    elif report.methods[0].first_difference:
        rows.append(("difference", report.methods[0].first_difference))
    for name, found in (("workspace a", report.workspace_a), ("workspace b", report.workspace_b)):
        if found is not None:
            rows.append((name, _workspace(found)))
    rows += [("note", note) for note in report.notes]
    width = max(len(name) for name, _ in rows)
    return [f"{name:{width}}  {text}" for name, text in rows]


def _exactness(report: CompareReport) -> str:
    if report.bit_exact:
        return "yes"
    difference = report.max_abs_diff
    if difference is None:
        return "no (types or shapes differ)"
    size = f"{difference:.6g}" if math.isfinite(difference) else "not a finite number"
    return f"no (largest difference: {size})"


def _runs(report: CompareReport) -> str:
    if len(report.methods) > 1:
        return f"{report.runs} per method, {len(report.methods)} methods"
    method = report.methods[0]
    sizes = f", {len(method.sizes)} sizes" if len(method.sizes) > 1 else ""
    return f"{report.runs}{sizes}{', state carried over' if method.is_stateful else ''}"


def _method(method: MethodResult) -> str:
    exact = "bit-exact" if method.bit_exact else f"different: {method.first_difference}"
    return f"{exact}, latency b/a {method.latency_ratio_median:.3f}"


def _workspace(found: WorkspaceMeasurement) -> str:
    if found.bytes is None:
        return f"not measured: {found.reason}"
    return f"{found.bytes:,} bytes"
