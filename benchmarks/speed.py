"""Measures ``onearena optimize`` itself: ``python -m benchmarks.speed``.

Time on a program with about 50 delegate calls, start of Python included; time on a program of
1 GB against that of ``cp``; memory that planning a program of 2 GB takes. The exit code is 1 if
one is more than it should be. Linux only.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from .bench import export, zoo_directory
from .big_file import enlarge
from .environments import ROOT, run
from .goals import Goal
from .optimizing import optimize_once
from .zoo.entries import entry

PROGRAM = "vit_tiny"
SMALL_RUNS, SMALL_LIMIT_S = 7, 1.5
BIG_RUNS, BIG_LIMIT = 5, 2.0
ADDED_BYTES = 1 << 30
MEMORY_LIMIT_BYTES = 200_000_000

# What /proc says of the process itself: getrusage counts its parent's memory too.
_PEAK = """
import re, sys
from onearena import optimize
optimize(sys.argv[1], sys.argv[2])
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", open("/proc/self/status").read())[1]) * 1024)
"""


def small(program: Path, directory: Path) -> Goal:
    """Time the program as it is."""
    done = [optimize_once(program, directory / "small.pte") for _ in range(SMALL_RUNS)]
    (method,) = done[-1].report["methods"]
    middle = statistics.median(each.seconds for each in done)
    worked = statistics.median(each.cpu_seconds for each in done)
    return Goal(
        f"optimize {program.name} ({program.stat().st_size / 1e6:.1f} MB, "
        f"{method['delegate_calls']} delegate calls) in at most {SMALL_LIMIT_S} s",
        f"{middle:.2f} s, median of {SMALL_RUNS}, of which it worked {worked:.2f} s",
        middle <= SMALL_LIMIT_S,
    )


def big(program: Path, directory: Path) -> Goal:
    """Time a program with more weights against copying it."""
    source, target = directory / "1gb.pte", directory / "target"
    size = enlarge(program, source, ADDED_BYTES)
    pairs = []
    for number in range(BIG_RUNS + 1):
        pairs.append(_big_pair(source, target, optimize_first=number % 2 == 1))
    source.unlink()
    pairs.pop(0)  # the file was not in the page cache yet
    ratio = statistics.median(ours / theirs for ours, theirs in pairs)
    ours, theirs = (statistics.median(times) for times in zip(*pairs, strict=True))
    return Goal(
        f"optimize a file of {size / 1e9:.2f} GB in at most {BIG_LIMIT:g} times the time of cp",
        f"{ratio:.2f}, median of {BIG_RUNS} pairs ({ours:.2f} s and {theirs:.2f} s)",
        ratio <= BIG_LIMIT,
    )


def _big_pair(source: Path, target: Path, *, optimize_first: bool) -> tuple[float, float]:
    """Seconds of ``onearena optimize`` and of ``cp``, one after the other."""
    ours = theirs = 0.0
    for is_ours in (optimize_first, not optimize_first):
        target.unlink(missing_ok=True)
        os.sync()  # one must not wait for what the other left to be written
        if is_ours:
            ours = optimize_once(source, target).seconds
        else:
            theirs = _copy(source, target)
    target.unlink()
    return ours, theirs


def _copy(source: Path, target: Path) -> float:
    start = time.perf_counter()
    subprocess.run(["cp", "--reflink=never", str(source), str(target)], check=True)
    return time.perf_counter() - start


def memory(program: Path, directory: Path) -> Goal:
    """Compare the memory that a program with more weights takes with that of the small one."""
    source, target = directory / "2gb.pte", directory / "target.pte"
    size = enlarge(program, source, 2 * ADDED_BYTES)
    low, high = (_peak_bytes(path, target) for path in (program, source))
    source.unlink()
    target.unlink()
    return Goal(
        f"planning a file of {size / 1e9:.2f} GB adds at most {MEMORY_LIMIT_BYTES / 1e6:.0f} MB "
        "of resident memory",
        f"{(high - low) / 1e6:.1f} MB more than without the weights; {high / 1e6:.1f} MB with "
        "Python and all",
        high <= MEMORY_LIMIT_BYTES,
    )


def _peak_bytes(source: Path, target: Path) -> int:
    return int(run([sys.executable, "-c", _PEAK, str(source), str(target)]))


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.speed", description="Measure `onearena optimize` itself."
    )
    parser.add_argument("--cache", type=Path, default=ROOT / ".cache" / "bench", metavar="DIR")
    parser.add_argument(
        "--programs", type=Path, metavar="DIR", help="programs exported before (default: export)"
    )
    options = parser.parse_args(arguments)
    directory = options.programs or zoo_directory(options.cache.absolute())
    if options.programs is None:
        export(directory, [entry(PROGRAM)])
    program = directory / f"{PROGRAM}.pte"
    is_met = True
    options.cache.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.cache) as scratch:
        for measure in (small, big, memory):
            goal = measure(program, Path(scratch))
            print(goal, flush=True)
            is_met = is_met and goal.is_met
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
