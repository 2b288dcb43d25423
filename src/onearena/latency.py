"""How long a run takes beside that of the original, and how that is known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any, Protocol


class Basis(StrEnum):
    """How a latency is known."""

    MODEL = "model"
    MEASURED = "measured"


@dataclass(frozen=True)
class Latency:
    """The time of a run after `optimize`, as a ratio to the time before.

    Attributes:
        basis: measured on this machine, or by a model: what strips and pointers add to the work
            of the opened calls, as a share of it. What makes runs quicker is not in the model.
        limit: what was allowed.
        low, high: the interval that holds the true ratio, measured ones only.
        pairs: of runs that were timed.
    """

    ratio: float
    basis: Basis
    limit: float
    low: float | None = None
    high: float | None = None
    pairs: int = 0

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        result: dict[str, Any] = {
            "ratio": self.ratio,
            "basis": self.basis.value,
            "limit": self.limit,
        }
        if self.basis is Basis.MEASURED:
            result.update(low=self.low, high=self.high, pairs=self.pairs)
        return result


@dataclass(frozen=True)
class Pace:
    """One method of a candidate, run beside the original.

    Attributes:
        ratio: median of time after / time before.
        low, high: the interval that holds the true ratio; wide when little was run, or when the
            machine is busy.
        pairs: of runs that were timed.
        compared_runs: of which every output was compared, bit for bit; 0 when the original
            itself gives other outputs from run to run.
        machine: what it ran on, for people.
        fault: why it is refused, however quick: other outputs, or the runtime fails.
    """

    ratio: float
    low: float
    high: float
    pairs: int
    compared_runs: int = 0
    machine: str = ""
    fault: str | None = None

    def is_good(self, limit: float) -> bool:
        """Whether the candidate may stay: noise alone never refuses it."""
        return self.fault is None and self.low <= limit


class Measurer(Protocol):
    """Runs two programs side by side."""

    def __call__(
        self, original: Path, candidate: Path, methods: Sequence[str], limit: float
    ) -> Mapping[str, Pace]:
        """The pace of each of the methods, by name.

        Args:
            limit: the ratio that is allowed; to measure is enough until it is clear on which
                side of it the ratio lies.

        Raises:
            OnearenaError: the original cannot be run.
        """
