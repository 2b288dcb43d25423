"""Problems as the compiled planner and the compiled verifier know them.

Neither has anything else in common with the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from onearena import _core
from onearena.errors import PlanError
from onearena.lifetime import Interval, merge
from onearena.problem import Buffer, Memory, Problem

UNLIMITED = (1 << 63) - 1
FREE = -1


def check_problem(problem: Problem, memories: Sequence[Memory] = ()) -> None:
    """Checks what the compiled core would not see: the order of intervals, ids, memories.

    Raises:
        PlanError: it is malformed.
    """
    for number, buffer in enumerate(problem.buffers):
        name = buffer.name or f"buffer {number}"
        if buffer.id != number:
            raise PlanError(f"{name}: its id is {buffer.id}, its position is {number}")
        if buffer.offset is not None and buffer.offset < 0:
            raise PlanError(f"{name}: its offset is negative")
        if buffer.hint is not None and buffer.hint < 0:
            raise PlanError(f"{name}: its hint is negative")
        if any(interval.start >= interval.end for interval in buffer.lifetime):
            raise PlanError(f"{name}: an interval of its lifetime is empty")
        if any(a.end > b.start for a, b in pairwise(buffer.lifetime)):
            raise PlanError(f"{name}: the intervals of its lifetime overlap or are out of order")
        for window in buffer.windows:
            inside = any(
                life.start <= window.lifetime.start and window.lifetime.end <= life.end
                for life in merge(buffer.lifetime)
            )
            if not inside:
                raise PlanError(f"{name}: a window is not inside its lifetime")
    arenas = [memory.arena for memory in memories]
    if len(set(arenas)) < len(arenas):
        raise PlanError("two memories are of one arena")
    if any(memory.weight < 1 for memory in memories):
        raise PlanError("the weight of a memory must be positive")


def to_native(problem: Problem, memories: Sequence[Memory] = ()) -> _core.Problem:
    """The problem as the core knows it; arenas are numbered in ascending order.

    Raises:
        PlanError: the problem is malformed, or a number does not fit into 64 bits.
    """
    check_problem(problem, memories)
    given = {memory.arena: memory for memory in memories}
    arenas = sorted({*problem.arenas, *given})
    index = {arena: k for k, arena in enumerate(arenas)}
    native = _core.Problem()
    try:
        for arena in arenas:
            memory = given.get(arena, Memory(arena))
            capacity = memory.capacity_bytes
            native.add_memory(UNLIMITED if capacity is None else capacity, memory.weight)
        for buffer in problem.buffers:
            _add(native, buffer, index)
        for group in problem.groups:
            native.add_group([(member.buffer, member.delta) for member in group])
        for first, second in problem.may_share:
            native.add_pair(first, second)
    except TypeError:
        raise PlanError("a number of the problem does not fit into 64 bits") from None
    return native


def _add(native: _core.Problem, buffer: Buffer, index: dict[int, int]) -> None:
    life = buffer.lifetime
    gaps = [(a.end, b.start, 0, 0) for a, b in pairwise(life) if a.end < b.start]
    gaps += [(w.lifetime.start, w.lifetime.end, w.start_byte, w.end_byte) for w in buffer.windows]
    region = buffer.region or Interval(0, UNLIMITED)
    native.add_buffer(
        buffer.size_bytes,
        buffer.alignment,
        life[0].start if life else 0,
        life[-1].end if life else 0,
        gaps,
        FREE if buffer.offset is None else buffer.offset,
        FREE if buffer.hint is None else buffer.hint,
        region.start,
        region.end,
        buffer.is_last,
        [index[arena] for arena in dict.fromkeys((buffer.arena, *buffer.arenas))],
    )
