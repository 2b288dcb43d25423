"""Medians of ratios, and how sure they are."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

NORMAL_95, NORMAL_99 = 1.960, 2.576
"""Standard deviations to both sides of the mean that hold 95 and 99 % of a normal distribution."""


@dataclass(frozen=True)
class Median:
    """A median, and the interval that holds the true one with some confidence."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """How far the interval reaches, as a part of the median."""
        return (self.high - self.low) / (2 * self.value)


def median(values: Sequence[float], deviations: float = NORMAL_95) -> Median:
    """Returns the median of independent samples; order statistics give the interval.

    Args:
        values: at least one.
        deviations: of the interval, 95 % by default; few samples give all that they span.
    """
    ordered = sorted(values)
    count = len(ordered)
    reach = deviations * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach))
    return Median(statistics.median(ordered), ordered[low], ordered[high])
