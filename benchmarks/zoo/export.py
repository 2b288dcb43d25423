"""Writes zoo programs: ``python -m benchmarks.zoo.export --out DIR [names...]``.

Each program has a process of its own. Only there are PyTorch and ExecuTorch imported, which is why
some imports stand inside functions.
"""

from __future__ import annotations

import argparse
import sys
import time
import traceback
from collections.abc import Sequence
from pathlib import Path

from .entries import ZOO, ZooEntry, entry
from .isolation import run_apart


def export(name: str, directory: Path) -> ZooEntry:
    """Write ``<name>.pte`` and its example inputs ``<name>.npz`` into ``directory``.

    The inputs are the arrays ``input_0``, ``input_1``, and so on.
    """
    from .lowering import save
    from .models import build

    found = entry(name)
    save(build(name), directory / name)
    return found


def _export_and_describe(name: str, directory: Path) -> str:
    """Export in the current process; return the line to print."""
    from .lowering import summarize

    start = time.perf_counter()
    export(name, directory)
    return f"{summarize(directory / f'{name}.pte')}  {time.perf_counter() - start:4.0f} s"


def _export_all(names: Sequence[str], directory: Path, *, force: bool) -> list[str]:
    """Export one program after another; return the names of those that failed."""
    failed = []
    for name in names:
        if not force and (directory / f"{name}.pte").exists():
            print(f"{name:20} exists already", flush=True)
            continue
        try:
            print(f"{name:20} {run_apart(_export_and_describe, name, directory)}", flush=True)
        except Exception:
            failed.append(name)
            print(f"{name:20} FAILED\n{traceback.format_exc()}", flush=True)
    return failed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.zoo.export", description="Export zoo programs."
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    parser.add_argument("--force", action="store_true", help="also export what exists already")
    known = [program.name for program in ZOO]
    parser.add_argument("names", nargs="*", metavar="name", help=f"one of {', '.join(known)}")
    options = parser.parse_args(arguments)
    unknown = [name for name in options.names if name not in known]
    if unknown:
        parser.error(f"unknown: {', '.join(unknown)}")
    failed = _export_all(options.names or known, options.out, force=options.force)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
