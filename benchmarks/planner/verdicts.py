"""The numbers that the planner is to reach, and whether it does."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import median

from ..goals import Goal
from .measuring import FULL, TRACE_S
from .records import Fit, Results, Row
from .replanning import Replan

FIT_TOTAL_S, FIT_WORST_S = 1.0, 3.0
# Certificate wanted, height: the best that is published, where no certificate is known.
CHALLENGING = {
    **dict.fromkeys("ABEFGHIK", (True, 1_048_576)),
    "C": (True, 1_039_360),
    "D": (False, 996_352),
    "J": (False, 1_012_736),
}
PLAN_MS, LARGE_PLAN_MS, LARGE_PLAN = 10.0, 100.0, 5_000
TRACE_RATIO, TRACE_LIMIT_S = 1.01, 2.0
REPLAN_US = {100: 20.0, 1_000: 500.0}


def check(results: Results) -> list[Goal]:
    """Every goal of the sections that were measured."""
    goals: list[Goal] = []
    if results.fits:
        goals += _fits(results.fits)
    sections = results.sections
    goals += [_challenging(row) for row in sections.get("challenging", []) if _is_fair(row)]
    goals += _plans(sections.get("plans", []))
    goals += _traces(sections.get("traces", []))
    if results.replans:
        goals += _replans(results.replans)
    for name, rows in sections.items():
        goals += _always(name, rows)
    return goals


def _goal(wanted: str, bad: Sequence[str], *, good: str = "yes") -> Goal:
    return Goal(wanted, f"{len(bad)} not: {', '.join(bad)}" if bad else good, not bad)


def totals(fits: Sequence[Fit]) -> list[float | None]:
    """By seed, the sum over the instances; None if one was not fitted."""
    by_seed = zip(*(fit.seconds for fit in fits), strict=True)
    return [None if None in s else sum(t for t in s if t is not None) for s in by_seed]


def _fits(fits: Sequence[Fit]) -> Iterable[Goal]:
    sums = totals(fits)
    failures = [f"{f.name} {f.seconds.count(None)}x" for f in fits if None in f.seconds]
    count = len(sums)
    yield _goal(f"{len(fits)} challenging instances fit, each of {count} seeds", failures)
    known = [total for total in sums if total is not None]
    middle = median(known) if known else float("inf")
    yield Goal(
        f"all of them in {FIT_TOTAL_S} s, median of {count} seeds",
        f"{middle:.3f} s",
        middle <= FIT_TOTAL_S and not failures,
    )
    worst = max(known, default=float("inf"))
    yield Goal(
        f"no seed above {FIT_WORST_S} s",
        f"{worst:.3f} s",
        worst <= FIT_WORST_S and not failures,
    )


def _is_fair(row: Row) -> bool:
    """The published best heights are not asked for in a quick run."""
    return CHALLENGING[row.name][0] or row.limit_s >= FULL.minimise_s


def _challenging(row: Row) -> Goal:
    is_certified, most = CHALLENGING[row.name]
    found = row.ours.height
    wanted = f"challenging {row.name}: at most {most:,}" + ", certified" * is_certified
    return Goal(
        wanted,
        f"{'none' if found is None else f'{found:,}'}{', certified' * row.ours.is_proven}",
        found is not None and found <= most and (row.ours.is_proven or not is_certified),
    )


def _plans(rows: Sequence[Row]) -> Iterable[Goal]:
    if not rows:
        return
    yield _goal(
        f"{len(rows)} ExecuTorch programs: plans at the load, certified",
        [row.name for row in rows if row.ours.height != row.bound or not row.ours.is_proven],
    )
    for limit, some in (
        (PLAN_MS, [row for row in rows if row.buffers < LARGE_PLAN]),
        (LARGE_PLAN_MS, [row for row in rows if row.buffers >= LARGE_PLAN]),
    ):
        slowest = max((row.ours.seconds * 1000 for row in some), default=0.0)
        most = max((row.buffers for row in some), default=0)
        yield Goal(
            f"up to {most:,} buffers: at most {limit:g} ms",
            f"slowest {slowest:.2f} ms",
            slowest <= limit,
        )


def _traces(rows: Sequence[Row]) -> Iterable[Goal]:
    first = {row.name: row for row in rows if row.limit_s == TRACE_S}
    for row in first.values():
        gap = row.gap(row.ours)
        yield Goal(
            f"trace {row.name}: at most {TRACE_RATIO}x the bound within {TRACE_LIMIT_S:g} s",
            "none" if gap is None else f"{1 + gap:.5f} in {row.ours.seconds:.2f} s",
            gap is not None and 1 + gap <= TRACE_RATIO and row.ours.seconds <= TRACE_LIMIT_S,
        )
    for row in rows:
        before = first[row.name].ours
        if row.limit_s > TRACE_S and row.ours.height is not None and before.height is not None:
            is_better = row.ours.height < before.height
            is_done = before.is_proven or row.ours.is_proven
            yield Goal(
                f"trace {row.name}: better in {row.limit_s:g} s, unless already proven best",
                f"{before.height:,} -> {row.ours.height:,}{' (proven)' * is_done}",
                is_better or is_done,
            )


def _replans(replans: Sequence[Replan]) -> Iterable[Goal]:
    for buffers, limit in REPLAN_US.items():
        some = [replan for replan in replans if replan.buffers == buffers]
        slowest = max((replan.microseconds for replan in some), default=float("inf"))
        yield Goal(
            f"re-planning {buffers:,} tensors in at most {limit:g} us",
            f"slowest median {slowest:.1f} us",
            slowest <= limit,
        )


def _always(name: str, rows: Sequence[Row]) -> Iterable[Goal]:
    """What holds in every section: a plan, none better from others, no certificate wrong."""
    missing = [f"{row.name} ({row.ours.note})" for row in rows if row.ours.height is None]
    yield _goal(f"{name}: a plan for each, and a right one", missing)
    lost = [text for row in rows for text in row.winners()]
    yield _goal(f"{name}: no larger plan than OmniMalloc and CP-SAT in the same time", lost)
    wrong = [
        f"{row.family} {row.name}"
        for row in rows
        if row.ours.bound is not None
        for best in (_smallest(row),)
        if best is not None
        if row.ours.bound > best or (row.ours.is_proven and best < (row.ours.height or 0))
    ]
    yield _goal(f"{name}: no bound or certificate is contradicted", wrong)


def _smallest(row: Row) -> int | None:
    """The smallest height that is known to be possible."""
    heights = [e.height for e in (row.ours, row.omnimalloc, row.cp_sat) if e.height is not None]
    if row.is_optimum_known:
        heights.append(row.bound)
    return min(heights, default=None)
