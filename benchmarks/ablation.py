"""What each pass brings: programs planned with all passes, without each one, and with it alone.

``python -m benchmarks.ablation FOLDER`` prints, for each pass, the geometric mean over all programs
of (arena + workspace) after / before, as predicted; nothing is run.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from onearena.options import Options
from onearena.pipeline import optimize

from .ratios import geometric_mean

_OPENING = "open_delegates"
"""Without it there is nothing for the other passes to work on, so it stays in both columns."""


@dataclass(frozen=True)
class Effect:
    """One pass; ratios of the memory after to that before, by program."""

    name: str
    without: Mapping[str, float]
    alone: Mapping[str, float]


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
    """The table of all passes."""
    return _table(_ratios(paths, Options()), [_effect(paths, name) for name in passes()])


def passes() -> tuple[str, ...]:
    """The switches of `optimize` that are on by default, by the names in `Options`."""
    names = [field.name for field in fields(Options) if field.default is True]
    return (_OPENING, *(name for name in names if name != _OPENING))


def _effect(paths: Sequence[Path], name: str) -> Effect:
    off: dict[str, Any] = {name: False}
    alone: dict[str, Any] = {other: other in (name, _OPENING) for other in passes()}
    without = _ratios(paths, replace(Options(), **off))
    return Effect(name, without, _ratios(paths, replace(Options(), **alone)))


def _ratios(paths: Iterable[Path], options: Options) -> dict[str, float]:
    found: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            report = optimize(path, Path(folder) / path.name, options)
            before = sum(method.before.total_bytes for method in report.methods)
            after = sum((method.after or method.before).total_bytes for method in report.methods)
            found[path.stem] = after / before
    return found


def _table(everything: Mapping[str, float], effects: Sequence[Effect]) -> str:
    lines = [
        "| pass | without it | only it (and opening) | programs that need more without it |",
        "|---|---:|---:|---:|",
        f"| all | {geometric_mean(everything.values()):.3f} | | |",
    ]
    for effect in effects:
        missed = sum(effect.without[name] > ratio * 1.001 for name, ratio in everything.items())
        means = (geometric_mean(found.values()) for found in (effect.without, effect.alone))
        cells = " | ".join(f"{mean:.3f}" for mean in means)
        lines.append(f"| {effect.name} | {cells} | {missed} of {len(everything)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
