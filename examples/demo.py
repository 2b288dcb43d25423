"""Two models before and after ``onearena optimize``: ``make demo``.

U²-Net with random weights, on a photograph; and the text detector and reader of PP-OCRv4 with
their trained weights, on a photograph of a printed page. Everything is exported here, nothing is
downloaded. The exit code is 1 if an output differs by a single bit.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks.zoo import export, pretrained
from benchmarks.zoo.isolation import run_apart
from PIL import Image

import onearena
from onearena.report.text import table

U2NET, U2NET_SIZE = "u2net_nearest", (320, 320)
RUNS = 5
STANDARD_ERROR = 2


@dataclass(frozen=True)
class Result:
    """One program: the plan's report and the comparison on the real runtime."""

    name: str
    plan: onearena.ProgramReport
    comparison: onearena.CompareReport


def export_programs(directory: Path) -> list[tuple[str, Path]]:
    """Export what is not there yet; return names and real inputs."""
    print(f"exporting to {directory} (only once)", flush=True)
    with messages_to(directory / "export.log"):
        failed = export.main(["--out", str(directory), U2NET])
        failed = failed or pretrained.main(["--out", str(directory)])
    if failed:
        raise SystemExit(f"the programs could not be exported; see {directory / 'export.log'}")
    photograph = directory / "photograph.npy"
    np.save(photograph, picture())
    # The inputs beside the pretrained programs were made from the printed page.
    names = [program.name for program in pretrained.PRETRAINED]
    return [(U2NET, photograph), *((name, directory / f"{name}.npz") for name in names)]


@contextmanager
def messages_to(log: Path) -> Iterator[None]:
    """Sends what native libraries print to standard error, here and in children, to a file."""
    sys.stderr.flush()
    saved = os.dup(STANDARD_ERROR)
    try:
        with log.open("ab") as stream:
            os.dup2(stream.fileno(), STANDARD_ERROR)
        yield
    finally:
        os.dup2(saved, STANDARD_ERROR)
        os.close(saved)


def picture() -> np.ndarray:
    """Return scikit-image's portrait of an astronaut as U²-Net wants it."""
    found = find_spec("skimage")
    if found is None or not found.submodule_search_locations:
        raise SystemExit("scikit-image is not installed; see requirements/zoo-files.txt")
    path = Path(found.submodule_search_locations[0]) / "data" / "astronaut.png"
    pixels = np.asarray(Image.open(path).convert("RGB").resize(U2NET_SIZE), np.float32)
    return np.ascontiguousarray((pixels / 127.5 - 1).transpose(2, 0, 1)[np.newaxis])


def run(name: str, inputs: Path, directory: Path) -> Result:
    """Optimize a program, then run both files on the stock runtime with a real input."""
    stock, optimized = directory / f"{name}.pte", small(directory, name)
    print(f"{name:20} optimizing", flush=True)
    plan = onearena.optimize(stock, optimized)
    print(f"{name:20} running both on ExecuTorch", flush=True)
    return Result(name, plan, onearena.compare(stock, optimized, runs=RUNS, inputs=[str(inputs)]))


def small(directory: Path, name: str) -> Path:
    """Return where the optimized program goes."""
    return directory / f"{name}.small.pte"


def reads_the_same(directory: Path) -> bool:
    """Let the text programs read the page, stock and optimized; print it once."""
    names = [program.name for program in pretrained.PRETRAINED]
    with messages_to(directory / "reading.log"):
        before = run_apart(pretrained.read, *(directory / f"{name}.pte" for name in names))
        after = run_apart(pretrained.read, *(small(directory, name) for name in names))
    print("\nWhat the optimized programs read on the page:", *after, sep="\n  ")
    return before == after


def before_and_after(results: Sequence[Result]) -> str:
    """Return the table."""
    rows = [["bytes", "arena", "XNNPACK workspace", "total", "after/before", "bit-exact", "time"]]
    for result in results:
        rows += _rows(result)
    return table(rows)


def _rows(result: Result) -> list[list[str]]:
    (method,), comparison = result.plan.methods, result.comparison
    assert method.after is not None
    sides = []
    for footprint, measured in (
        (method.before, comparison.workspace_a),
        (method.after, comparison.workspace_b),
    ):
        known = measured.bytes if measured else None
        workspace = footprint.workspace_bytes if known is None else known
        sides.append((footprint.arena_bytes, workspace, footprint.arena_bytes + workspace))
    before, after = ([f"{count:,}" for count in side] for side in sides)
    exact = "yes" if comparison.bit_exact else "NO"
    ratios = [f"{sides[1][2] / sides[0][2]:.3f}", exact, f"{comparison.latency_ratio_median:.2f}"]
    return [[result.name, *before, "", "", ""], ["  optimized", *after, *ratios]]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m examples.demo", description="Two models before and after."
    )
    parser.add_argument("--cache", type=Path, default=Path(".cache/demo"), metavar="DIR")
    directory = parser.parse_args(arguments).cache
    directory.mkdir(parents=True, exist_ok=True)
    results = [run(name, inputs, directory) for name, inputs in export_programs(directory)]
    same_text = reads_the_same(directory)
    print(f"\n{before_and_after(results)}")
    print(
        f"\nWorkspaces are measured. Every program ran {RUNS} times on a real input; time is "
        "optimized/stock."
    )
    return 0 if same_text and all(result.comparison.bit_exact for result in results) else 1


if __name__ == "__main__":
    sys.exit(main())
