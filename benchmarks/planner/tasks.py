"""What a planner is asked, and what it answers."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from .instances import Instance

T = TypeVar("T")

REPEATS = 5
REPEAT_WITHIN_S = 1.0


@dataclass(frozen=True)
class Task:
    """Plan an instance, once for each seed, on one core.

    Attributes:
        time_limit_s: what the planner is told.
        fit_only: a plan that fits into the instance's capacity is enough.
    """

    instance: Instance
    time_limit_s: float
    seeds: tuple[int, ...] = (0,)
    fit_only: bool = False


@dataclass(frozen=True)
class Answer:
    """What came back for one seed.

    Attributes:
        offsets: the plan, or nothing.
        seconds: what planning took, from a problem in the planner's own form; the median if it
            was so short that it was repeated.
        prepared_s: what bringing the problem into that form took.
        bound: what the planner says that no plan can beat, or None.
        is_proven: whether the planner says that its plan is the best.
        note: how it was found, or why not.
    """

    seed: int
    offsets: tuple[int, ...]
    seconds: float
    prepared_s: float = 0.0
    bound: int | None = None
    is_proven: bool = False
    note: str = ""


Solver = Callable[[Task], Iterator[Answer]]


class Unsupported(Exception):  # noqa: N818 - no error: the planner is not made for this
    """A planner cannot be asked this; the text says why."""


def timed(work: Callable[[], T]) -> tuple[T, float]:
    """What it returns, and the seconds it took."""
    start = time.perf_counter()
    result = work()
    return result, time.perf_counter() - start


def repeated(work: Callable[[], T]) -> tuple[T, float]:
    """What it returns and the median of its seconds; what is quick is run more than once."""
    result, seconds = timed(work)
    all_seconds = [seconds]
    while len(all_seconds) < REPEATS and sum(all_seconds) + seconds < REPEAT_WITHIN_S:
        result, seconds = timed(work)
        all_seconds.append(seconds)
    return result, median(all_seconds)
