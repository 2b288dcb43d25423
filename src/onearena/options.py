"""The switches of `optimize`; a module of its own, so that the command line starts quickly."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum

from onearena.errors import UsageError
from onearena.memory_map import MemoryMap

ARENA_BASES = (0, 16, 32, 48)
"""Arenas begin at multiples of 16 bytes: ExecuTorch's own plans take that for granted."""


class Pointers(StrEnum):
    """Whether opened calls make their tables of pointers to pixels in each run, in scratch, or
    once, on the heap."""

    AUTO = "auto"
    """In scratch where that costs next to nothing in time and workspace."""
    ON = "on"
    OFF = "off"


@dataclass(frozen=True)
class Options:
    """Switches of `optimize`.

    Attributes:
        open_delegates: plan what lives inside XNNPACK calls; without it only the arenas.
        reorder: move kernels, and nodes inside opened calls, to where less is alive.
        time_limit_s: for the search of each plan that does not reach its lower bound.
        target: what the program will run on, "cortex-m0" to "cortex-m85": it is refused when it
            gives its kernels less than they need there.
        memory_map: the regions that planned memory may lie in; without it every tensor stays in
            the memory that it is in. With it every method is planned anew, smaller or not.
        strips: run parts of opened calls in strips of rows, so that their largest activations
            are never whole. Not with a memory map.
        simplify: leave out copies, transposes and paddings inside opened calls that change nothing.
        in_place_kernels: let kernels write over operands where that is proven to be safe.
        join_in_place: results of concatenations, slices and views lie where their operands do,
            where that saves memory. Not with a memory map.
        rematerialise: cheap kernels run once more where keeping their results would take more
            memory. Not with a memory map.
        transient_indirection: where opened calls keep their tables of pointers to pixels; all of
            them in scratch (on) cost up to 5 % of the time, and workspace.
        max_latency: how much longer a run may take, as a ratio: strips compute some rows twice,
            kernels run once more, and pointers in scratch are made anew. By a model of the work,
            and measured if that is asked for.
        measure_latency: run the result beside the original on the installed ExecuTorch; what
            makes it slower than `max_latency`, or changes a bit, is undone. Takes seconds, and
            not on every machine it ends alike. Not with a target or a memory map.
        arena_base: what an arena's address is where the program will run, modulo 64: 0, 16, 32
            or 48. None: 16 for arenas of 128 KiB and more, as glibc's malloc has it, and 0
            else. A wrong one costs some time, nothing more. Without a meaning for
            microcontrollers and memory maps.
    """

    open_delegates: bool = True
    reorder: bool = True
    time_limit_s: float = 0.5
    target: str | None = None
    memory_map: MemoryMap | None = None
    strips: bool = True
    simplify: bool = True
    in_place_kernels: bool = True
    join_in_place: bool = True
    rematerialise: bool = True
    transient_indirection: Pointers = Pointers.AUTO
    max_latency: float = 1.02
    measure_latency: bool = False
    arena_base: int | None = None


def check_options(options: Options) -> None:
    """Refuses options that make no sense.

    Raises:
        UsageError: the first one, in words.
    """
    if not 1 <= options.max_latency < math.inf:
        raise UsageError(f"max_latency must be a ratio of at least 1, it is {options.max_latency}")
    if not isinstance(options.transient_indirection, Pointers):
        names = ", ".join(Pointers)
        raise UsageError(
            f"transient_indirection must be of {names}, it is {options.transient_indirection!r}"
        )
    if options.arena_base not in (None, *ARENA_BASES):
        raise UsageError(f"arena_base must be of {ARENA_BASES}, it is {options.arena_base!r}")
    if options.measure_latency and (options.target or options.memory_map):
        raise UsageError("latency cannot be measured for a target or a memory map")
