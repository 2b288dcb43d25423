"""Measures the planner: ``python -m benchmarks.planner``, or ``make bench-planner``.

Writes ``results.md`` and ``results.json`` beside this file. The exit code is 1 if a goal was not
met.
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from onearena import __version__

from ..goals import Goal
from .families import TEST_ONLY, TUNE
from .instances import published
from .measuring import FULL, QUICK, Bench, Budget, generated
from .page import render
from .records import Results
from .replanning import build, measure
from .verdicts import check

HERE = Path(__file__).resolve().parent
SETS = ("fit", "challenging", "plans", "traces", "families", "replan")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    options = _options(arguments)
    budget = QUICK if options.quick else FULL
    start = time.perf_counter()
    results = _measure(options, budget, TUNE if options.tune else TEST_ONLY)
    goals = check(results)
    page = render(results, goals, _about(options, time.perf_counter() - start))
    is_whole = set(options.sets) == set(SETS) and not options.tune and not options.alone
    out = options.out or (HERE if is_whole else None)
    if out is not None:
        out.mkdir(parents=True, exist_ok=True)
        (out / "results.md").write_text(page, encoding="utf-8")
        _write_json(out / "results.json", results, goals)
    print(page)
    return 0 if all(goal.is_met for goal in goals) else 1


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.planner",
        description="Measure the planner against goals, OmniMalloc and OR-tools CP-SAT.",
    )
    parser.add_argument("--quick", action="store_true", help="fewer instances and less time")
    parser.add_argument("--sets", nargs="+", choices=SETS, default=SETS, metavar="SET")
    parser.add_argument("--tune", action="store_true", help="the families' seeds for tuning")
    parser.add_argument("--alone", action="store_true", help="no other planners")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="for results.md and results.json (default: here, if nothing was left out)",
    )
    parser.add_argument("--build", type=Path, metavar="DIR", help="keep the C++ build there")
    return parser.parse_args(arguments)


def _measure(options: argparse.Namespace, budget: Budget, seeds: Sequence[int]) -> Results:
    results = Results()
    with Bench(_say, rivals=not options.alone) as bench:
        if "fit" in options.sets:
            results.fits = bench.fits(budget)
        if "challenging" in options.sets:
            rows = bench.rows(published("minimalloc"), budget.minimise_s)
            results.sections["challenging"] = rows
        if "plans" in options.sets:
            results.sections["plans"] = bench.rows(published("plans"), budget.plans_s)
        if "traces" in options.sets:
            results.sections["traces"] = [
                row
                for instance in published("idealloc")
                for limit_s in budget.traces_s
                for row in bench.rows([instance], limit_s)
            ]
        if "families" in options.sets:
            rows = bench.rows(generated(budget, seeds), budget.families_s)
            results.sections["families"] = rows
    if "replan" in options.sets:
        with tempfile.TemporaryDirectory() as scratch:
            program = build((options.build or Path(scratch)).absolute())
            results.replans = measure(program, seeds[: budget.replan_seeds])
    return results


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _write_json(path: Path, results: Results, goals: Sequence[Goal]) -> None:
    content = {**asdict(results), "goals": [asdict(goal) for goal in goals]}
    path.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _about(options: argparse.Namespace, seconds: float) -> list[str]:
    command = "make bench-planner" + " BENCH_FLAGS=--quick" * options.quick
    rivals = () if options.alone else ("omnimalloc", "ortools")
    versions = [f"onearena {__version__}", *(f"{name} {version(name)}" for name in rivals)]
    versions += [f"Python {platform.python_version()}", _processor()]
    return [
        f"Written by `{command}` on {datetime.now(UTC):%Y-%m-%d} in "
        f"{seconds / 60:.0f} minutes: {', '.join(versions)}.",
        "Every planner has one thread on one core and the same time limit; every plan is checked "
        "by code that shares nothing with the planners. Times are of planning alone, the median "
        "of up to 5 runs where they are short; bringing a problem into a planner's form is not "
        "in them. A gap is (height - bound) / bound, the bound being the load unless a better "
        "one is known.",
        "OmniMalloc is the best plan of SuperMalloc, its greedy portfolio and, where those are "
        "not at the bound, its tabu search, each of them with all the time. CP-SAT is asked "
        "for a plan at the load for half of the time, then it minimises, starting from a greedy "
        "plan. ExecuTorch is its greedy planner written anew, which knows no time limit. "
        "MiniMalloc itself is not run: it is on no package index.",
    ]


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


if __name__ == "__main__":
    sys.exit(main())
