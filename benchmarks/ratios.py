"""Statistics of ratios."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

_NORMAL_95 = 1.96


@dataclass(frozen=True)
class Median:
    """A median, and the interval that holds the true one with 95 % confidence."""

    value: float
    low: float
    high: float

    @property
    def half_width(self) -> float:
        """How far the interval reaches, as a part of the median."""
        return (self.high - self.low) / (2 * self.value)


def median(values: Sequence[float]) -> Median:
    """Return the median of independent samples; order statistics give the interval."""
    ordered = sorted(values)
    count = len(ordered)
    reach = _NORMAL_95 * math.sqrt(count) / 2
    low = max(0, math.floor(count / 2 - reach))
    high = min(count - 1, math.ceil(count / 2 + reach))
    return Median(statistics.median(ordered), ordered[low], ordered[high])


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers, NaN of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logarithms)) if logarithms else math.nan
