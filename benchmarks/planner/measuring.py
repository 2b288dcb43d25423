"""Asks all planners the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Self

from onearena.closing import Closing

from .families import FAMILIES, make
from .instances import Instance, height, load, published
from .isolated import SOLVERS, Unanswered, Worker
from .records import Entry, Fit, Row
from .tasks import Answer, Task

Say = Callable[[str], None]


@dataclass(frozen=True)
class Budget:
    """How much to measure.

    Attributes:
        fit_seeds, fit_s: fitting the challenging instances.
        minimise_s, plans_s, traces_s, families_s: time limits of every planner.
        sizes, seeds_per_size: of the generated families.
        replan_seeds: structures that are planned anew.
    """

    fit_seeds: int
    fit_s: float
    minimise_s: float
    plans_s: float
    traces_s: tuple[float, ...]
    families_s: float
    sizes: tuple[int, ...]
    seeds_per_size: int
    replan_seeds: int


# 0.1 s of two for whatever a planner does after its time is over.
TRACE_S = 1.9
FULL = Budget(11, 3.0, 10.0, 1.0, (TRACE_S, 10.0), 1.0, (40, 150, 600), 2, 5)
QUICK = Budget(3, 1.0, 1.0, 1.0, (TRACE_S,), 0.3, (40, 150), 1, 1)

NOT_RUN = Entry(None, note="not run")


class Bench(Closing):
    """All planners, each in a process of its own that is kept between tasks."""

    def __init__(self, say: Say, *, rivals: bool = True) -> None:
        self._say = say
        self._rivals = rivals
        self._stack = ExitStack()
        self._workers: dict[str, Worker] = {}

    def __enter__(self) -> Self:
        self._workers = {name: self._stack.enter_context(Worker(name)) for name in SOLVERS}
        return self

    def close(self) -> None:
        """Ends the processes."""
        self._stack.close()

    def fits(self, budget: Budget) -> list[Fit]:
        """The challenging instances into their capacity."""
        return [self._fit(instance, budget) for instance in published("minimalloc")]

    def rows(self, instances: Iterable[Instance], limit_s: float) -> list[Row]:
        """Every instance as small as it gets in the time."""
        return [self._row(instance, limit_s) for instance in instances]

    def _fit(self, instance: Instance, budget: Budget) -> Fit:
        seeds = tuple(range(budget.fit_seeds))
        task = Task(instance, budget.fit_s, seeds, fit_only=True)
        found = self._workers["onearena"].run(task)
        seconds: list[float | None] = [None] * len(seeds)
        if not isinstance(found, Unanswered):
            for answer in found:
                if _fits(instance, answer.offsets):
                    seconds[answer.seed] = answer.seconds
        one = Task(instance, budget.fit_s, fit_only=True)
        rivals = [self._ask(name, one) for name in ("supermalloc", "cp-sat")]
        assert instance.capacity is not None
        fit = Fit(instance.name, instance.buffers, instance.capacity, seconds, *rivals)
        times = ", ".join("-" if s is None else f"{s:.3f}" for s in seconds)
        self._say(f"fit {instance.name}: {times} s; {_short(rivals)}")
        return fit

    def _row(self, instance: Instance, limit_s: float) -> Row:
        task = Task(instance, limit_s)
        bound = instance.optimum or load(instance.problem)
        ours = self._ask("onearena", task)
        bound = max(bound, ours.bound or 0) if instance.optimum is None else bound
        rivals = (self._omnimalloc(task, bound), self._ask("cp-sat", task))
        stock = self._ask("executorch", task)
        row = Row(
            instance.family,
            instance.name,
            instance.buffers,
            limit_s,
            bound,
            instance.optimum is not None,
            ours,
            *rivals,
            stock,
        )
        self._say(f"{instance.family} {instance.name}, bound {bound:,}: {_short([ours, *rivals])}")
        return row

    def _omnimalloc(self, task: Task, bound: int) -> Entry:
        """The best of its planners, each with all the time; the last only if it can matter."""
        found: list[Entry] = []
        for name in ("supermalloc", "omni", "tabu"):
            found.append(self._ask(name, task))
            if found[-1].is_proven or found[-1].height == bound:
                break
        plans = [entry for entry in found if entry.height is not None]
        return min(plans, key=lambda entry: entry.height or 0, default=found[0])

    def _ask(self, solver: str, task: Task) -> Entry:
        if not self._rivals and solver != "onearena":
            return NOT_RUN
        found = self._workers[solver].run(task)
        if isinstance(found, Unanswered):
            return Entry(None, note=found.why, is_failure=found.is_failure)
        return _entry(task.instance, found[0])


def _entry(instance: Instance, answer: Answer) -> Entry:
    found = bool(answer.offsets)
    return Entry(
        height(instance.problem, answer.offsets) if found else None,
        answer.seconds,
        answer.prepared_s,
        answer.bound,
        answer.is_proven,
        answer.note,
        not found,
    )


def _fits(instance: Instance, offsets: Sequence[int]) -> bool:
    if not offsets or instance.capacity is None:
        return False
    return height(instance.problem, offsets) <= instance.capacity


def _short(entries: Iterable[Entry]) -> str:
    return "; ".join(
        f"{e.note}: " + ("-" if e.height is None else f"{e.height:,} in {e.seconds:.4f} s")
        for e in entries
    )


def generated(budget: Budget, seeds: Sequence[int]) -> list[Instance]:
    """The same number of every family and size."""
    return [
        make(family, size, seed)
        for family in FAMILIES
        for size in budget.sizes
        for seed in seeds[: budget.seeds_per_size]
    ]
