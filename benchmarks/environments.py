"""Pythons to run the benchmark with, each with an ExecuTorch of its own."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .ratios import Median
from .records import Trial

ROOT = Path(__file__).resolve().parent.parent
_VERSION = "from importlib.metadata import version; print(version('executorch'))"


class BenchmarkError(Exception):
    """A child process failed; the text holds what it printed."""


@dataclass(frozen=True)
class Environment:
    """A Python, and the version of the ExecuTorch in it."""

    python: Path
    version: str

    @classmethod
    def of(cls, python: Path) -> Environment:
        """Look at the environment of an interpreter."""
        # The path of a virtual environment's python must be kept: it leads elsewhere.
        absolute = python.absolute()
        return cls(absolute, run([str(absolute), "-c", _VERSION]).strip())

    def trial(
        self, name: str, stock: Path, optimized: Path, example: Path, *, quick: bool
    ) -> Trial:
        """Measure a program before and after."""
        with tempfile.TemporaryDirectory() as directory:
            out = Path(directory) / "trial.json"
            command = [str(self.python), "-m", "benchmarks.trial", name]
            command += [str(stock), str(optimized), str(example), "--out", str(out)]
            run(command + ["--quick"] * quick)
            return trial_from_json(json.loads(out.read_text(encoding="utf-8")))


def trial_from_json(content: dict[str, Any]) -> Trial:
    """Read what ``benchmarks.trial`` wrote."""
    return Trial(
        **{
            **content,
            "workspaces": tuple(content["workspaces"]),
            "heap_growth": tuple(content["heap_growth"]),
            "seconds": tuple(content["seconds"]),
            "latency": Median(**content["latency"]),
            "cpu": Median(**content["cpu"]),
        }
    )


def run(command: list[str]) -> str:
    """Run a child that imports this project from its source; return its standard output."""
    found = subprocess.run(
        command, cwd=ROOT, env=environment(), capture_output=True, text=True, check=False
    )
    if found.returncode != 0:
        said = (found.stderr or found.stdout).strip()
        raise BenchmarkError(f"{' '.join(command[1:4])} …: exit code {found.returncode}\n{said}")
    return found.stdout


def environment() -> dict[str, str]:
    """Return variables for a child: also an environment without onearena can import it.

    Python may keep what it compiled, as it does of an installed package.
    """
    paths = [str(ROOT / "src"), str(ROOT)]
    kept = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
    return {**kept, "PYTHONPATH": os.pathsep.join(paths)}
