"""A program file → the sizes of its pools: what `onearena sizes` prints."""

from __future__ import annotations

import os
from collections.abc import Iterable
from dataclasses import replace

from onearena.cortex_m.check import check_target
from onearena.cortex_m.needs import MemoryNeed
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.sizes.pools import program_pools
from onearena.sizes.results import ProgramPools
from onearena.sizes.targets import Target, find_target


def program_sizes(path: str | os.PathLike[str], target: str = "host64") -> ProgramPools:
    """How large every pool must be that an application gives to the runtime, in bytes.

    Args:
        path: of the program.
        target: what it will run on: "host64", or "cortex-m0" to "cortex-m85".

    Raises:
        UsageError: there is no such target.
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself, or (`TargetMismatchError`) was exported for
            a core on which its kernels need less.
    """
    machine = find_target(target)
    with open_pte(path) as file:
        return checked_pools(file, machine)


def checked_pools(file: PteFile, target: Target) -> ProgramPools:
    """The pools of the program in `file`, when it can run on `target`.

    Raises:
        AnalysisError: a method contradicts itself, or (`TargetMismatchError`) was exported for
            a core on which its kernels need less.
    """
    unknown = check_target(file, target.name)
    pools = program_pools(file, target)
    return replace(pools, notes=(*pools.notes, *_scratch_notes(unknown)))


def _scratch_notes(unknown: Iterable[MemoryNeed]) -> Iterable[str]:
    for need in unknown:
        where = f"{need.operator} (instruction {need.instruction})"
        yield f"whether the {need.argument} of {where} is large enough is not known: {need.note}"
