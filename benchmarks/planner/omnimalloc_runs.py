"""OmniMalloc, one thread. It knows pins in its greedy planner; it knows no gaps, no alignment."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from onearena.problem import Problem

from .instances import Instance
from .tasks import Answer, Task, Unsupported, repeated, timed

if TYPE_CHECKING:
    from omnimalloc import Allocation


_WITHOUT_END = 10**9
# With more, the tabu search does not come to its first step in the time that it has.
MOST_BUFFERS = 5_000


def supermalloc(task: Task) -> Iterator[Answer]:
    """Its branch and bound, which starts from a portfolio of greedy plans."""
    import omnimalloc
    from omnimalloc.allocators import SupermallocAllocator

    omnimalloc.set_max_threads(1)
    problem, unit = _plain(task.instance)
    _refuse_pins(problem)
    allocations, prepared_s = timed(lambda: _allocations(problem, unit))
    planner = SupermallocAllocator(timeout=task.time_limit_s, num_threads=1)
    result, seconds = repeated(lambda: planner.solve(allocations))
    yield Answer(
        0,
        _offsets(result.allocations, unit),
        seconds,
        prepared_s,
        result.lower_bound if unit == 1 else None,  # rounded sizes may prove too much
        result.proved_optimal and unit == 1,
        "SuperMalloc",
    )


def tabu(task: Task) -> Iterator[Answer]:
    """Its tabu search, for as long as it may: the best of its other planners."""
    import omnimalloc
    from omnimalloc.allocators import TabuSearchAllocator

    omnimalloc.set_max_threads(1)
    if task.instance.buffers > MOST_BUFFERS:
        raise Unsupported("too large")
    problem, unit = _plain(task.instance)
    _refuse_pins(problem)
    allocations, prepared_s = timed(lambda: _allocations(problem, unit))
    planner = TabuSearchAllocator(max_iterations=_WITHOUT_END, timeout=task.time_limit_s)
    placed, seconds = timed(lambda: planner.allocate(allocations))
    yield Answer(0, _offsets(placed, unit), seconds, prepared_s, note="tabu search")


def omni(task: Task) -> Iterator[Answer]:
    """Its portfolio of greedy planners, the only one of the three that keeps pins."""
    import omnimalloc
    from omnimalloc.allocators import OmniAllocator

    omnimalloc.set_max_threads(1)
    problem, unit = _plain(task.instance)
    allocations, prepared_s = timed(lambda: _allocations(problem, unit))
    placed, seconds = repeated(lambda: OmniAllocator().allocate(allocations))
    yield Answer(0, _offsets(placed, unit), seconds, prepared_s, note="Omni")


def _plain(instance: Instance) -> tuple[Problem, int]:
    """The problem, and its only alignment; sizes are rounded up to that."""
    buffers = instance.problem.buffers
    if any(buffer.windows or len(buffer.lifetime) != 1 for buffer in buffers):
        raise Unsupported("no gaps")
    alignments = {buffer.alignment for buffer in buffers}
    if len(alignments) > 1:
        raise Unsupported("one alignment only")
    return instance.problem, max(alignments, default=1)


def _refuse_pins(problem: Problem) -> None:
    if any(buffer.offset is not None for buffer in problem.buffers):
        raise Unsupported("no pins")


def _allocations(problem: Problem, unit: int) -> tuple[Allocation, ...]:
    from omnimalloc import Allocation

    return tuple(
        Allocation(
            buffer.id,
            -(-buffer.size_bytes // unit),
            buffer.lifetime[0].start,
            buffer.lifetime[0].end,
            None if buffer.offset is None else buffer.offset // unit,
        )
        for buffer in problem.buffers
    )


def _offsets(placed: tuple[Allocation, ...], unit: int) -> tuple[int, ...]:
    by_id = {int(allocation.id): allocation.offset for allocation in placed}
    return tuple((by_id[k] or 0) * unit for k in range(len(placed)))
