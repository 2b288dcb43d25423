"""Compiles the firmware, runs it in QEMU, and reads what it says."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.qemu.cores import COMPILER, EMULATOR, Core
from tests.qemu.emit import source
from tests.qemu.tables import Case

FIRMWARE = Path(__file__).with_name("firmware")
FLAGS = (
    *("-std=c11", "-O2", "-Wall", "-Wextra", "-Werror"),
    *("-ffreestanding", "-nostdlib", "-fno-tree-loop-distribute-patterns"),
    # wrong plans let tensors of different types overlap
    "-fno-strict-aliasing",
    # the host rounds after every operation
    "-ffp-contract=off",
    f"-I{FIRMWARE}",
)
TIME_LIMIT_S = 300
"""Of one run; one that takes more hangs."""
MODES = ("plain", "strict")


@dataclass(frozen=True)
class Result:
    """What one run of a case did.

    Attributes:
        reads: by instruction, the hash of what it found in its operands.
        writes: by instruction, the hash of what it left in its output.
        damaged: how many guard bytes changed.
        outputs: the bytes of the method's outputs.
        refused: why the run ended early: ("scratch", instruction, missing bytes), or
            ("core", instruction, 0); None when it did not.
    """

    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    damaged: int = 0
    outputs: tuple[bytes, ...] = ()
    refused: tuple[str, int, int] | None = None


@dataclass(frozen=True)
class Runs:
    """A case with nothing but the plan (`plain`), and as hard on the plan as any kernel may be:
    outputs and scratch scrambled before each call, scratch again after it (`strict`)."""

    plain: Result
    strict: Result


class Machine:
    """A core, and the part of the firmware that does not depend on the program."""

    def __init__(self, core: Core, folder: Path) -> None:
        """Compiles the firmware into `folder`."""
        self.core, self._folder, self._count = core, folder, 0
        self._objects: list[str] = []
        for path in sorted(FIRMWARE.glob("*.c")):
            target = folder / f"{path.stem}.o"
            self._compile("-c", str(path), "-o", str(target))
            self._objects.append(str(target))

    def run(self, cases: Sequence[Case]) -> dict[str, Runs]:
        """Runs cases one after another in one firmware; by name."""
        self._count += 1
        program = self._folder / f"program_{self._count}.c"
        image = program.with_suffix(".elf")
        program.write_text(source(cases))
        script = FIRMWARE / "firmware.ld"
        linking = (f"-T{script}", *self._objects, "-lgcc", "-o", str(image))
        self._compile(str(program), *linking)
        found = parse(self._emulate(image))
        return {
            case.name: Runs(*(found[f"{case.name} {mode}"] for mode in MODES)) for case in cases
        }

    def _compile(self, *arguments: str) -> None:
        command = [COMPILER, *FLAGS, *self.core.flags, *arguments]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-5000:]

    def _emulate(self, image: Path) -> str:
        options = ("-display", "none", "-serial", "none", "-monitor", "none")
        console = ("-semihosting-config", "enable=on,target=native")
        command = [EMULATOR, "-M", self.core.machine, *options, *console, "-kernel", str(image)]
        done = subprocess.run(
            command, capture_output=True, text=True, check=False, timeout=TIME_LIMIT_S
        )
        assert done.returncode == 0, (done.stdout + done.stderr)[-2000:]
        return done.stdout + done.stderr  # the console of semihosting is the second


def parse(text: str) -> dict[str, Result]:
    """What the firmware wrote (`firmware/runner.c`), by name of the case and mode."""
    lines = text.splitlines()
    assert lines[-1:] == ["done"], text[-2000:]
    blocks: list[list[str]] = []
    for line in lines[:-1]:
        if line.startswith("method "):
            blocks.append([line.removeprefix("method ")])
        else:
            blocks[-1].append(line)
    return {name: _result(rest) for name, *rest in blocks}


def _result(lines: Sequence[str]) -> Result:
    if lines[0].startswith("refused "):
        _, reason, call, missing = lines[0].split(" ")
        return Result(refused=(reason, int(call), int(missing)))
    fields: Mapping[str, list[str]] = {
        line.split(" ")[0]: line.split(" ")[1:] for line in lines[:3]
    }
    outputs = tuple(bytes.fromhex(line.removeprefix("output ")) for line in lines[3:])
    return Result(
        tuple(int(text, 16) for text in fields["reads"]),
        tuple(int(text, 16) for text in fields["writes"]),
        int(fields["damaged"][0]),
        outputs,
    )
