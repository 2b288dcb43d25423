"""The compiled planner: hands problems over to `onearena._core`, and plans back.

Arenas become the core's memories, in ascending order.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from onearena import _core
from onearena.errors import InfeasibleError, PlanError, PlanTimeoutError
from onearena.native_problem import to_native
from onearena.problem import Memory, Plan, Problem

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
    if not 0 <= time_limit_s < math.inf:
        raise PlanError(f"the time limit must be a number of seconds, it is {time_limit_s}")
    if not isinstance(threads, int) or not 0 < threads < 1 << 31:
        raise PlanError(f"the number of threads must be a positive integer, it is {threads!r}")
    if not isinstance(seed, int) or not 0 <= seed < 1 << 64:
        raise PlanError(f"the seed must be an integer of 64 bits, it is {seed!r}")
    arenas = sorted({*problem.arenas, *(memory.arena for memory in memories)})
    if not arenas:
        return Plan((), {}, {}, "empty", True)
    native = to_native(problem, memories)
    try:
        found = _core.plan(native, time_limit_s, threads, seed, fit_only)
    except _core.MalformedProblemError as error:
        raise PlanError(_with_name(problem, str(error))) from None
    if found.status == "infeasible":
        names = [problem.buffers[k].label for k in found.conflict]
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
    return f"{problem.buffers[int(found[1])].label}: {message[found.end() :]}"
