"""The switches of `optimize`; a module of its own, so that the command line starts quickly."""

from __future__ import annotations

from dataclasses import dataclass

from onearena.memory_map import MemoryMap


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
        transient_indirection: opened calls make their tables of pointers to pixels in each run, in
            their workspace, and keep none on the heap. Costs up to 5 % of the time.
        max_latency: how much longer a run may take, as a ratio: strips compute some rows twice.
            By a model of the work: measuring is up to the caller.
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
    transient_indirection: bool = False
    max_latency: float = 1.02
