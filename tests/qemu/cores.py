"""The cores that programs are compiled for, and the boards that QEMU emulates them on."""

from __future__ import annotations

import shutil
from dataclasses import dataclass

from onearena.cortex_m.cores import Isa, isa_of

COMPILER = "arm-none-eabi-gcc"
EMULATOR = "qemu-system-arm"
PACKAGES = {COMPILER: "gcc-arm-none-eabi", EMULATOR: "qemu-system-arm"}
"""By tool, the Debian package that has it."""


@dataclass(frozen=True)
class Core:
    """A core.

    Attributes:
        target: as onearena and the exporter name it.
        machine: of QEMU, with at least half a megabyte of memory at 0 and at 0x20000000.
        flags: of the compiler.
    """

    target: str
    machine: str
    flags: tuple[str, ...]

    def __str__(self) -> str:
        return self.target

    @property
    def isa(self) -> Isa:
        """Which kernels of CMSIS-NN run on it."""
        isa = isa_of(self.target)
        assert isa is not None
        return isa


M55 = Core("cortex-m55", "mps3-an547", ("-mcpu=cortex-m55", "-mfloat-abi=hard"))
M4 = Core("cortex-m4", "mps2-an386", ("-mcpu=cortex-m4", "-mfpu=fpv4-sp-d16", "-mfloat-abi=hard"))
M3 = Core("cortex-m3", "mps2-an385", ("-mcpu=cortex-m3", "-mfloat-abi=soft"))
CORES = (M55, M4, M3)
"""One of each kind: MVE, DSP, scalar."""


def missing_tools() -> str:
    """What is not installed here, in one line; empty when nothing is missing."""
    missing = [tool for tool in PACKAGES if shutil.which(tool) is None]
    if not missing:
        return ""
    names = " ".join(PACKAGES[tool] for tool in missing)
    return f"needs {' and '.join(missing)} (Debian: apt-get install {names})"
