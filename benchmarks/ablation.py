"""What each pass brings: programs planned with all passes, without each one, and with it alone.

``python -m benchmarks.ablation FOLDER`` prints, for each pass, geometric means over all programs
of (arena + workspace) after / before, and of what the first run adds to the heap, as predicted;
nothing is run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from onearena.delegates.xnnpack.workspace import indirection_bytes, predict_workspace
from onearena.errors import OnearenaError
from onearena.options import Options, Pointers
from onearena.payloads import read_payloads
from onearena.pipeline import optimize
from onearena.pte import open_pte

from .ratios import geometric_mean
from .tables import table

_OPENING = "open_delegates"
"""Without it there is nothing for the other passes to work on, so it stays in both columns."""
_OFF: Mapping[str, Any] = {
    # switches of `Options` that are on by default and are not just True: how they are turned off
    "transient_indirection": Pointers.OFF,
}


@dataclass(frozen=True)
class Ratios:
    """Of one program, after / before: arena + workspace, and growth of the heap."""

    memory: float
    heap: float


@dataclass(frozen=True)
class Effect:
    """One pass, by program."""

    name: str
    without: Mapping[str, Ratios]
    alone: Mapping[str, Ratios]


def main() -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", action="append", help="a program's name without .pte")
    args = parser.parse_args()
    paths = sorted(args.folder.glob("*.pte"))
    print(ablation([path for path in paths if not args.only or path.stem in args.only]))
    return 0


def ablation(paths: Sequence[Path]) -> str:
    """The table of all passes, and what it says."""
    everything = _ratios(paths, Options())
    effects = []
    for name in passes():
        effects.append(_effect(paths, name))
        print(f"  {name}: {_mean(effects[-1].without.values()):.3f} without", file=sys.stderr)
    return f"{_ABOUT}\n\n{_table(everything, effects)}"


_ABOUT = (
    "Geometric means of (arena + workspace) after / before, as predicted; and of the heap that "
    "a first run takes: workspace and pointers. Opening stays on for what a pass does alone."
)


def passes() -> tuple[str, ...]:
    """The switches of `optimize` that are on by default, by the names in `Options`: a pass that
    has one gets its row by that."""
    names = [field.name for field in fields(Options) if field.default is True or field.name in _OFF]
    return (_OPENING, *(name for name in names if name != _OPENING))


def _effect(paths: Sequence[Path], name: str) -> Effect:
    without = _ratios(paths, _without(name))
    return Effect(name, without, _ratios(paths, _without(*set(passes()) - {name, _OPENING})))


def _without(*names: str) -> Options:
    off: dict[str, Any] = {name: _OFF.get(name, False) for name in names}
    return replace(Options(), **off)


def _ratios(paths: Iterable[Path], options: Options) -> dict[str, Ratios]:
    """By program; one that cannot be planned so is said, and left out."""
    found: dict[str, Ratios] = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            output = Path(folder) / path.name
            try:
                report = optimize(path, output, options)
            except OnearenaError as error:
                print(f"{path.stem}: {error}", file=sys.stderr, flush=True)
                continue
            before = sum(method.before.total_bytes for method in report.methods)
            after = sum((method.after or method.before).total_bytes for method in report.methods)
            heaps = [max(_heap_bytes(file), 1) for file in (path, output)]
            output.unlink()
            found[path.stem] = Ratios(after / before, heaps[1] / heaps[0])
    return found


def _heap_bytes(path: Path) -> int:
    """The workspace that delegates share, and the pointers that each of them keeps."""
    with open_pte(path) as file:
        graphs = [
            payload.graph.source
            for plan in file.program.execution_plan or ()
            for payload in read_payloads(file, plan).values()
            if payload.graph is not None
        ]
    workspace = max((predict_workspace(graph).total_bytes for graph in graphs), default=0)
    return workspace + sum(map(indirection_bytes, graphs))


def _mean(found: Iterable[Ratios]) -> float:
    return geometric_mean(ratios.memory for ratios in found)


def _heap_mean(found: Iterable[Ratios]) -> float:
    return geometric_mean(ratios.heap for ratios in found)


def _table(everything: Mapping[str, Ratios], effects: Sequence[Effect]) -> str:
    head = ("pass", "without it", "only it", "need more without it", "heap without it")
    means = _mean(everything.values()), _heap_mean(everything.values())
    body = [("all", f"{means[0]:.3f}", "", "", f"{means[1]:.3f}")]
    for effect in effects:
        without = effect.without
        missed = sum(
            found.memory > everything[name].memory * 1.001
            for name, found in without.items()
            if name in everything
        )
        body.append(
            (
                effect.name,
                f"{_mean(without.values()):.3f}",
                f"{_mean(effect.alone.values()):.3f}",
                f"{missed} of {len(without)}",
                f"{_heap_mean(without.values()):.3f}",
            )
        )
    return table(head, body)


if __name__ == "__main__":
    sys.exit(main())
