"""Which stage of each method is left, for all that a measurer may say."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pytest

from onearena.candidates import Candidate
from onearena.latency import Basis, Pace
from onearena.latency_guard import Choice, guarded
from onearena.stages import AS_IT_WAS, Staged

LIMIT = 1.02


def candidate(name: object) -> Candidate:
    """Something to tell apart; the guard looks into no candidate."""
    return cast(Candidate, [name])


@dataclass
class Ladder:
    """A method with stages 1 to `last`."""

    last: int
    name: str = "forward"
    candidates: dict[int, Candidate | None] = field(default_factory=dict)

    def at(self, stage: int) -> Staged:
        if stage == AS_IT_WAS:
            return Staged(None, ())
        if stage not in self.candidates:
            self.candidates[stage] = candidate((self.name, stage))
        return Staged(self.candidates[stage], (f"stage {stage}",))

    def undone(self, stage: int) -> str:
        return f"{self.last - stage} stages"


def pace(ratio: float, half_width: float = 0.001, **more: Any) -> Pace:
    return Pace(ratio, ratio - half_width, ratio + half_width, 8, 5, "a machine", **more)


@dataclass
class Machine:
    """Says how quick each method is, and remembers what was run."""

    paces: Callable[[str, Any], Pace]
    ran: list[Mapping[int, Candidate]] = field(default_factory=list)

    def __call__(
        self, candidates: Mapping[int, Candidate], names: Sequence[str]
    ) -> Mapping[str, Pace]:
        self.ran.append(dict(candidates))
        found = {cast(Any, each)[0][0]: each for each in candidates.values()}
        return {name: self.paces(name, cast(Any, found[name])[0][1]) for name in names}


def choose(ladder: Ladder, machine: Machine) -> Choice:
    return guarded({0: ladder}, machine, LIMIT)[0]


def test_what_is_quick_enough_is_measured_once() -> None:
    ladder, machine = Ladder(9), Machine(lambda _, __: pace(0.9))
    choice = choose(ladder, machine)
    assert choice.candidate is ladder.candidates[9]
    assert len(machine.ran) == 1
    assert choice.latency is not None
    assert (choice.latency.basis, choice.latency.ratio) == (Basis.MEASURED, 0.9)
    assert (choice.latency.low, choice.latency.high) == pytest.approx((0.899, 0.901))
    assert choice.notes[0] == "stage 9"
    assert "equal bit for bit in 5 runs on a machine" in choice.notes[1]
    assert len(choice.notes) == 2


@pytest.mark.parametrize("last", [1, 2, 3, 8, 21])
def test_the_most_that_is_quick_enough_is_found_in_few_measurements(last: int) -> None:
    for best in range(last + 1):
        ladder = Ladder(last)

        def paces(_: str, stage: int, best: int = best) -> Pace:
            return pace(1.0 if stage <= best else 1.1)

        machine = Machine(paces)
        choice = choose(ladder, machine)
        expected = None if best == AS_IT_WAS else ladder.candidates[best]
        assert choice.candidate is expected
        assert len(machine.ran) <= 2 + math.ceil(math.log2(last + 1))
        if best < last:
            assert any(
                note.startswith(f"undone: {last - best} stages") and "1.100 of the time" in note
                for note in choice.notes
            )
        if best == AS_IT_WAS:
            assert choice.latency is None


def test_noise_refuses_nothing() -> None:
    """The median is above the limit, and might as well be below."""
    ladder = Ladder(4)
    choice = choose(ladder, Machine(lambda _, __: pace(1.3, half_width=0.3)))
    assert choice.candidate is ladder.candidates[4]
    assert choice.latency is not None
    assert choice.latency.ratio == 1.3


def test_the_limit_itself_is_allowed() -> None:
    ladder = Ladder(2)
    assert choose(ladder, Machine(lambda _, __: pace(LIMIT, 0.0))).candidate is not None


def test_other_outputs_are_refused_however_quick() -> None:
    ladder = Ladder(5)

    def paces(_: str, stage: int) -> Pace:
        return pace(0.5, fault="outputs differ: output 0" if stage > 2 else None)

    choice = choose(ladder, Machine(paces))
    assert choice.candidate is ladder.candidates[2]
    assert any("undone: 3 stages" in n and "outputs differ: output 0" in n for n in choice.notes)


def test_outputs_that_change_from_run_to_run_are_said() -> None:
    ladder = Ladder(1)
    choice = choose(ladder, Machine(lambda _, __: Pace(1.0, 0.9, 1.1, 8, 0, "a machine")))
    assert "could not be compared" in choice.notes[-1]


def test_stages_that_are_no_better_than_the_original_are_not_run() -> None:
    ladder = Ladder(6, candidates={1: None, 2: None, 3: None})
    machine = Machine(lambda _, __: pace(2.0))
    choice = choose(ladder, machine)
    assert choice.candidate is None
    assert all(each[0][1] > 3 for run in machine.ran for each in cast(Any, run).values())


def test_without_any_candidate_nothing_is_run() -> None:
    ladder, machine = Ladder(2, candidates={1: None, 2: None}), Machine(lambda _, __: pace(1.0))
    choice = choose(ladder, machine)
    assert (choice.candidate, choice.latency, choice.notes) == (None, None, ("stage 2",))
    assert machine.ran == []


def test_a_method_without_stages_is_left_alone() -> None:
    machine = Machine(lambda _, __: pace(1.0))
    assert choose(Ladder(0), machine) == Choice(None, (), None)
    assert machine.ran == []


def test_equal_stages_are_run_once() -> None:
    same = candidate(("forward", 3))
    ladder = Ladder(5, candidates={3: same, 4: same, 5: same})
    machine = Machine(lambda _, stage: pace(1.5 if stage >= 3 else 1.0))
    choice = choose(ladder, machine)
    assert choice.candidate is ladder.candidates[2]
    assert [cast(Any, run[0])[0][1] for run in machine.ran] == [3, 2]


def test_methods_are_measured_together_and_judged_apart() -> None:
    """What runs in the end is a program that was measured, method by method."""
    ladders = {0: Ladder(4, "a"), 1: Ladder(4, "b"), 2: Ladder(4, "c"), 3: Ladder(0, "d")}
    best = {"a": 4, "b": 1, "c": 0}
    machine = Machine(lambda name, stage: pace(1.0 if stage <= best[name] else 1.2))
    found = guarded(ladders, machine, LIMIT)
    assert found[0].candidate is ladders[0].candidates[4]
    assert found[1].candidate is ladders[1].candidates[1]
    assert found[2].candidate is None
    assert found[3].candidate is None
    assert len(machine.ran) <= 5
    assert all(run[0] is ladders[0].candidates[4] for run in machine.ran)


def test_an_original_that_cannot_be_run_is_an_error() -> None:
    def fails(_: str, __: int) -> Pace:
        raise RuntimeError("the original")

    with pytest.raises(RuntimeError, match="the original"):
        choose(Ladder(3), Machine(fails))
