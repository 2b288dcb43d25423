"""Measures candidates of `optimize` on the installed ExecuTorch: same bits? how fast?

How it is decided, on a machine that may be busy with other things: both programs are loaded in
one child process and run in pairs, each first in every other one; what counts is the median of the
ratios of the pairs, with the interval that holds the true one with 99 % confidence. Pairs are run
until the interval is clear of the limit, or for 10 seconds. A candidate that seems too slow is run
again in a second process, in which it is loaded first: where memory happens to lie in a process
makes some per cent of difference, which more runs in it cannot tell from the program. It is
too slow if both intervals are above the limit.
"""

from __future__ import annotations

import math
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onearena.errors import ExecutionError
from onearena.latency import Pace
from onearena.pte import open_pte
from onearena.runtime.bindings import check_installed, runtime_version
from onearena.runtime.inputplan import InputPlan
from onearena.runtime.jobs import DEFAULT_TIMEOUT_S, Tell, run_job
from onearena.runtime.planning import plan_inputs
from onearena.runtime.ratios import NORMAL_99, median

_RUNS = 5
"""So many runs are compared bit for bit, each with other inputs."""


class StockMeasurer:
    """A :class:`onearena.latency.Measurer`: the installed ExecuTorch, with random inputs."""

    def __init__(self, progress: Tell | None = None, timeout_s: float = DEFAULT_TIMEOUT_S) -> None:
        """Nothing is run yet.

        Args:
            progress: is told from time to time what is being done.
            timeout_s: seconds each child process may take.

        Raises:
            RuntimeUnavailableError: no runtime is installed.
        """
        check_installed()
        self._progress, self._timeout_s = progress, timeout_s
        self._plans: dict[tuple[Path, str], InputPlan] = {}

    def __call__(
        self, original: Path, candidate: Path, methods: Sequence[str], limit: float
    ) -> Mapping[str, Pace]:
        """The pace of each of the methods, by name.

        Raises:
            RuntimeUnavailableError: the runtime cannot be loaded.
            FormatError, UsageError, AnalysisError: of the original.
            ExecutionError: the original cannot be run.
        """
        task = _Task(original, candidate, limit, self._timeout_s, self._progress)
        return self._paces(task, [self._inputs(original, name) for name in methods])

    def _inputs(self, original: Path, method: str) -> InputPlan:
        if (original, method) not in self._plans:
            with open_pte(original) as file:
                (plan,) = plan_inputs(file, method, seed=0, files=None, timeout_s=self._timeout_s)
            self._plans[original, method] = plan
        return self._plans[original, method]

    def _paces(self, task: _Task, plans: Sequence[InputPlan]) -> dict[str, Pace]:
        try:
            found = task.run(plans)
        except ExecutionError as error:
            if len(plans) > 1:  # which of them was it?
                return {k: v for plan in plans for k, v in self._paces(task, [plan]).items()}
            task.of_original().run(plans, timed=False)
            return {plan.method: _refused(str(error)) for plan in plans}
        again = [plan for plan in plans if found[plan.method].pace.low > task.limit]
        if again:
            second = replace(task, b_first=True).run(again)
            found.update({name: found[name].joined(other) for name, other in second.items()})
        differing = [plan for plan in plans if found[plan.method].pace.fault is not None]
        if differing:
            alone = task.of_original().run(differing, timed=False)
            for name, same in alone.items():
                if same.pace.fault is not None:  # no two runs are alike: there is nothing to say
                    found[name] = found[name].uncompared()
        return {name: each.pace for name, each in found.items()}


@dataclass(frozen=True)
class _Found:
    """What a child process found out about one method."""

    ratios: tuple[float, ...]
    pace: Pace

    def joined(self, other: _Found) -> _Found:
        """With a second process: an interval that holds both."""
        ratios = (*self.ratios, *other.ratios)
        pace = replace(
            self.pace,
            ratio=median(ratios).value,
            low=min(self.pace.low, other.pace.low),
            high=max(self.pace.high, other.pace.high),
            pairs=len(ratios),
            compared_runs=self.pace.compared_runs + other.pace.compared_runs,
            fault=self.pace.fault or other.pace.fault,
        )
        return _Found(ratios, pace)

    def uncompared(self) -> _Found:
        """Without a word on bits."""
        return replace(self, pace=replace(self.pace, fault=None, compared_runs=0))


@dataclass(frozen=True)
class _Task:
    original: Path
    candidate: Path
    limit: float
    timeout_s: float
    progress: Tell | None
    b_first: bool = False

    def of_original(self) -> _Task:
        """The original beside itself."""
        return replace(self, candidate=self.original)

    def run(self, plans: Sequence[InputPlan], *, timed: bool = True) -> dict[str, _Found]:
        """One child process.

        Raises:
            ExecutionError: a program cannot be run.
        """
        job = {
            "a": os.path.abspath(self.original),  # noqa: PTH100 (a string goes to the child)
            "b": os.path.abspath(self.candidate),  # noqa: PTH100
            "plans": [plan.to_json() for plan in plans],
            "runs": max(_RUNS, *(len(plan.sizes) for plan in plans)),
            "measure": False,
            "limit": self.limit if timed else None,
            "b_first": self.b_first,
        }
        result = run_job("compare", job, timeout_s=self.timeout_s, tell=self.progress)
        return dict(_found(result["methods"]))


def _found(methods: Iterable[dict[str, Any]]) -> Iterable[tuple[str, _Found]]:
    machine = f"{platform.machine()}, ExecuTorch {runtime_version()}"
    for method in methods:
        ratios = tuple(method["latency_ratios"])
        middle = median(ratios, NORMAL_99)
        difference = method["first_difference"]
        pace = Pace(
            middle.value,
            middle.low,
            middle.high,
            len(ratios),
            method["runs"],
            machine,
            None if difference is None else f"outputs differ on {machine}: {difference}",
        )
        yield method["name"], _Found(ratios, pace)


def _refused(reason: str) -> Pace:
    """It does not run, and the original does."""
    return Pace(math.inf, math.inf, math.inf, 0, fault=f"it does not run: {reason}")
