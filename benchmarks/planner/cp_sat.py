"""OR-tools CP-SAT, one worker: offsets are variables, times are fixed, no two boxes overlap."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from math import gcd
from typing import TYPE_CHECKING

from .greedy import first_fit
from .instances import Instance, height, load, occupied
from .tasks import Answer, Task, Unsupported, timed

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

MOST_BUFFERS = 2_500

_Model = tuple["cp_model.CpModel", list["cp_model.LinearExpr"], int]


def cp_sat(task: Task) -> Iterator[Answer]:
    """Looks for any plan in the capacity, or for a small one.

    Small ones it finds best when it is asked for a plan at the load first, which it gets half of
    the time for. Then it minimises, starting from a greedy plan, with the load as a lower bound.
    The time limit does not count building models.
    """
    instance = task.instance
    if instance.buffers > MOST_BUFFERS:
        raise Unsupported("too large")
    tight = instance.capacity if task.fit_only else load(instance.problem)
    assert tight is not None
    fitting, prepared_s = timed(lambda: _model(instance, tight, None))
    for seed in task.seeds:
        answer = _solve(fitting, seed, task.time_limit_s / (1 if task.fit_only else 2))
        answer = replace(answer, prepared_s=prepared_s)
        if not task.fit_only:
            answer = replace(answer, bound=tight, is_proven=bool(answer.offsets))
        if not task.fit_only and not answer.offsets:
            answer = _minimise(instance, answer, task.time_limit_s)
        yield answer


def _minimise(instance: Instance, before: Answer, time_limit_s: float) -> Answer:
    """In what was left of the time."""
    greedy = first_fit(instance.problem)
    model, prepared_s = timed(lambda: _model(instance, height(instance.problem, greedy), greedy))
    answer = _solve(model, before.seed, max(0.0, time_limit_s - before.seconds))
    return replace(
        answer,
        seconds=before.seconds + answer.seconds,
        prepared_s=before.prepared_s + prepared_s,
    )


def _solve(model: _Model, seed: int, time_limit_s: float) -> Answer:
    from ortools.sat.python import cp_model

    problem, offsets, unit = model
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.random_seed = seed
    solver.parameters.max_time_in_seconds = time_limit_s
    status, seconds = timed(partial(solver.solve, problem))
    is_found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    return Answer(
        seed,
        tuple(solver.value(offset) * unit for offset in offsets) if is_found else (),
        seconds,
        bound=round(solver.best_objective_bound) * unit if problem.has_objective() else None,
        is_proven=status == cp_model.OPTIMAL and problem.has_objective(),
        note=solver.status_name(status).lower(),
    )


def _model(instance: Instance, limit: int, greedy: Sequence[int] | None) -> _Model:
    """The model, the offsets in it, and the bytes of its unit; minimised if a plan is given."""
    from ortools.sat.python import cp_model

    buffers = instance.problem.buffers
    numbers = [b.alignment for b in buffers if b.alignment > 1]
    numbers += [n for b in buffers for p in occupied(b) for n in p[2:]]
    numbers += [n for b in buffers for n in (b.size_bytes, b.offset or 0)]
    unit = gcd(*numbers)
    limit //= unit

    model = cp_model.CpModel()
    top = model.new_int_var(min(limit, -(-load(instance.problem) // unit)), limit, "height")
    offsets: list[cp_model.LinearExpr] = []
    times, bytes_ = [], []
    for buffer in buffers:
        size, step = buffer.size_bytes // unit, max(1, buffer.alignment // unit)
        low, high = 0, (limit - size) // step
        if buffer.offset is not None:
            low = high = buffer.offset // unit // step
        index = model.new_int_var(low, high, "")
        offset = index * step if step > 1 else index
        offsets.append(offset)
        model.add(offset + size <= top)
        if greedy is not None:
            model.add_hint(index, greedy[buffer.id] // unit // step)
        for begin, end, first, last in occupied(buffer):
            length = (last - first) // unit
            times.append(model.new_fixed_size_interval_var(begin, end - begin, ""))
            at = offset + first // unit
            bytes_.append(model.new_fixed_size_interval_var(at, length, ""))
    model.add_no_overlap_2d(times, bytes_)
    if greedy is not None:
        model.minimize(top)
    return model, offsets, unit
