"""What the benchmark finds out, as records that go into ``results.json``. All sizes are bytes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from .ratios import Median


@dataclass(frozen=True)
class Prediction:
    """The predicted XNNPACK workspace of one file: that of its largest delegate.

    Attributes:
        tensors: the part for activations.
        scratch: the part for scratch of operators.
        total: both, packed together.
    """

    tensors: int
    scratch: int
    total: int


@dataclass(frozen=True)
class Side:
    """One file, before or after ``optimize``. Predictions are by version of ExecuTorch."""

    file: int
    arena: int
    predictions: Mapping[str, Prediction]


@dataclass(frozen=True)
class Trial:
    """Both files on one version of ExecuTorch.

    Attributes:
        runs: how many runs were compared bit for bit.
        sizes: how many different input sizes they had.
        difference: the first one, in words; None when every bit is equal.
        workspaces: measured, before and after; None where the reason is in `unmeasured`.
        heap_growth: what the first run adds to the heap, before and after: the workspaces, and
            what operators keep; None where malloc does not say.
        latency: ratios after/before over pairs of runs.
        cpu: the same for the time that all cores together worked, which other work on the
            machine shakes less.
        pairs: how many pairs of runs were timed.
        seconds: median time of a run, before and after.
    """

    runs: int
    sizes: int
    difference: str | None
    workspaces: tuple[int | None, int | None]
    heap_growth: tuple[int | None, int | None]
    unmeasured: str | None
    latency: Median
    cpu: Median
    pairs: int
    seconds: tuple[float, float]


@dataclass(frozen=True)
class Optimization:
    """What ``onearena optimize`` said and how long it took, start of Python included."""

    before: Side
    after: Side
    lower_bound: int
    gap: float
    delegate_calls: int
    opened_calls: int
    notes: tuple[str, ...]
    seconds: float


@dataclass(frozen=True)
class Row:
    """One program. Trials are by version of ExecuTorch."""

    name: str
    description: str
    optimization: Optimization
    trials: Mapping[str, Trial]

    def totals(self, version: str) -> tuple[int, int]:
        """Arena and workspace together, before and after; measured where that was possible."""
        before, after = (
            side.arena + (side.predictions[version].total if measured is None else measured)
            for side, measured in zip(self._sides, self.trials[version].workspaces, strict=True)
        )
        return before, after

    def ratio(self, version: str) -> float:
        """After / before."""
        before, after = self.totals(version)
        return after / before

    def heap_ratio(self, version: str) -> float | None:
        """Growth of the heap in the first run, after / before."""
        before, after = self.trials[version].heap_growth
        return None if not before or after is None else max(after, 1) / before

    def workspaces(self, version: str) -> list[tuple[Prediction, int | None]]:
        """Predicted and measured workspaces, before and after."""
        measured = self.trials[version].workspaces
        return [
            (side.predictions[version], found)
            for side, found in zip(self._sides, measured, strict=True)
        ]

    @property
    def _sides(self) -> tuple[Side, Side]:
        return self.optimization.before, self.optimization.after


def read_row(row: Mapping[str, Any]) -> Row:
    """A row as `dataclasses.asdict` made it, read back from JSON."""
    done = row["optimization"]
    before, after = (_read_side(done[side]) for side in ("before", "after"))
    notes = tuple(done["notes"])
    optimization = Optimization(**{**done, "before": before, "after": after, "notes": notes})
    trials = {version: _read_trial(trial) for version, trial in row["trials"].items()}
    return Row(row["name"], row["description"], optimization, trials)


def _read_side(side: Mapping[str, Any]) -> Side:
    predictions = {version: Prediction(**found) for version, found in side["predictions"].items()}
    return Side(side["file"], side["arena"], predictions)


def _read_trial(trial: Mapping[str, Any]) -> Trial:
    pairs = {name: tuple(trial[name]) for name in ("workspaces", "heap_growth", "seconds")}
    medians = {name: Median(**trial[name]) for name in ("latency", "cpu")}
    return Trial(**{**trial, **pairs, **medians})
