"""Two networks in a fast and a slow memory: `python -m examples.cortex_m.memory_map`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.cortex_m.export import Interface, export
from onearena.cli.main import main as onearena

INPUTS = "2"
"""Sets of random inputs that a program is simulated with."""
FITTING = {
    "ds_cnn": "dtcm:16K:1,sram:512K:2",
    "mobilenet_v1_025": "dtcm:32K:1,sram:512K:2",
}
"""By network, a memory map that makes it spill."""
TOO_SMALL = "dtcm:8K:1,sram:8K:2"
"""A map that neither of them fits into."""


def main(argv: Sequence[str] | None = None) -> int:
    """Does what a person would type, and says so; returns 0 when everything went as it should.

    Args:
        argv: the command line, of the process when None.
    """
    parser = argparse.ArgumentParser(prog="python -m examples.cortex_m.memory_map")
    parser.add_argument("--target", default="cortex-m55", help="default %(default)s")
    parser.add_argument("--directory", type=Path, help="where the programs go (default: nowhere)")
    args = parser.parse_args(argv)
    with TemporaryDirectory() as nowhere:
        directory = args.directory or Path(nowhere)
        directory.mkdir(parents=True, exist_ok=True)
        codes = [_run(name, args.target, directory) for name in FITTING]
    return max(codes)


def _run(name: str, target: str, directory: Path) -> int:
    before, after = str(directory / f"{name}.pte"), str(directory / f"{name}.regions.pte")
    Path(before).write_bytes(export(name, target, Interface()))
    optimize = ("optimize", before, "-o", after, "--target", target, "--memory")
    for expected, command in (
        (1, (*optimize, TOO_SMALL)),
        (0, (*optimize, FITTING[name])),
        (0, ("verify", after)),
        (0, ("sizes", after, "--target", target)),
        (0, ("simulate", after, "--original", before, "--target", target, "--inputs", INPUTS)),
    ):
        print(f"$ onearena {' '.join(command)}", flush=True)
        code = onearena(list(command))
        print(f"exit code {code}\n", flush=True)
        if code != expected:
            return code or 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
