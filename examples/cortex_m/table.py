"""What the exporter plans, what onearena plans, and the bound: `python -m examples.cortex_m.table`.

The rows are those that the project promises: every one reaches its bound. Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.cortex_m.export import Interface, export
from onearena import optimize

TARGETS = ("cortex-m55", "cortex-m4", "cortex-m0")
INT8 = Interface(is_int8=True)
UNPLANNED = Interface(is_int8=True, is_planned=False)


@dataclass(frozen=True)
class Case:
    """A program.

    Attributes:
        network: its name.
        interface: of the program.
        label: of the interface.
        promised_bytes: the plan on a Cortex-M55.
    """

    network: str
    interface: Interface
    label: str
    promised_bytes: int


CASES = (
    Case("conv2d_x3", Interface(), "float32", 2_560),
    Case("conv2d_x3", INT8, "int8", 2_112),
    Case("conv2d_x3", UNPLANNED, "int8, not planned", 1_856),
    Case("mobilenet_v1_025", INT8, "int8", 55_296),
    Case("ds_cnn", Interface(), "float32", 20_464),
    Case("resnet8", Interface(), "float32", 49_728),
    Case("deep_autoencoder", INT8, "int8", 768),
    Case("silero_vad", Interface(), "float32", 6_944),
)


@dataclass(frozen=True)
class Row:
    """The planned bytes of a program before and after, and what no plan can be below."""

    case: Case
    target: str
    before_bytes: int
    after_bytes: int
    bound_bytes: int
    is_optimal: bool


def measure(case: Case, target: str, directory: Path) -> Row:
    """Exports a program and plans it."""
    path = directory / "program.pte"
    path.write_bytes(export(case.network, target, case.interface))
    report = optimize(path, directory / "small.pte")
    method = next(method for method in report.methods if method.name == "forward")
    after = method.after or method.before
    return Row(
        case,
        target,
        method.before.arena_bytes,
        after.arena_bytes,
        method.lower_bound_bytes,
        bool(method.to_json()["optimal"]),
    )


def markdown(rows: Iterable[Row]) -> str:
    """One line per program and target."""
    lines = [
        "| program | inputs and outputs | target | exporter | onearena | bound | proven |",
        "|---|---|---|---:|---:|---:|---|",
    ]
    for row in rows:
        numbers = (row.before_bytes, row.after_bytes, row.bound_bytes)
        cells = [row.case.network, row.case.label, row.target.removeprefix("cortex-").upper()]
        cells += [f"{number:,}" for number in numbers]
        lines.append(f"| {' | '.join(cells)} | {'yes' if row.is_optimal else 'no'} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; exit code 1 when a plan is above what is promised or not proven."""
    parser = argparse.ArgumentParser(prog="python -m examples.cortex_m.table")
    parser.add_argument("--target", action="append", choices=TARGETS, help="default: all three")
    args = parser.parse_args(argv)
    with TemporaryDirectory() as directory:
        rows = [
            measure(case, target, Path(directory))
            for case in CASES
            for target in args.target or TARGETS
        ]
    print(markdown(rows))
    kept = all(row.is_optimal and row.after_bytes <= row.case.promised_bytes for row in rows)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
