"""The log of Arm's runner as text, for one program or for two side by side."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onearena.report.plain import plain
from onearena.report.text import table
from onearena.sizes.runner import RunnerLog

_UNKNOWN = "unknown"


def runner_text(logs: Sequence[RunnerLog], before: Sequence[RunnerLog] = ()) -> str:
    """The lines that Arm's runner would log, per method.

    Args:
        logs: of the program.
        before: of an earlier version of it; methods are matched by name.
    """
    earlier = {log.method: log for log in before}
    shown = [log for log in logs if not _is_constant(log)] or list(logs)
    parts = [_method(log, earlier.get(log.method), bool(before)) for log in shown]
    left = [log.used for log in logs if log not in shown]
    if left:
        methods = "1 method that runs" if len(left) == 1 else f"{len(left)} methods that run"
        parts.append(f"and {methods} no kernel, with {max(left):,} B of method allocator at most")
    return "\n\n".join(parts)


def _is_constant(log: RunnerLog) -> bool:
    """Methods that exporters add for scales and zero points: they return a number."""
    return not log.planned and not log.fast and log.temp.size_bytes == 0


def _method(log: RunnerLog, before: RunnerLog | None, is_compared: bool) -> str:
    rows = [["bytes", *(["before", "after"] if is_compared else [""])]]
    old = dict(_rows(before)) if before is not None else {}
    for label, cell in _rows(log):
        rows.append([label, *([old.get(label, "-")] if is_compared else []), cell])
    lines = [f"method {plain(log.method)}, as Arm's runner logs it"]
    lines += [f"  {line}" for line in table(rows).splitlines()]
    notes = [note for found in (before, log) if found is not None for note in _notes(found)]
    lines += [f"  note: {plain(note)}" for note in dict.fromkeys(notes)]
    return "\n".join(lines)


def _rows(log: RunnerLog) -> Iterable[tuple[str, str]]:
    least = "" if log.is_exact else "at least "
    yield "model_pte_program_size", f"{log.program:,}"
    yield "method_allocator_used", f"{least}{log.used:,}"
    yield "method_allocator_planned", f"{log.planned:,}"
    yield "  scratch in it, at most at once", f"{log.scratch:,}"
    yield "method_allocator_loaded", f"{least}{log.loaded:,}"
    yield "method_allocator_input", f"{log.input:,}"
    yield "method_allocator_executor", f"{log.executor:,}"
    if log.fast:
        yield "planned in the fast pool", f"{log.fast:,}"
    size = log.temp.size_bytes
    if log.is_temp_planned:
        yield "temp_allocator, needed", "0"
        yield "  built inside planned memory", f"{size:,}"
    else:
        yield "temp_allocator, needed", _UNKNOWN if size is None else f"{size:,}"


def _notes(log: RunnerLog) -> Iterable[str]:
    if log.is_old:
        yield (
            "a program of ExecuTorch 1.1 to 1.3: the sizes are counted as that runner counts them"
        )
    yield from log.temp.notes
