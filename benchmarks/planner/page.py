"""Renders the results as Markdown that also reads well in a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from ..goals import Goal
from ..tables import Cells, table
from .records import Entry, Fit, Results, Row
from .replanning import Replan
from .verdicts import totals

NOTHING = "-"
TITLES = {
    "challenging": "MiniMalloc's challenging instances, minimised",
    "plans": "ExecuTorch programs",
    "traces": "idealloc's traces",
    "families": "Generated, optimum known",
}


def render(results: Results, goals: Sequence[Goal], about: Sequence[str]) -> str:
    """Return the whole page."""
    parts = ["# Planner benchmark", *about]
    if results.fits:
        parts += ["## MiniMalloc's challenging instances, fitted into 1,048,576"]
        parts += [_fits(results.fits)]
    for name, rows in results.sections.items():
        body = _families(rows) if name == "families" else _rows(rows)
        parts += [f"## {TITLES[name]}", body]
    if results.replans:
        parts += ["## Re-planning with new sizes", _replans(results.replans)]
    parts += ["## Goals", "\n".join(f"- {goal}" for goal in goals)]
    return "\n\n".join(parts) + "\n"


def _fits(fits: Sequence[Fit]) -> str:
    head = ("instance", "buffers", "fitted", "ms, median", "ms, worst", "OmniMalloc", "CP-SAT")
    body: list[Cells] = []
    for fit in fits:
        known = [seconds for seconds in fit.seconds if seconds is not None]
        body.append(
            (
                fit.name,
                f"{fit.buffers:,}",
                f"{len(known)}/{len(fit.seconds)}",
                _ms(median(known)) if known else NOTHING,
                _ms(max(known)) if known else NOTHING,
                *(_fitted(entry, fit.capacity) for entry in (fit.omnimalloc, fit.cp_sat)),
            )
        )
    sums = [total for total in totals(fits) if total is not None]
    middle, worst = (_ms(median(sums)), _ms(max(sums))) if sums else (NOTHING, NOTHING)
    done = f"{len(sums)}/{len(fits[0].seconds)}"
    body.append(("all", "", done, middle, worst, "", ""))
    return table(head, body)


def _fitted(entry: Entry, capacity: int) -> str:
    if entry.height is None or entry.height > capacity:
        return f"no ({entry.seconds:.1f} s)"
    return f"{_ms(entry.seconds)} ms"


def _rows(rows: Sequence[Row]) -> str:
    head = ["instance", "buffers", "limit, s", "bound", "ours", "gap", "proven", "ms"]
    head += ["to convert", "OmniMalloc", "gap", "ms", "CP-SAT", "gap", "ms", "ExecuTorch"]
    body = []
    for row in rows:
        ours = row.ours
        cells = [row.name, f"{row.buffers:,}", f"{row.limit_s:g}", f"{row.bound:,}"]
        cells += [_bytes(ours), _gap(row, ours), "yes" if ours.is_proven else "no"]
        cells += [_ms(ours.seconds), _ms(ours.prepared_s)]
        for entry in (row.omnimalloc, row.cp_sat):
            cells += [_bytes(entry), _gap(row, entry), _took(entry)]
        body.append([*cells, _gap(row, row.executorch)])
    return table(head, body)


def _families(rows: Sequence[Row]) -> str:
    """Means over the seeds of a family and size."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.family, row.name.split("-")[0]), []).append(row)
    head = ["family", "buffers", "count", "best", "proven", "gap", "worst gap", "ms", "OmniMalloc"]
    head += ["CP-SAT", "ExecuTorch", "larger than a rival's"]
    body = [_family(*key, group) for key, group in groups.items()]
    return table(head, body) + (
        "\n\nGaps are to the optimum, means over the seeds; best: plans at the optimum; proven: "
        "with a certificate. A rival without a number does not know what the family needs."
    )


def _family(family: str, size: str, rows: Sequence[Row]) -> Cells:
    gaps = [gap for row in rows if (gap := row.gap(row.ours)) is not None]
    return (
        family,
        size,
        str(len(rows)),
        str(sum(row.ours.height == row.bound for row in rows)),
        str(sum(row.ours.is_proven for row in rows)),
        f"{fmean(gaps):.2%}" if len(gaps) == len(rows) else "FAILED",
        f"{max(gaps, default=0):.2%}",
        _ms(median(row.ours.seconds for row in rows)),
        *(
            _mean_gap(rows, [getattr(row, rival) for row in rows])
            for rival in ("omnimalloc", "cp_sat", "executorch")
        ),
        str(sum(bool(row.winners()) for row in rows)),
    )


def _mean_gap(rows: Sequence[Row], entries: Sequence[Entry]) -> str:
    gaps = [gap for row, e in zip(rows, entries, strict=True) if (gap := row.gap(e)) is not None]
    return f"{fmean(gaps):.2%}" if gaps else NOTHING


def _replans(replans: Sequence[Replan]) -> str:
    groups: dict[tuple[int, str], list[Replan]] = {}
    for replan in replans:
        groups.setdefault((replan.buffers, replan.change), []).append(replan)
    head = ("sizes", "tensors", "us, median", "us, 99 of 100", "height / load", "worst")
    body = [
        (
            change,
            f"{buffers:,}",
            f"{max(r.microseconds for r in some):.1f}",
            f"{max(r.slow_microseconds for r in some):.1f}",
            f"{fmean(r.ratio for r in some):.4f}",
            f"{max(r.worst_ratio for r in some):.4f}",
        )
        for (buffers, change), some in groups.items()
    ]
    return table(head, body) + (
        f"\n\nThe slowest of {len(replans) // max(1, len(groups))} structures each, called from "
        "C++. Scaled: all sizes by one factor; bent: some with its square, some not at all; "
        "random: every size by itself."
    )


def _bytes(entry: Entry) -> str:
    return entry.note if entry.height is None else f"{entry.height:,}"


def _gap(row: Row, entry: Entry) -> str:
    gap = row.gap(entry)
    return NOTHING if gap is None else f"{gap:.2%}"


def _took(entry: Entry) -> str:
    return NOTHING if entry.height is None else _ms(entry.seconds)


def _ms(seconds: float) -> str:
    return f"{seconds * 1000:,.2f}" if seconds < 0.1 else f"{seconds * 1000:,.0f}"
