"""From a network to a checked program: export, optimize, sizes, simulate."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.cortex_m.export import Interface, export
from onearena.cli.main import main as onearena

INPUTS = "3"
"""Sets of random inputs that a program is simulated with."""


def run(name: str, interface: Interface, argv: Sequence[str] | None = None) -> int:
    """Does what a person would type, and says so; returns the first exit code that is not 0.

    Args:
        name: of the network, see `examples.cortex_m.export.NETWORKS`.
        interface: how the program takes inputs and gives outputs.
        argv: the command line, of the process when None.
    """
    parser = argparse.ArgumentParser(prog=f"python -m examples.cortex_m.{name}")
    parser.add_argument("--target", default="cortex-m55", help="default %(default)s")
    parser.add_argument("--directory", type=Path, help="where the programs go (default: nowhere)")
    args = parser.parse_args(argv)
    with TemporaryDirectory() as nowhere:
        return _run(name, interface, args.target, args.directory or Path(nowhere))


def _run(name: str, interface: Interface, target: str, directory: Path) -> int:
    directory.mkdir(parents=True, exist_ok=True)
    before, after = str(directory / f"{name}.pte"), str(directory / f"{name}.small.pte")
    Path(before).write_bytes(export(name, target, interface))
    for command in (
        ("optimize", before, "-o", after, "--target", target),
        ("verify", after),
        ("sizes", after, "--target", target, "--runner", "--against", before),
        ("simulate", after, "--original", before, "--target", target, "--inputs", INPUTS),
    ):
        print(f"$ onearena {' '.join(command)}", flush=True)
        code = onearena(list(command))
        print(flush=True)
        if code:
            return code
    return 0
