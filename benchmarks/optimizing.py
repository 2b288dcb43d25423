"""Runs ``onearena optimize`` as a user does, and times it."""

from __future__ import annotations

import json
import statistics
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .environments import run
from .predicting import predict
from .records import Optimization, Side


def optimize(stock: Path, optimized: Path, versions: Sequence[str], runs: int) -> Optimization:
    """Write `optimized`; the time is the median of `runs`."""
    seconds = []
    for _ in range(runs):
        report, taken = optimize_once(stock, optimized)
        seconds.append(taken)
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
        seconds=statistics.median(seconds),
    )


def optimize_once(stock: Path, optimized: Path) -> tuple[dict[str, Any], float]:
    """Return the report, and the seconds from starting Python to its end."""
    command = [sys.executable, "-m", "onearena", "optimize", str(stock), "-o", str(optimized)]
    start = time.perf_counter()
    output = run([*command, "--json"])
    taken = time.perf_counter() - start
    report: dict[str, Any] = json.loads(output)
    return report, taken


def _side(path: Path, size: int, footprint: dict[str, int], versions: Sequence[str]) -> Side:
    predictions = {version: predict(path, version) for version in versions}
    return Side(size, footprint["arena_bytes"], predictions)
