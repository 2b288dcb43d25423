"""Fuzzes the file layer: ``python -m benchmarks.fuzz --count 200000 --seed 1 [--corpus DIR]``.

Prints what the targets of :mod:`tests.fuzz.targets` answered. Inputs that made one crash, hang
or eat memory are written to ``--save DIR``; the exit code is then 1. One input again:
``--first INDEX --count 1`` with the same seed.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from tests.fuzz.harness import Failure, Report, fuzz
from tests.fuzz.seeds import Seed, load_seeds
from tests.fuzz.targets import TARGETS

_BATCH = 2_000


def _run_batch(seeds: tuple[Seed, ...], run: int, batch: tuple[int, int]) -> Report:
    with contextlib.suppress(ImportError):
        import torch  # noqa: F401 # takes seconds, which no input shall be blamed for
    first, count = batch
    return fuzz(TARGETS, seeds, run, count, first)


def _batches(first: int, count: int) -> list[tuple[int, int]]:
    end = first + count
    return [(start, min(_BATCH, end - start)) for start in range(first, end, _BATCH)]


def _run(arguments: argparse.Namespace) -> Report:
    seeds = load_seeds(arguments.corpus)
    total = Report()
    run_batch = partial(_run_batch, seeds, arguments.seed)
    batches = _batches(arguments.first, arguments.count)
    with ProcessPoolExecutor(arguments.jobs, mp_context=get_context("spawn")) as pool:
        for report in pool.map(run_batch, batches):
            total.inputs += report.inputs
            total.outcomes += report.outcomes
            total.failures += report.failures
            print(f"\r{total.inputs} inputs, {len(total.failures)} failures", end="", flush=True)
    print()
    return total


def _show(failure: Failure, directory: Path | None) -> None:
    print(f"\ninput {failure.index} (from {failure.seed}), target {failure.target}:")
    print(failure.trace)
    if directory:
        directory.mkdir(parents=True, exist_ok=True)
        path = directory / f"{failure.index}-{failure.target}.pte"
        path.write_bytes(failure.data)
        print(f"saved as {path}")


def _parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.fuzz", description=__doc__)
    parser.add_argument("--count", type=int, default=200_000, help="number of mutated files")
    parser.add_argument("--seed", type=int, default=1, help="another seed, other files")
    parser.add_argument("--first", type=int, default=0, help="index of the first file")
    parser.add_argument("--corpus", type=Path, help="directory of more small .pte files")
    parser.add_argument("--save", type=Path, help="directory for files that fail")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs and prints; returns the exit code."""
    options = _parse(arguments)
    start = time.perf_counter()
    report = _run(options)
    for failure in report.failures:
        _show(failure, options.save)
    for name, count in report.outcomes.most_common():
        print(f"{count:>10}  {name}")
    seconds = time.perf_counter() - start
    print(f"{report.inputs} inputs x {len(TARGETS)} targets in {seconds:.0f} s", end=", ")
    print(f"{len(report.failures)} failures")
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
