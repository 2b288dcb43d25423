"""The planner of this project."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from onearena.problem import Memory

from .instances import ARENA
from .tasks import Answer, Task, repeated, timed


def onearena(task: Task) -> Iterator[Answer]:
    """The compiled planner on one thread."""
    from onearena import _core
    from onearena.native_problem import to_native

    capacity = task.instance.capacity if task.fit_only else None
    memories = (Memory(ARENA, capacity),)
    native, prepared_s = timed(lambda: to_native(task.instance.problem, memories))
    for seed in task.seeds:
        measure = timed if task.fit_only else repeated  # of a fit there are many seeds anyhow
        found, seconds = measure(
            partial(_core.plan, native, task.time_limit_s, 1, seed, task.fit_only)
        )
        yield Answer(
            seed,
            tuple(found.offsets),
            seconds,
            prepared_s,
            found.lower_bounds[0] if found.lower_bounds else None,
            found.status == "optimal",
            found.method or found.status,
        )
