"""Renders results as Markdown that also reads well in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from .goals import Goal
from .ratios import geometric_mean
from .records import Prediction, Row

Cells = Sequence[str]
NOT_MEASURED = "?"


def render(
    rows: Sequence[Row], versions: Sequence[str], goals: Sequence[Goal], about: Sequence[str]
) -> str:
    """Return the whole page."""
    parts = ["# Benchmark results", *about, "## Programs", _programs(rows)]
    for version in versions:
        parts += [
            f"## Memory on ExecuTorch {version}, in bytes",
            _memory(rows, version),
            f"## Heap growth in the first run on ExecuTorch {version}, in bytes",
            "The workspace, and the pointers to pixels that XNNPACK's operators keep; packed "
            "weights are made before it.",
            _heap(rows, version),
            f"## Outputs and latency on ExecuTorch {version}",
            _latency(rows, version),
            f"## XNNPACK workspace on ExecuTorch {version}, predicted and measured, in bytes",
            _workspaces(rows, version),
        ]
    parts += ["## Goals", "\n".join(f"- {goal}" for goal in goals)]
    return "\n\n".join(parts) + "\n"


def table(head: Cells, body: Iterable[Cells]) -> str:
    """Return a Markdown table: the first column to the left, the others to the right."""
    lines = [list(head), *(list(cells) for cells in body)]
    widths = [max(len(line[k]) for line in lines) for k in range(len(head))]
    rule = ["-" * widths[0], *("-" * (width - 1) + ":" for width in widths[1:])]
    return "\n".join(_line(cells, widths) for cells in [lines[0], rule, *lines[1:]])


def _line(cells: Cells, widths: Sequence[int]) -> str:
    first = cells[0].ljust(widths[0])
    others = [cell.rjust(width) for cell, width in zip(cells[1:], widths[1:], strict=True)]
    return f"| {' | '.join([first, *others])} |"


def _programs(rows: Sequence[Row]) -> str:
    head = ("program", "what it is", "calls", "opened", "file", "file after", "optimize, s")
    return table(
        head,
        (
            (
                row.name,
                row.description,
                str(row.optimization.delegate_calls),
                str(row.optimization.opened_calls),
                f"{row.optimization.before.file:,}",
                f"{row.optimization.after.file:,}",
                f"{row.optimization.seconds:.2f}",
            )
            for row in rows
        ),
    )


def _memory(rows: Sequence[Row], version: str) -> str:
    head = ("program", "arena", "workspace", "sum", "arena after", "workspace after", "sum after")
    body: list[Cells] = []
    for row in rows:
        cells = [row.name]
        sides = (row.optimization.before, row.optimization.after)
        workspaces = row.trials[version].workspaces
        for side, workspace, total in zip(sides, workspaces, row.totals(version), strict=True):
            cells += [f"{side.arena:,}", _count(workspace), f"{total:,}"]
        body.append([*cells, f"{row.ratio(version):.3f}", f"{row.optimization.gap:.2%}"])
    mean = geometric_mean(row.ratio(version) for row in rows)
    body.append(["geometric mean", *[""] * 6, f"{mean:.3f}", ""])
    return table([*head, "ratio", "gap"], body)


def _heap(rows: Sequence[Row], version: str) -> str:
    body: list[Cells] = []
    for row in rows:
        sizes = (_count(size) for size in row.trials[version].heap_growth)
        ratio = row.heap_ratio(version)
        body.append((row.name, *sizes, NOT_MEASURED if ratio is None else f"{ratio:.3f}"))
    known = (row.heap_ratio(version) for row in rows)
    mean = geometric_mean(ratio for ratio in known if ratio is not None)
    body.append(("geometric mean", "", "", f"{mean:.3f}"))
    return table(("program", "before", "after", "ratio"), body)


def _latency(rows: Sequence[Row], version: str) -> str:
    head = ("program", "bit-exact", "runs", "sizes", "ms", "ms after", "time", "95 %", "pairs")
    body: list[Cells] = []
    for row in rows:
        trial = row.trials[version]
        before, after = trial.seconds
        body.append(
            (
                row.name,
                "yes" if trial.difference is None else "NO",
                str(trial.runs),
                str(trial.sizes),
                f"{before * 1000:.1f}",
                f"{after * 1000:.1f}",
                f"{trial.latency.value:.3f}",
                f"{trial.latency.low:.3f}-{trial.latency.high:.3f}",
                str(trial.pairs),
                f"{trial.cpu.value:.3f}",
            )
        )
    trials = [row.trials[version] for row in rows]
    time, cpu = (
        f"{geometric_mean(ratios):.3f}"
        for ratios in ([t.latency.value for t in trials], [t.cpu.value for t in trials])
    )
    body.append(["geometric mean", *[""] * 5, time, "", "", cpu])
    return table([*head, "CPU time"], body)


def _workspaces(rows: Sequence[Row], version: str) -> str:
    side = ("tensors", "scratch", "predicted", "measured", "error")
    head = ("program", *side, *(f"{name} after" for name in side))
    body = []
    for row in rows:
        cells = [row.name]
        for predicted, measured in row.workspaces(version):
            cells += [f"{predicted.tensors:,}", f"{predicted.scratch:,}", f"{predicted.total:,}"]
            cells += [_count(measured), _error(predicted, measured)]
        body.append(cells)
    return table(head, body)


def _count(number: int | None) -> str:
    return NOT_MEASURED if number is None else f"{number:,}"


def _error(predicted: Prediction, measured: int | None) -> str:
    if measured is None:
        return NOT_MEASURED
    if measured == 0:
        return "0.00%" if predicted.total == 0 else "all"
    return f"{predicted.total / measured - 1:.2%}"
