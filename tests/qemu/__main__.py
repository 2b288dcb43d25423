"""Runs one program on an emulated core, and on the host: do they agree?

python -m tests.qemu small.pte --target cortex-m55 --inputs 3
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from onearena.errors import OnearenaError
from onearena.pte.reader import open_pte
from tests.qemu.cores import CORES, missing_tools
from tests.qemu.host import Expected, reference
from tests.qemu.machine import Machine, Result


def main(argv: Sequence[str] | None = None) -> int:
    """Returns 0 when every run agrees, 1 when one does not, 2 when nothing could be run.

    Args:
        argv: the command line, of the process when None.
    """
    parser = argparse.ArgumentParser(prog="python -m tests.qemu", description=__doc__)
    parser.add_argument("program", type=Path)
    parser.add_argument("--target", choices=[core.target for core in CORES], required=True)
    parser.add_argument("--inputs", type=int, default=1, help="sets of random inputs")
    args = parser.parse_args(argv)
    if args.inputs < 1:
        parser.error("at least 1 set of inputs")
    missing = missing_tools()
    if missing:
        print(f"qemu: {missing}", file=sys.stderr)
        return 2
    try:
        return _run(args.program, args.target, args.inputs)
    except OnearenaError as error:
        print(f"qemu: {error}", file=sys.stderr)
        return 2


def _run(path: Path, target: str, inputs: int) -> int:
    core = next(core for core in CORES if core.target == target)
    agreed = True
    with open_pte(path) as file, TemporaryDirectory() as folder:
        machine = Machine(core, Path(folder))
        for seed in range(inputs):
            known = reference(file, seed)
            runs = machine.run([known.case("program", file)])["program"]
            for mode, result in (("plain", runs.plain), ("strict", runs.strict)):
                text = _verdict(known.expected, result)
                agreed = agreed and not text
                print(f"input {seed}, {mode} run: {text or 'as on the host'}")
    return 0 if agreed else 1


def _verdict(expected: Expected, result: Result) -> str:
    """What is wrong with a run; empty when nothing is."""
    if result.refused is not None:
        reason, instruction, missing = result.refused
        if reason == "scratch":
            return f"instruction {instruction} needs {missing} bytes of scratch more"
        return f"instruction {instruction} is for another core"
    if expected.is_met_by(result):
        return ""
    pairs = zip(result.reads, result.writes, expected.reads, expected.writes, strict=True)
    for position, (reads, writes, right_reads, right_writes) in enumerate(pairs):
        if reads != right_reads:
            return f"instruction {position} reads something else"
        if writes != right_writes:
            return f"instruction {position} computes something else"
    if result.damaged:
        return f"{result.damaged} bytes behind the memory were written"
    return "an output is destroyed after it was computed"


if __name__ == "__main__":
    sys.exit(main())
