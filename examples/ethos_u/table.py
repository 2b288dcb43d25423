"""What tensors and scratch take apart, and together: `python -m examples.ethos_u.table`.

Apart, the application has a pool for the planned memory and one for the temp allocator. Together,
the temp allocator lies where no tensor is alive while the accelerator runs. Markdown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.ethos_u.export import NETWORKS, export
from onearena import optimize, verify

PROMISED_BYTES = {
    "conv2d_x3": 4_272,
    "ds_cnn": 64_000,
    "resnet8": 55_088,
    "mobilenet_v1_025": 138_240,
    "two_delegates": 20_480,
}
"""The joint plan on an Ethos-U55 with 128 multipliers, by network."""


@dataclass(frozen=True)
class Row:
    """A program before and after, in bytes.

    Attributes:
        planned, scratch: of the exporter's program.
        joint: of onearena's.
        bound: no joint plan can be below.
        is_proven: whether the plan is proven optimal, and verified to be safe.
    """

    network: str
    planned: int
    scratch: int
    joint: int
    bound: int
    is_proven: bool


def measure(network: str, accelerator: str, directory: Path) -> Row:
    """Exports a program, plans it, and verifies the plan."""
    before, after = directory / f"{network}.pte", directory / f"{network}.small.pte"
    before.write_bytes(export(network, accelerator))
    method = optimize(before, after).methods[0]
    assert method.after is not None
    return Row(
        network,
        method.before.arena_bytes,
        method.before.temp_bytes,
        method.after.total_bytes,
        method.lower_bound_bytes,
        method.optimal and verify(after).safe,
    )


def markdown(rows: Iterable[Row]) -> str:
    """One line per program."""
    lines = [
        "| program | planned | scratch | apart | joint | bound | proven and safe |",
        "|---|---:|---:|---:|---:|---:|---|",
    ]
    for row in rows:
        numbers = (row.planned, row.scratch, row.planned + row.scratch, row.joint, row.bound)
        cells = " | ".join(f"{number:,}" for number in numbers)
        lines.append(f"| {row.network} | {cells} | {'yes' if row.is_proven else 'no'} |")
    return "\n".join(lines)


def main(argv: Sequence[str] | None = None) -> int:
    """Prints the table; exit code 1 when a plan is above what is promised, or not proven."""
    parser = argparse.ArgumentParser(prog="python -m examples.ethos_u.table")
    parser.add_argument("--accelerator", default="ethos-u55-128", help="default %(default)s")
    parser.add_argument("--directory", type=Path, help="where the programs go (default: nowhere)")
    args = parser.parse_args(argv)
    with TemporaryDirectory() as nowhere:
        directory = args.directory or Path(nowhere)
        directory.mkdir(parents=True, exist_ok=True)
        rows = [measure(network, args.accelerator, directory) for network in NETWORKS]
    print(markdown(rows))
    proven = all(row.is_proven for row in rows)
    if args.accelerator == "ethos-u55-128":
        proven &= all(row.joint <= PROMISED_BYTES[row.network] for row in rows)
    return 0 if proven else 1


if __name__ == "__main__":
    sys.exit(main())
