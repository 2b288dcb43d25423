"""Export, optimize, verify, sizes: `python -m examples.ethos_u.two_delegates`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.ethos_u.export import export
from onearena.cli.main import main as onearena

NETWORK = "two_delegates"
TARGET = "cortex-m55"
"""The core beside the accelerator."""


def main(argv: Sequence[str] | None = None) -> int:
    """Does what a person would type, and says so; returns the first exit code that is not 0."""
    parser = argparse.ArgumentParser(prog=f"python -m examples.ethos_u.{NETWORK}")
    parser.add_argument("--directory", type=Path, help="where the programs go (default: nowhere)")
    args = parser.parse_args(argv)
    with TemporaryDirectory() as nowhere:
        directory = args.directory or Path(nowhere)
        directory.mkdir(parents=True, exist_ok=True)
        return _run(directory)


def _run(directory: Path) -> int:
    before, after = str(directory / f"{NETWORK}.pte"), str(directory / f"{NETWORK}.small.pte")
    header = directory / "sizes.h"
    Path(before).write_bytes(export(NETWORK))
    for command in (
        ("optimize", before, "-o", after, "--target", TARGET),
        ("verify", after),
        ("sizes", after, "--target", TARGET, "--header", str(header)),
    ):
        print(f"$ onearena {' '.join(command)}", flush=True)
        code = onearena(list(command))
        print(flush=True)
        if code:
            return code
    print(header.read_text(encoding="ascii"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
