"""Runs ``onearena optimize`` as a user does, and times it."""

from __future__ import annotations

import json
import resource
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .environments import run
from .predicting import predict
from .records import Optimization, Side


def optimize(stock: Path, optimized: Path, versions: Sequence[str], runs: int) -> Optimization:
    """Write `optimized`; the time is the median of `runs`."""
    done = [optimize_once(stock, optimized) for _ in range(runs)]
    report = done[-1].report
    (method,) = report["methods"]
    sizes = report["file_bytes"]
    return Optimization(
        before=_side(stock, sizes["before"], method["before"], versions),
        after=_side(optimized, sizes["after"], method["after"], versions),
        lower_bound=method["lower_bound_bytes"],
        gap=method["gap"],
        delegate_calls=method["delegate_calls"],
        opened_calls=method["opened_calls"],
        notes=tuple(method["notes"]),
        seconds=statistics.median(each.seconds for each in done),
    )


@dataclass(frozen=True)
class Done:
    """One ``onearena optimize``: what it said; seconds from the start of Python to its end, and
    how many of them it worked.
    """

    report: dict[str, Any]
    seconds: float
    cpu_seconds: float


def optimize_once(stock: Path, optimized: Path) -> Done:
    """Run the command line."""
    command = [sys.executable, "-m", "onearena", "optimize", str(stock), "-o", str(optimized)]
    start, worked = time.perf_counter(), _children_worked()
    output = run([*command, "--json"])
    return Done(json.loads(output), time.perf_counter() - start, _children_worked() - worked)


def _children_worked() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _side(path: Path, size: int, footprint: dict[str, int], versions: Sequence[str]) -> Side:
    predictions = {version: predict(path, version) for version in versions}
    return Side(size, footprint["arena_bytes"], predictions)
