"""Emulated cores and exported programs, each made once per session."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

import pytest

from onearena.pte.container import PteFile
from tests.pte.build import read_bytes
from tests.qemu.cores import Core, missing_tools
from tests.qemu.machine import Machine
from tests.qemu.programs import Program, export

Machines = Callable[[Core], Machine]
Exported = Callable[[Program, Core], PteFile]


@pytest.fixture(scope="session")
def machines(tmp_path_factory: pytest.TempPathFactory) -> Machines:
    """The emulated cores, with the firmware compiled."""
    missing = missing_tools()
    if missing:
        pytest.skip(missing)
    pytest.importorskip(
        "executorch.backends.cortex_m.passes", reason="compares with ExecuTorch's kernels"
    )
    return cache(lambda core: Machine(core, tmp_path_factory.mktemp(core.target)))


@pytest.fixture(scope="session")
def exported(machines: Machines) -> Exported:
    """Exports programs."""
    return cache(
        lambda program, core: read_bytes(
            export(program, core.target), f"{program} on {core.target}"
        )
    )
