"""The numbers that onearena is to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from .ratios import geometric_mean
from .records import Prediction, Row

PROGRAM_LIMITS = {"u2net_nearest": 0.50, "vit_tiny": 0.33, "mobilenet_v2": 0.50}
"""(Arena + workspace) after / before, of some programs."""
FEWEST_PROGRAMS = 14
FEWEST_RUNS = 5
FEWEST_VERSIONS = 2
MEMORY_LIMIT, WORST_MEMORY_LIMIT = 0.50, 0.90
HEAP_LIMIT = 0.30
LATENCY_LIMIT = 1.00
WORST_LATENCY_LIMIT = 1.03
TENSOR_TOLERANCE, SCRATCH_TOLERANCE = 0.01, 0.10


@dataclass(frozen=True)
class Goal:
    """What is wanted, what was found, and whether that is enough."""

    wanted: str
    found: str
    is_met: bool

    def __str__(self) -> str:
        return f"{'met' if self.is_met else 'NOT MET':8}{self.wanted}: {self.found}"


def check(rows: Sequence[Row], versions: Sequence[str]) -> list[Goal]:
    """Return every goal, in general and for each version of ExecuTorch."""
    goals = [
        Goal(f"at least {FEWEST_PROGRAMS} programs", f"{len(rows)}", len(rows) >= FEWEST_PROGRAMS),
        Goal(
            f"on {FEWEST_VERSIONS} versions of ExecuTorch",
            ", ".join(versions),
            len(versions) >= FEWEST_VERSIONS,
        ),
    ]
    for version in versions:
        for goal in _check_version(rows, version):
            goals.append(Goal(f"{version}: {goal.wanted}", goal.found, goal.is_met))
    return goals


def _check_version(rows: Sequence[Row], version: str) -> Iterable[Goal]:
    yield _exactness(rows, version)
    yield from _memory(rows, version)
    yield _heap(rows, version)
    yield from _latency(rows, version)
    yield _measured(rows, version)
    yield _predictions(rows, version)


def _exactness(rows: Sequence[Row], version: str) -> Goal:
    trials = {row.name: row.trials[version] for row in rows}
    bad = [
        f"{name} ({trial.difference or f'{trial.runs} runs'})"
        for name, trial in trials.items()
        if trial.difference is not None or trial.runs < FEWEST_RUNS
    ]
    fewest = min((trial.runs for trial in trials.values()), default=0)
    found = ", ".join(bad) or f"all, at least {fewest} runs each"
    return Goal(f"bit-exact over at least {FEWEST_RUNS} runs", found, not bad)


def _memory(rows: Sequence[Row], version: str) -> Iterable[Goal]:
    for row in rows:
        limit = PROGRAM_LIMITS.get(row.name)
        if limit is not None:
            ratio = row.ratio(version)
            yield Goal(f"memory of {row.name} at most {limit}", f"{ratio:.4f}", ratio <= limit)
    ratios = {row.name: row.ratio(version) for row in rows}
    worse = [f"{n} {ratio:.3f}" for n, ratio in ratios.items() if ratio > WORST_MEMORY_LIMIT]
    yield Goal(f"memory: none above {WORST_MEMORY_LIMIT}", _names(worse), not worse)
    mean = geometric_mean(row.ratio(version) for row in rows)
    yield Goal(
        f"memory: geometric mean at most {MEMORY_LIMIT}", f"{mean:.4f}", mean <= MEMORY_LIMIT
    )


def _heap(rows: Sequence[Row], version: str) -> Goal:
    ratios = {row.name: row.heap_ratio(version) for row in rows}
    unknown = [name for name, ratio in ratios.items() if ratio is None]
    mean = geometric_mean(ratio for ratio in ratios.values() if ratio is not None)
    return Goal(
        f"heap growth in the first run: geometric mean at most {HEAP_LIMIT:.2f}",
        f"{mean:.4f}" + (f", not measured: {', '.join(unknown)}" if unknown else ""),
        mean <= HEAP_LIMIT and not unknown,
    )


def _latency(rows: Sequence[Row], version: str) -> Iterable[Goal]:
    ratios = {row.name: row.trials[version].latency.value for row in rows}
    mean = geometric_mean(ratios.values())
    yield Goal(
        f"latency: geometric mean at most {LATENCY_LIMIT:.2f}", f"{mean:.4f}", mean <= LATENCY_LIMIT
    )
    slow = [f"{name} {ratio:.3f}" for name, ratio in ratios.items() if ratio > WORST_LATENCY_LIMIT]
    yield Goal(f"latency: none above {WORST_LATENCY_LIMIT}", _names(slow), not slow)


def _measured(rows: Sequence[Row], version: str) -> Goal:
    unknown = [row.name for row in rows if None in row.trials[version].workspaces]
    return Goal("every workspace measured, not only predicted", _names(unknown), not unknown)


def _predictions(rows: Sequence[Row], version: str) -> Goal:
    wanted = (
        f"predicted workspace within {TENSOR_TOLERANCE:.0%} for tensors, "
        f"{SCRATCH_TOLERANCE:.0%} for scratch"
    )
    bad = [
        f"{row.name} ({predicted.total:,} for {measured:,})"
        for row in rows
        for predicted, measured in row.workspaces(version)
        if measured is not None and not is_close(predicted, measured)
    ]
    return Goal(wanted, _names(bad), not bad)


def is_close(predicted: Prediction, measured: int) -> bool:
    """Whether a prediction is good enough: of the measured sum, each part has its tolerance."""
    scratch = max(0, predicted.total - predicted.tensors)
    allowed = TENSOR_TOLERANCE * predicted.tensors + SCRATCH_TOLERANCE * scratch
    return abs(predicted.total - measured) <= allowed


def _names(bad: Sequence[str]) -> str:
    return f"{len(bad)}: {', '.join(bad)}" if bad else "yes"
