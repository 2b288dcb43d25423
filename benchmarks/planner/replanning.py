"""Builds ``replan.cc`` and runs it: Python would take longer to ask than the planner to answer."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .families import make
from .instances import Instance

HERE = Path(__file__).resolve().parent
SIZES = (100, 1_000)


@dataclass(frozen=True)
class Replan:
    """Re-planning one structure with other sizes.

    Attributes:
        change: how the sizes change, see ``replan.cc``.
        microseconds: of a call, the median; `slow_microseconds`: 99 of 100 take less.
        ratio: mean of height / load; `worst_ratio`: the largest.
    """

    name: str
    buffers: int
    change: str
    microseconds: float
    slow_microseconds: float
    ratio: float
    worst_ratio: float


def build(directory: Path) -> Path:
    """Build with CMake; return the program."""
    directory.mkdir(parents=True, exist_ok=True)
    beside_python = str(Path(sys.executable).parent)
    cmake = shutil.which("cmake", path=os.pathsep.join([beside_python, os.environ["PATH"]]))
    if cmake is None:
        raise FileNotFoundError("cmake")
    for arguments in (
        ["-S", str(HERE), "-B", str(directory), "-DCMAKE_BUILD_TYPE=Release"],
        ["--build", str(directory), "--target", "replan", "--parallel"],
    ):
        subprocess.run([cmake, *arguments], check=True, capture_output=True, text=True)
    return directory / "replan"


def measure(program: Path, seeds: Iterable[int]) -> list[Replan]:
    """Neural networks of exactly so many tensors."""
    seeds = tuple(seeds)
    return [
        result
        for buffers in SIZES
        for seed in seeds
        for result in _run(program, make("network", buffers + buffers // 10 + 20, seed), buffers)
    ]


def _run(program: Path, instance: Instance, buffers: int) -> list[Replan]:
    ordered = sorted(instance.problem.buffers, key=lambda b: b.lifetime)[:buffers]
    lines = [f"{b.lifetime[0].start} {b.lifetime[0].end} {b.size_bytes}\n" for b in ordered]
    found = subprocess.run(
        [*_on_one_core(), str(program)],
        input="".join(lines),
        capture_output=True,
        text=True,
        check=True,
    )
    results = []
    for line in found.stdout.splitlines():
        change, *numbers = line.split()
        middle, slow, mean, worst = map(float, numbers)
        results.append(
            Replan(instance.name, len(ordered), change, middle / 1e3, slow / 1e3, mean, worst)
        )
    return results


def _on_one_core() -> list[str]:
    taskset = shutil.which("taskset")
    if taskset is None or not hasattr(os, "sched_getaffinity"):
        return []
    return [taskset, "--cpu-list", str(max(os.sched_getaffinity(0)))]
