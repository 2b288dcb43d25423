"""Runs two programs side by side (child side)."""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any

from onearena.pte import open_pte
from onearena.runtime.bits import Difference, compare_outputs, merge
from onearena.runtime.inputplan import InputPlan, InputSource, MethodFacts
from onearena.runtime.ratios import NORMAL_99, median
from onearena.runtime.session import Session
from onearena.runtime.signature import select_plans
from onearena.runtime.worker import Desk

_TIMED_SECONDS = 3.0
_MIN_PAIRS, _MAX_PAIRS = 8, 60  # even: each side goes first as often as the other
_DECIDING_SECONDS = 10.0
_MOST_DECIDING_PAIRS = 1024


def compare_job(job: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """The job `compare`: paths, plans, runs, measure → what each method did on both sides.

    With a `limit` more pairs are timed until it is clear on which side of it the ratio lies; with
    `b_first` the second program is loaded first.
    """
    plans = [InputPlan.from_json(plan) for plan in job["plans"]]
    facts = _facts(job["a"], plans)
    # Methods of one program share its arenas: with state in them, each needs arenas of its own.
    groups = [[p] for p in plans] if any(p.is_stateful for p in plans) else [plans]
    results: list[dict[str, Any]] = []
    for group in groups:
        with _pair(job["a"], job["b"], desk, b_first=job.get("b_first", False)) as pair:
            for plan in group:
                source = InputSource(facts[plan.method], plan)
                trial = _Trial(pair, plan.method, source)
                trial.compare(job["runs"])
                if job.get("limit") is not None:
                    trial.time_against(job["limit"])
                elif job["measure"]:
                    trial.time()
                results.append(trial.result(job["runs"], plan))
    return {"methods": results}


def _facts(path: str, plans: list[InputPlan]) -> Mapping[str, MethodFacts]:
    with open_pte(path) as file:
        return {
            plan.method: MethodFacts.of(file, select_plans(file.program, plan.method, path)[0])
            for plan in plans
        }


@dataclass(frozen=True)
class _Pair:
    a: Session
    b: Session
    desk: Desk

    def run(
        self, method: str, inputs: tuple[list[Any], list[Any]], what: str, *, b_first: bool
    ) -> tuple[tuple[Any, ...], tuple[Any, ...], float, float]:
        """Both outputs and both times in seconds."""
        sides = [("a", self.a, inputs[0]), ("b", self.b, inputs[1])]
        done: dict[str, tuple[tuple[Any, ...], float]] = {}
        for name, session, values in reversed(sides) if b_first else sides:
            self.desk.note(f"{session.path}: method {method!r}, {what}", name)
            done[name] = session.run_timed(method, values)
        return done["a"][0], done["b"][0], done["a"][1], done["b"][1]


@contextmanager
def _pair(a: str, b: str, desk: Desk, *, b_first: bool) -> Iterator[_Pair]:
    sides = [("a", a), ("b", b)]
    with ExitStack() as stack:
        sessions: dict[str, Session] = {}
        for name, path in reversed(sides) if b_first else sides:
            desk.note(f"{path}: loading", name)
            sessions[name] = stack.enter_context(Session(path, desk.log(name)))
        yield _Pair(sessions["a"], sessions["b"], desk)


@dataclass
class _Trial:
    pair: _Pair
    method: str
    source: InputSource
    difference: Difference = field(default_factory=Difference)
    seconds: list[tuple[float, float]] = field(default_factory=list)
    outputs: int = 0

    def compare(self, runs: int) -> None:
        """The same sequence of runs on both sides, so that state develops in step."""
        for run in range(runs):
            inputs = self.source.inputs(run), self.source.inputs(run)
            a, b, *seconds = self.pair.run(
                self.method, inputs, f"run {run} of {runs}", b_first=run % 2 == 1
            )
            self.outputs = len(a)
            self.seconds.append((seconds[0], seconds[1]))
            found = compare_outputs(a, b)
            if found:
                sizes = [list(x) for x in self.source.sizes(run) if x is not None]
                what = f"run {run} (inputs {sizes}): {found.what}"
                self.difference = merge(self.difference, Difference(what, found.max_abs))

    def time(self) -> None:
        """Pairs of runs at the largest sizes; the comparison has warmed both sides up."""
        deadline = time.perf_counter() + _TIMED_SECONDS
        for count in self._timed_pairs():
            enough = count >= _MIN_PAIRS and count % 2 == 0
            if count >= _MAX_PAIRS or (enough and time.perf_counter() > deadline):
                return

    def time_against(self, limit: float) -> None:
        """Until the median ratio is above or below `limit` for sure, or there is no more time.

        Sure is looked for at 8, 16, 32, ... pairs only: who looks all the time finds what he
        looks for.
        """
        deadline = time.perf_counter() + _DECIDING_SECONDS
        look = _MIN_PAIRS
        for count in self._timed_pairs():
            late = count >= _MIN_PAIRS and time.perf_counter() > deadline
            if count >= _MOST_DECIDING_PAIRS or (late and count % 2 == 0):
                return
            if count == look:
                look *= 2
                found = median([b / a for a, b in self.seconds], NORMAL_99)
                if found.low > limit or found.high <= limit:
                    return

    def _timed_pairs(self) -> Iterator[int]:
        """Times one pair more at the largest sizes; how many there are."""
        inputs = self.source.inputs(0), self.source.inputs(0)
        self.seconds = []
        self.pair.run(self.method, inputs, "warm-up", b_first=False)
        for number in itertools.count():
            b_first = number % 2 == 1
            *_, a, b = self.pair.run(self.method, inputs, f"timed pair {number}", b_first=b_first)
            self.seconds.append((a, b))
            yield number + 1

    def result(self, runs: int, plan: InputPlan) -> dict[str, Any]:
        """As a JSON object. A first run warms up: without others its time says nothing."""
        pairs = self.seconds if len(self.seconds) != runs or runs == 1 else self.seconds[1:]
        sizes = {self.source.sizes(run): None for run in range(runs)}
        difference = self.difference.max_abs
        return {
            "name": self.method,
            "bit_exact": not self.difference,
            "runs": runs,
            "max_abs_diff": None if difference is None else repr(difference),
            "first_difference": self.difference.what,
            "latency_ratio_median": statistics.median(b / a for a, b in pairs),
            "latency_ratio_best": min(b for _, b in pairs) / min(a for a, _ in pairs),
            "latency_s": [statistics.median(times) for times in zip(*pairs, strict=True)],
            "latency_pairs": len(pairs),
            "latency_ratios": [b / a for a, b in pairs],
            "sizes": list(sizes),
            "outputs": self.outputs,
            "is_stateful": plan.is_stateful,
            "integers": plan.strategy.value,
        }
