"""The log in pytorch/executorch#16580, before and after: `python -m examples.cortex_m.seed`."""

from __future__ import annotations

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from examples.cortex_m.export import export
from examples.cortex_m.older import older
from onearena.cli.main import main as onearena
from onearena.pte.reader import open_pte
from onearena.pte.writer import write_pte

TARGET = "cortex-m55"


def main() -> int:
    """Exports conv2d_x3, takes the scratch out, and compares what Arm's runner would log."""
    with TemporaryDirectory() as directory:
        before, after = Path(directory) / "before.pte", Path(directory) / "after.pte"
        after.write_bytes(export("conv2d_x3", TARGET))
        with open_pte(after) as file:
            write_pte(older(file), before)
        arguments = ["--target", TARGET, "--runner", "--against", str(before)]
        return onearena(["sizes", str(after), *arguments])


if __name__ == "__main__":
    sys.exit(main())
