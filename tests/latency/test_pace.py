"""How long is measured, and what is made of it: with a child process that is made up."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from onearena.errors import ExecutionError, RuntimeUnavailableError
from onearena.latency import Pace
from onearena.runtime import pace, pair
from onearena.runtime.inputplan import InputPlan
from onearena.runtime.inputs import Strategy
from onearena.runtime.pace import StockMeasurer
from onearena.runtime.ratios import NORMAL_99, median

LIMIT = 1.02
STOCK, NEW = Path("/stock.pte"), Path("/new.pte")
QUICK, SLOW, NOISY = [0.9] * 8, [1.2] * 8, [0.8, 0.9, 1.0, 1.1, 1.2, 1.3, 1.4, 1.5]


class Child:
    """Answers jobs; each method has a list of answers, one for each process it is run in."""

    def __init__(self, answers: dict[str, list[Any]], original: Any = None) -> None:
        self.jobs: list[dict[str, Any]] = []
        self._answers = {name: iter(found) for name, found in answers.items()}
        self._original = original

    def __call__(self, kind: str, job: dict[str, Any], **_: Any) -> dict[str, Any]:
        assert kind == "compare"
        self.jobs.append(job)
        alone = job["a"] == job["b"]
        return {"methods": [self._method(plan["method"], job, alone) for plan in job["plans"]]}

    def _method(self, name: str, job: dict[str, Any], alone: bool) -> dict[str, Any]:
        answer = self._original if alone else next(self._answers[name])
        if isinstance(answer, Exception):
            raise answer
        ratios, difference = answer if isinstance(answer, tuple) else (answer, None)
        return {
            "name": name,
            "latency_ratios": ratios or [1.0],
            "first_difference": difference,
            "runs": job["runs"],
        }


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[[Child], dict[str, Pace]]:
    monkeypatch.setattr(pace, "check_installed", lambda: None)

    def call(child: Child) -> dict[str, Pace]:
        monkeypatch.setattr(pace, "run_job", child)
        measurer = StockMeasurer()
        names = tuple(child._answers)
        monkeypatch.setattr(
            measurer, "_inputs", lambda _, name: InputPlan(name, ((),), Strategy.INFERRED, 0)
        )
        return dict(measurer(STOCK, NEW, names, LIMIT))

    return call


def test_one_process_is_enough_for_what_is_quick(measured: Any) -> None:
    child = Child({"forward": [QUICK]})
    found = measured(child)["forward"]
    assert (found.ratio, found.low, found.high, found.pairs) == (0.9, 0.9, 0.9, 8)
    assert found.is_good(LIMIT)
    assert len(child.jobs) == 1
    assert child.jobs[0]["limit"] == LIMIT


def test_what_seems_slow_is_run_again_loaded_first(measured: Any) -> None:
    child = Child({"forward": [SLOW, SLOW]})
    found = measured(child)["forward"]
    assert not found.is_good(LIMIT)
    assert (found.pairs, found.compared_runs) == (16, 10)
    assert [job["b_first"] for job in child.jobs] == [False, True]


def test_slow_in_one_process_only_is_not_slow(measured: Any) -> None:
    found = measured(Child({"forward": [SLOW, QUICK]}))["forward"]
    assert found.is_good(LIMIT)
    assert (found.low, found.high) == (0.9, 1.2)


def test_noise_is_not_slow(measured: Any) -> None:
    child = Child({"forward": [NOISY]})
    assert measured(child)["forward"].is_good(LIMIT)
    assert len(child.jobs) == 1


def test_only_slow_methods_are_run_again(measured: Any) -> None:
    child = Child({"a": [QUICK], "b": [SLOW, SLOW]})
    found = measured(child)
    assert (found["a"].is_good(LIMIT), found["b"].is_good(LIMIT)) == (True, False)
    assert [plan["method"] for plan in child.jobs[1]["plans"]] == ["b"]


def test_other_outputs_are_a_fault_when_the_original_has_always_the_same(measured: Any) -> None:
    child = Child({"forward": [(QUICK, "output 0 differs")]}, original=QUICK)
    found = measured(child)["forward"]
    assert found.fault is not None
    assert "output 0 differs" in found.fault
    assert child.jobs[1]["a"] == child.jobs[1]["b"] == str(STOCK)


def test_other_outputs_are_no_fault_when_the_original_has_them_too(measured: Any) -> None:
    child = Child({"forward": [(QUICK, "output 0 differs")]}, original=(QUICK, "random"))
    found = measured(child)["forward"]
    assert (found.fault, found.compared_runs) == (None, 0)


def test_a_difference_in_the_second_process_counts(measured: Any) -> None:
    child = Child({"forward": [SLOW, (QUICK, "output 1 differs")]}, original=QUICK)
    assert "output 1 differs" in measured(child)["forward"].fault


def test_a_candidate_that_does_not_run_is_refused(measured: Any) -> None:
    child = Child({"forward": [ExecutionError("it crashed")]}, original=QUICK)
    found = measured(child)["forward"]
    assert not found.is_good(1e9)
    assert "it crashed" in str(found.fault)


def test_of_several_methods_only_the_one_that_crashes_is_refused(measured: Any) -> None:
    crash = ExecutionError("b crashed")
    child = Child({"a": [QUICK, QUICK], "b": [crash, crash]}, original=QUICK)
    found = measured(child)
    assert (found["a"].fault is None, found["b"].fault is None) == (True, False)


def test_an_original_that_does_not_run_is_an_error(measured: Any) -> None:
    child = Child(
        {"forward": [ExecutionError("new")]}, original=ExecutionError("the original crashed")
    )
    with pytest.raises(ExecutionError, match="the original crashed"):
        measured(child)


def test_without_a_runtime_it_is_said_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _: None)
    with pytest.raises(RuntimeUnavailableError, match="onearena\\[run\\]"):
        StockMeasurer()


# -- how long is measured -----------------------------------------------------------------


class Pair:
    """Runs that take given times; each moves the clock."""

    def __init__(self, seconds: Iterator[tuple[float, float]]) -> None:
        self.now, self.first = 0.0, list[bool]()
        self._seconds = seconds

    def run(self, *_: Any, b_first: bool) -> tuple[Any, Any, float, float]:
        a, b = next(self._seconds)
        self.now += a + b
        self.first.append(b_first)
        return (), (), a, b


class Source:
    def inputs(self, _: int) -> list[Any]:
        return []


@pytest.fixture
def pairs(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Sequence[tuple[float, float]]]:
    """The pairs that are timed, of runs of these seconds, again and again."""

    def call(*seconds: tuple[float, float]) -> Sequence[tuple[float, float]]:
        made = Pair(itertools.cycle(seconds))
        monkeypatch.setattr("onearena.runtime.pair.time.perf_counter", lambda: made.now)
        trial = pair._Trial(cast(Any, made), "forward", cast(Any, Source()))
        trial.time_against(LIMIT)
        warm_up, *timed = made.first
        assert not warm_up
        assert timed == [bool(k % 2) for k in range(len(timed))]
        return trial.seconds

    return call


def test_a_clear_ratio_needs_few_pairs(pairs: Any) -> None:
    assert len(pairs((0.01, 0.009))) == 8
    assert len(pairs((0.01, 0.012))) == 8


def test_a_ratio_near_the_limit_needs_more(pairs: Any) -> None:
    found = pairs(*[(0.010, 0.0100), (0.010, 0.0101), (0.010, 0.0101), (0.010, 0.0104)])
    assert len(found) in (16, 32, 64)
    assert median([b / a for a, b in found], NORMAL_99).high <= LIMIT


def test_time_ends_what_stays_unclear(pairs: Any) -> None:
    found = pairs((0.1, 0.09), (0.1, 0.12))
    assert len(found) % 2 == 0
    assert sum(a + b for a, b in found) == pytest.approx(10, abs=0.5)


def test_slow_programs_get_a_few_pairs_all_the_same(pairs: Any) -> None:
    assert len(pairs((5.0, 4.0), (5.0, 7.0))) == 8


def test_quick_programs_do_not_run_for_ever(pairs: Any) -> None:
    assert len(pairs((1e-9, 0.9e-9), (1e-9, 1.2e-9))) == 1024


# -- medians ------------------------------------------------------------------------------


def test_few_samples_span_the_whole_interval() -> None:
    found = median([3.0, 1.0, 2.0], NORMAL_99)
    assert (found.value, found.low, found.high) == (2.0, 1.0, 3.0)
    assert median([1.0]).half_width == 0


def test_more_samples_make_it_narrower() -> None:
    values = [float(k) for k in range(101)]
    wide, narrow = median(values, NORMAL_99), median(values)
    assert wide.value == narrow.value == 50
    assert wide.low < narrow.low < 50 < narrow.high < wide.high
