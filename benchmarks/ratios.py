"""Statistics of ratios."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable

from onearena.runtime.ratios import Median, median


def geometric_mean(values: Iterable[float]) -> float:
    """Return the geometric mean of positive numbers, NaN of none."""
    logarithms = [math.log(value) for value in values]
    return math.exp(statistics.fmean(logarithms)) if logarithms else math.nan


__all__ = ["Median", "geometric_mean", "median"]
