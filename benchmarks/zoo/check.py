"""Runs exported programs against PyTorch: ``python -m benchmarks.zoo.check DIR [names...]``.

Each program has a process of its own. Only there are PyTorch and ExecuTorch imported, which is why
some imports stand inside functions.
"""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from .entries import ZOO, ZooEntry, entry
from .isolation import run_apart


def check(program: ZooEntry, directory: Path) -> tuple[bool, str]:
    """Return whether ``program`` agrees with PyTorch in every run, and the line to print."""
    from .agreement import compare

    runs = compare(program, directory)
    worst = max(runs, key=lambda run: run.error / run.tolerance)
    return all(run.passes for run in runs), f"runs {len(runs)}  worst {worst}"


def _check_all(programs: Sequence[ZooEntry], directory: Path) -> list[str]:
    """Check one program after another; return the names of those that do not agree."""
    failed = []
    for program in programs:
        try:
            passes, line = run_apart(check, program, directory)
        except Exception:
            passes, line = False, f"FAILED\n{traceback.format_exc()}"
        print(f"{program.name:20} {line}", flush=True)
        if not passes:
            failed.append(program.name)
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.zoo.check", description="Run exported programs against PyTorch."
    )
    parser.add_argument("directory", type=Path, metavar="DIR", help="where the programs are")
    parser.add_argument("names", nargs="*", metavar="name", help="programs to check (default: all)")
    options = parser.parse_args(arguments)
    programs = [entry(name) for name in options.names] or list(ZOO)
    failed = _check_all(programs, options.directory)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
