"""Runs two programs side by side on the stock runtime: same bits? which is faster?

One process is one round. A round that is over says nothing about luck with the placement of
memory in its process, so there are several, and ratios of all rounds are pooled.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from onearena.runtime.bits import Difference, compare_outputs, merge
from onearena.runtime.session import Session

from .zoo.entries import ZooEntry
from .zoo.inputs import Array, cases, load_example

METHOD = "forward"
WARM_UP = 2


@dataclass(frozen=True)
class Budget:
    """How long to time.

    Attributes:
        rounds: fewest and most processes; in between, more while the result is uncertain.
        pairs: fewest pairs of runs in a round, where they fit into `longest_s`.
        shortest_s, longest_s: seconds of a round.
    """

    rounds: tuple[int, int]
    pairs: int
    shortest_s: float
    longest_s: float


FULL = Budget(rounds=(3, 6), pairs=12, shortest_s=5.0, longest_s=20.0)
QUICK = Budget(rounds=(1, 1), pairs=6, shortest_s=1.0, longest_s=10.0)
FEWEST_PAIRS = 4


@dataclass(frozen=True)
class Pair:
    """One run of each program, before and after: seconds that passed, and seconds of all cores."""

    wall: tuple[float, float]
    cpu: tuple[float, float]


@dataclass(frozen=True)
class Round:
    """What one process found: compared runs, their difference, and timed pairs."""

    compared: int
    difference: str | None
    pairs: tuple[Pair, ...]


def play(
    program: ZooEntry, files: tuple[Path, Path], example: Path, budget: Budget, number: int
) -> Round:
    """Run the round `number` in this process, which must be a fresh one.

    Files are the stock one and the optimized one. In odd rounds the second is loaded first.
    """
    runs = cases(program, load_example(example))
    with ExitStack() as stack:
        sessions: dict[int, Session] = {}
        for side in _order(number):
            sessions[side] = stack.enter_context(Session(files[side]))
        both = sessions[0], sessions[1]
        found = _compare(both, runs)
        pairs = _time(both, runs[-1], budget)
    return Round(len(runs), found.what, tuple(pairs))


def _order(number: int) -> tuple[int, int]:
    return (1, 0) if number % 2 else (0, 1)


def _compare(both: tuple[Session, Session], runs: Sequence[Sequence[Array]]) -> Difference:
    worst = Difference()
    for number, inputs in enumerate(runs):
        outputs = {side: both[side].run(METHOD, _copy(inputs)) for side in _order(number)}
        found = compare_outputs(outputs[0], outputs[1])
        if found:
            worst = merge(worst, Difference(f"run {number}: {found.what}", found.max_abs))
    return worst


def _time(both: tuple[Session, Session], inputs: Sequence[Array], budget: Budget) -> list[Pair]:
    """Times pairs of runs; each program goes first in every other one."""
    arrays = _copy(inputs)
    for _ in range(WARM_UP):
        _run_pair(both, arrays, 0)
    pairs: list[Pair] = []
    start = time.perf_counter()
    while True:
        elapsed = time.perf_counter() - start
        enough = len(pairs) >= budget.pairs and elapsed >= budget.shortest_s
        late = len(pairs) >= FEWEST_PAIRS and elapsed >= budget.longest_s
        if len(pairs) % 2 == 0 and (enough or late):
            return pairs
        pairs.append(_run_pair(both, arrays, len(pairs)))


def _run_pair(both: tuple[Session, Session], inputs: Sequence[Array], number: int) -> Pair:
    wall, cpu = [0.0, 0.0], [0.0, 0.0]
    for side in _order(number):
        start = time.process_time()
        _, wall[side] = both[side].run_timed(METHOD, inputs)
        cpu[side] = time.process_time() - start
    return Pair((wall[0], wall[1]), (cpu[0], cpu[1]))


def _copy(inputs: Sequence[Array]) -> list[Array]:
    return [np.array(x) for x in inputs]
