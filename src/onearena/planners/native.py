"""The compiled planner: hands problems over to `onearena._core`, and plans back.

Arenas become the core's memories, in ascending order.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise

from onearena import _core
from onearena.errors import InfeasibleError, PlanError, PlanTimeoutError
from onearena.lifetime import Interval
from onearena.problem import Buffer, Memory, Plan, Problem

UNLIMITED = (1 << 63) - 1
FREE = -1

DEFAULT_TIME_LIMIT_S = 1.0


def plan(
    problem: Problem,
    *,
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
    threads: int = 1,
    seed: int = 0,
    memories: Sequence[Memory] = (),
    fit_only: bool = False,
) -> Plan:
    """Plans a problem as well as the time allows, and says how good the plan is.

    The sum over all arenas of weight x height is minimised. The same problem, options and seed
    give the same plan, whatever the number of threads, unless the time limit cuts the search off.

    Args:
        time_limit_s: seconds after which the best plan so far is returned.
        threads: how many threads may search.
        seed: of the randomised parts.
        memories: capacities and weights of arenas; others are unlimited and have weight 1.
        fit_only: stop at the first plan that fits the capacities.

    Raises:
        InfeasibleError: no plan keeps to the constraints.
        PlanTimeoutError: no plan was found in time, and none was proven impossible.
        PlanError: the problem is malformed.
        KeyboardInterrupt: Ctrl-C.
    """
    if not time_limit_s >= 0 or threads < 1 or not 0 <= seed < 1 << 64:
        raise PlanError(
            "the time limit and the seed must not be negative, threads must be positive"
        )
    arenas = sorted({*problem.arenas, *(memory.arena for memory in memories)})
    if not arenas:
        return Plan((), {}, {}, "empty", True)
    native = to_native(problem, memories)
    try:
        found = _core.plan(native, time_limit_s, threads, seed, fit_only)
    except _core.MalformedProblemError as error:
        raise PlanError(_with_name(problem, str(error))) from None
    if found.status == "infeasible":
        names = [_name(problem.buffers[k]) for k in found.conflict]
        raise InfeasibleError(
            f"no plan is possible: {', '.join(names) or 'the constraints'} cannot all be placed",
            tuple(found.conflict),
        )
    if found.status == "timeout":
        raise PlanTimeoutError(f"no plan was found in {time_limit_s:g} s; there may be one")
    return Plan(
        tuple(found.offsets),
        dict(zip(arenas, found.heights, strict=True)),
        dict(zip(arenas, found.lower_bounds, strict=True)),
        found.method,
        found.status == "optimal",
        tuple(arenas[k] for k in found.memories),
        0 if any(memory.weight != 1 for memory in memories) else found.cost_bound,
    )


def lower_bound_bytes(problem: Problem, arena: int) -> int:
    """A bound on the height of one arena that holds the buffers that can lie nowhere else: no plan
    is lower. It is found in no time; `plan` may prove a better one.

    Raises:
        PlanError: the problem is malformed.
    """
    arenas = problem.arenas
    if arena not in arenas:
        return 0
    try:
        return _core.lower_bound(to_native(problem), arenas.index(arena))
    except _core.MalformedProblemError as error:
        raise PlanError(_with_name(problem, str(error))) from None


def _with_name(problem: Problem, message: str) -> str:
    """The core knows buffers by their position only."""
    found = re.match(r"buffer (\d+): ", message)
    if found is None:
        return message
    return f"{_name(problem.buffers[int(found[1])])}: {message[found.end() :]}"


def _name(buffer: Buffer) -> str:
    return buffer.name or f"buffer {buffer.id}"


def to_native(problem: Problem, memories: Sequence[Memory] = ()) -> _core.Problem:
    """The problem as the core knows it; arenas are numbered in ascending order.

    Raises:
        PlanError: a number does not fit into 64 bits.
    """
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
