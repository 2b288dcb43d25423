"""Undoes what costs more time than is allowed, by running candidates beside the original.

For each method the stages between "as it was" and "everything" are bisected: the last one first,
then the one before it (pointers in scratch are the likeliest to cost time), then halves. A stage
is refused when its outputs are not equal bit for bit, when the runtime does not run it, or when
it is slower than allowed for sure: a measurement that noise leaves open refuses nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from onearena.candidates import Candidate
from onearena.latency import Basis, Latency, Pace
from onearena.stages import AS_IT_WAS, Staged

Measure = Callable[[Mapping[int, Candidate], Sequence[str]], Mapping[str, Pace]]
"""Runs a program with these candidates, by position of their methods; the pace of some methods,
by name."""


class Undoable(Protocol):
    """A method in stages, see :class:`onearena.stages.Stages`."""

    @property
    def name(self) -> str:
        """Of the method."""

    @property
    def last(self) -> int:
        """The stage at which most is done."""

    def at(self, stage: int) -> Staged:
        """The method at a stage; the same candidate at two stages is one object."""

    def undone(self, stage: int) -> str:
        """What is not done at a stage that is done at the last one, in words."""


@dataclass(frozen=True)
class Choice:
    """What becomes of a method.

    Attributes:
        candidate, latency: None when the method keeps its plan.
        notes: what to say of it.
        is_undone: whether it could be smaller, and may not.
    """

    candidate: Candidate | None
    notes: tuple[str, ...]
    latency: Latency | None
    is_undone: bool = False


def guarded(methods: Mapping[int, Undoable], measure: Measure, limit: float) -> dict[int, Choice]:
    """For each method the last stage that is good enough.

    Args:
        methods: by position in the program.
        limit: the ratio of time after to time before that is allowed.

    Raises:
        OnearenaError: the original cannot be run; see `measure`.
        VerificationError: a plan is not valid.
    """
    searches = {position: _Search(stages, limit) for position, stages in methods.items()}
    while True:
        asking = {k: search for k, search in searches.items() if search.stage is not None}
        if not asking:
            return {position: search.choice() for position, search in searches.items()}
        candidates = {
            position: found
            for position, search in searches.items()
            if (found := search.candidate) is not None
        }
        names = [search.stages.name for search in asking.values()]
        paces = measure(candidates, names)
        for search in asking.values():
            search.tell(paces[search.stages.name])


class _Search:
    """Over the stages of one method."""

    def __init__(self, stages: Undoable, limit: float) -> None:
        self.stages, self._limit = stages, limit
        self._good, self._bad = AS_IT_WAS, stages.last + 1
        self._paces: dict[int, Pace] = {}
        self.stage: int | None = None
        self._advance()

    @property
    def candidate(self) -> Candidate | None:
        """What is to be run: the stage that is asked about, or the one that was found."""
        return self.stages.at(self._good if self.stage is None else self.stage).candidate

    def tell(self, pace: Pace) -> None:
        """The pace of `stage`, which must not be None."""
        assert self.stage is not None
        self._note(self.stage, pace)
        self._advance()

    def choice(self) -> Choice:
        """What was found."""
        staged, pace = self.stages.at(self._good), self._paces.get(self._good)
        notes = (*staged.notes, *self._undone())
        is_undone = self._bad <= self.stages.last
        if staged.candidate is None or pace is None:
            return Choice(None, notes, None, is_undone)
        latency = Latency(pace.ratio, Basis.MEASURED, self._limit, pace.low, pace.high, pace.pairs)
        return Choice(staged.candidate, (*notes, _bits(pace)), latency, is_undone)

    def _advance(self) -> None:
        """To the next stage that must be run: what is equal to one that was need not be."""
        while (stage := self._next()) is not None:
            candidate = self.stages.at(stage).candidate
            if candidate is None:
                self._good = stage  # as it was, for another reason
                continue
            pace = self._known(candidate)
            if pace is None:
                break
            self._note(stage, pace)
        self.stage = stage

    def _next(self) -> int | None:
        last = self.stages.last
        if self._bad - self._good <= 1:
            return None
        if self._bad >= last:
            return self._bad - 1
        return (self._good + self._bad) // 2

    def _known(self, candidate: Candidate) -> Pace | None:
        for stage, pace in self._paces.items():
            if self.stages.at(stage).candidate is candidate:
                return pace
        return None

    def _note(self, stage: int, pace: Pace) -> None:
        self._paces[stage] = pace
        if pace.is_good(self._limit):
            self._good = stage
        else:
            self._bad = stage

    def _undone(self) -> Iterator[str]:
        if self._bad > self.stages.last:
            return
        pace = self._paces[self._bad]
        reason = pace.fault or (
            f"it takes {pace.ratio:.3f} of the time before ({pace.low:.3f} to {pace.high:.3f}, "
            f"{pace.pairs} pairs of runs), more than {self._limit:g}"
        )
        yield f"undone: {self.stages.undone(self._good)}; with more than is left, {reason}"


def _bits(pace: Pace) -> str:
    if not pace.compared_runs:
        return (
            f"outputs could not be compared: the original's change from run to run ({pace.machine})"
        )
    return (
        f"outputs are equal bit for bit in {pace.compared_runs} runs on {pace.machine}; on another "
        "processor, check with `compare`"
    )
