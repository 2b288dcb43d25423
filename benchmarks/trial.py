"""Measures a program before and after on the ExecuTorch installed here.

``python -m benchmarks.trial NAME STOCK.pte OPTIMIZED.pte EXAMPLE.npz --out TRIAL.json`` is what
:mod:`benchmarks.bench` runs with the Python of each environment.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path

from onearena.runtime.compare import CompareReport, compare
from onearena.runtime.workspace import WorkspaceMeasurement, measure_workspace

from .ratios import Median, median
from .records import Trial
from .timing import FULL, QUICK, Budget, Round, play
from .zoo.entries import ZooEntry, entry
from .zoo.isolation import run_apart

RANDOM_RUNS = 5
CERTAIN = 0.01


def measure(program: ZooEntry, files: tuple[Path, Path], example: Path, budget: Budget) -> Trial:
    """Compare and measure a stock file and the file that was made of it."""
    report = compare(*files, runs=RANDOM_RUNS, measure=False)
    rounds = _rounds(program, files, example, budget)
    stock, optimized = (measure_workspace(path) for path in files)
    pairs = [pair for done in rounds for pair in done.pairs]
    return Trial(
        runs=RANDOM_RUNS + sum(done.compared for done in rounds),
        sizes=_sizes(report, program),
        difference=_difference(report, rounds),
        workspaces=(stock.bytes, optimized.bytes),
        heap_growth=(stock.heap_growth_bytes, optimized.heap_growth_bytes),
        unmeasured=_reason(stock, optimized),
        latency=_median_ratio([pair.wall for pair in pairs]),
        cpu=_median_ratio([pair.cpu for pair in pairs]),
        pairs=len(pairs),
        seconds=(
            median([pair.wall[0] for pair in pairs]).value,
            median([pair.wall[1] for pair in pairs]).value,
        ),
    )


def _rounds(
    program: ZooEntry, files: tuple[Path, Path], example: Path, budget: Budget
) -> list[Round]:
    """Rounds until the median ratio is certain, or there were enough of them."""
    fewest, most = budget.rounds
    rounds: list[Round] = []
    while len(rounds) < most:
        rounds.append(run_apart(play, program, files, example, budget, len(rounds)))
        walls = [pair.wall for done in rounds for pair in done.pairs]
        if len(rounds) >= fewest and _median_ratio(walls).half_width <= CERTAIN:
            break
    return rounds


def _median_ratio(pairs: Sequence[tuple[float, float]]) -> Median:
    return median([after / before for before, after in pairs])


def _sizes(report: CompareReport, program: ZooEntry) -> int:
    random = [method.sizes for method in report.methods]
    return max(len(program.shapes), *(len(sizes) for sizes in random))


def _difference(report: CompareReport, rounds: Sequence[Round]) -> str | None:
    found = [method.first_difference for method in report.methods]
    found += [done.difference for done in rounds]
    return next((what for what in found if what is not None), None)


def _reason(*measurements: WorkspaceMeasurement) -> str | None:
    return next((m.reason for m in measurements if m.bytes is None), None)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.trial",
        description="Measure one program before and after on the ExecuTorch installed here.",
    )
    parser.add_argument("name", help="of the zoo program")
    parser.add_argument("stock", type=Path)
    parser.add_argument("optimized", type=Path)
    parser.add_argument("example", type=Path, help="its inputs, a .npz")
    parser.add_argument("--out", type=Path, required=True, help="the .json to write")
    parser.add_argument("--quick", action="store_true", help="time less")
    options = parser.parse_args(arguments)
    budget = QUICK if options.quick else FULL
    files = options.stock, options.optimized
    trial = measure(entry(options.name), files, options.example, budget)
    options.out.write_text(json.dumps(asdict(trial)), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
