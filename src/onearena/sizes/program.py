"""A program file → the sizes of its pools: what `onearena sizes` prints."""

from __future__ import annotations

import os

from onearena.pte.reader import open_pte
from onearena.sizes.pools import program_pools
from onearena.sizes.results import ProgramPools
from onearena.sizes.targets import find_target


def program_sizes(path: str | os.PathLike[str], target: str = "host64") -> ProgramPools:
    """How large every pool must be that an application gives to the runtime, in bytes.

    Args:
        path: of the program.
        target: what it will run on: "host64", or "cortex-m0" to "cortex-m85".

    Raises:
        UsageError: there is no such target.
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself.
    """
    machine = find_target(target)
    with open_pte(path) as file:
        return program_pools(file, machine)
