"""A summary as text for a terminal: aligned tables, exact bytes beside human units, bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import PurePath

from onearena.report.bars import bar, chart, column_of
from onearena.report.plain import clipped, plain
from onearena.report.summary_markdown import compared, pairs
from onearena.report.text import both_units, size_text, table
from onearena.report.totals import other_rows
from onearena.sizes.results import ProgramPools
from onearena.summary.model import (
    ArenaSummary,
    DelegateSummary,
    MethodSummary,
    ProgramSummary,
    TensorSummary,
)

PIPE_COLUMNS = 76
"""Width of the report where there is no terminal."""

_MIN_COLUMNS, _MAX_COLUMNS = 40, 160
_CHART_LINES, _BAR_COLUMNS, _NAME_COLUMNS = 6, 12, 28
_MAX_TENSORS, _MAX_DELEGATES, _MAX_CHARTS = 10, 12, 4
_NOTE_COLUMNS = 76
_UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class TextStyle:
    """What the terminal can do.

    Attributes:
        columns: its width.
        has_blocks: whether it shows block elements; bars are ASCII otherwise.
    """

    columns: int = PIPE_COLUMNS
    has_blocks: bool = False

    @property
    def width(self) -> int:
        """The width that is used."""
        return min(max(self.columns, _MIN_COLUMNS), _MAX_COLUMNS)


def summary_text(
    summary: ProgramSummary,
    other: ProgramSummary | None = None,
    style: TextStyle = TextStyle(),
    pools: Sequence[ProgramPools] = (),
    other_pools: Sequence[ProgramPools] = (),
) -> str:
    """The report; with `other`, first what differs, then the methods of the first program.

    Args:
        pools, other_pools: of each program, one per target.
    """
    parts = ["\n".join(_head(summary, pools))]
    if other is not None:
        parts.append("\n".join(_head(other, other_pools)))
        parts.append("\n".join(_compared_lines(summary, other)))
        parts.append(f"what follows is about {plain(summary.path)} alone")
    for method in summary.methods:
        parts += ["\n".join(part) for part in _method_parts(method, style, pools)]
    if not summary.methods:
        parts.append("no methods")
    return "\n\n".join(parts)


def _head(summary: ProgramSummary, pools: Sequence[ProgramPools]) -> Iterator[str]:
    """The file, and its parts where they are known: they add up to it."""
    yield f"{plain(summary.path)}  {both_units(summary.file_bytes)}"
    if pools:
        parts = sorted(pools[0].flash.parts, key=lambda part: -part.size_bytes)
        yield f"  {', '.join(f'{part.name} {size_text(part.size_bytes)}' for part in parts)}"


def _exact(size: int | None) -> str:
    return _UNKNOWN if size is None else f"{size:,}"


def _human(size: int | None) -> str:
    return "" if size is None else size_text(size)


def _indented(lines: Iterable[str], depth: int = 2) -> list[str]:
    return [" " * depth + line if line else "" for line in lines]


def _compared_lines(summary: ProgramSummary, other: ProgramSummary) -> Iterator[str]:
    # two files are often called alike, and the heads above name them in full
    names = [clipped(PurePath(s.path).name, _NAME_COLUMNS) for s in (summary, other)]
    rows = [["bytes", *names, "second/first"]]
    for method_name, here, there in pairs(summary, other):
        for label, old, new in compared(here, there):
            ratio = f"{new / old:.3f}" if old and new is not None else "-"
            name = f"{clipped(method_name, _NAME_COLUMNS)}: {label}"
            rows.append([name, _exact(old) if here else "-", _exact(new) if there else "-", ratio])
    yield from table(rows).splitlines()


# -- a method ---------------------------------------------------------------------------------


def _method_parts(
    method: MethodSummary, style: TextStyle, pools: Sequence[ProgramPools]
) -> Iterator[list[str]]:
    version = method.optimized_by
    planner = f"  (planned by onearena {plain(version)})" if version else ""
    yield [f"method {plain(method.name)}{planner}", *_indented(_totals(method))]
    if method.arenas:
        yield _indented(_arena_lines(method))
    if method.delegates:
        yield _indented(_delegate_lines(method))
    if method.calls_delegates:
        yield _indented(_workspace_lines(method))
    for name, values in _curves(method):
        yield _indented(_chart_lines(name, values, style))
    for arena in method.arenas:
        if arena.peak_step is not None:
            yield _indented(_peak_lines(method, arena, arena.peak_step, style))
    if method.unplanned:
        yield _indented(_unplanned_lines(method))
    yield _indented(_other_lines(method, pools))
    if method.notes:
        yield _indented(f"note: {plain(note)}" for note in method.notes)


def _totals(method: MethodSummary) -> list[str]:
    arenas, bound = method.arena_bytes, method.bound_bytes
    rows = [["bytes", "exact", ""]]
    sizes: list[tuple[str, int | None]] = [("arenas (planned)", arenas)]
    if method.calls_delegates:
        sizes.append(("workspace of delegates (predicted)", method.workspace.global_bytes))
        sizes.append(("total", method.total_bytes))
    sizes.append(("lower bound of the arenas", bound))
    rows += [[label, _exact(size), _human(size)] for label, size in sizes]
    if method.state_bytes:
        state = method.state_bytes
        rows.append(["state, inside the arenas", _exact(state), _human(state)])
    lines = table(rows).splitlines()
    if bound:
        lines[len(sizes)] += f"  (gap {(arenas - bound) / bound:.2%})"
    return lines


def _arena_lines(method: MethodSummary) -> list[str]:
    rows = [["arena", "size", "live at peak", "lower bound"]]
    where = [""]
    for arena in method.arenas:
        sizes = (arena.size_bytes, arena.peak_bytes, arena.bound_bytes)
        rows.append([str(arena.memory_id), *map(_exact, sizes)])
        peak = arena.peak_step
        where.append("nothing is planned" if peak is None else method.steps[peak].where)
    lines = table(rows).splitlines()
    width = max(map(len, lines))
    return [f"{lines[0].ljust(width)}  peak at"] + [
        f"{line.ljust(width)}  {plain(text)}"
        for line, text in zip(lines[1:], where[1:], strict=True)
    ]


def _other_lines(method: MethodSummary, pools: Sequence[ProgramPools]) -> list[str]:
    rows = [["other memory", "exact", ""]]
    notes = [""]
    for row in other_rows(method, pools):
        rows.append([row.label, _exact(row.size_bytes), _human(row.size_bytes)])
        notes.append(clipped(row.note, _NOTE_COLUMNS))
    lines = table(rows).splitlines()
    width = max(map(len, lines))
    return [
        f"{line.ljust(width)}  {note}".rstrip() for line, note in zip(lines, notes, strict=True)
    ]


# -- delegates --------------------------------------------------------------------------------


def _delegate_lines(method: MethodSummary) -> Iterator[str]:
    """The largest ones; those that are not known come first, since they may be larger."""
    found = sorted(
        method.delegates,
        key=lambda d: (d.workspace_bytes is not None, -(d.workspace_bytes or 0), d.number),
    )
    rows = [["delegate", "calls", "nodes", "workspace", "indirection", "weights", ""]]
    rows += [_delegate_row(delegate) for delegate in found[:_MAX_DELEGATES]]
    yield from table(rows).splitlines()
    if len(found) > _MAX_DELEGATES:
        yield f"and {len(found) - _MAX_DELEGATES} more, not larger"
    yield from _reason_lines(method.delegates)


def _delegate_row(delegate: DelegateSummary) -> list[str]:
    return [
        f"{delegate.number} {clipped(delegate.backend, _NAME_COLUMNS)}",
        f"{len(delegate.calls):,}",
        _exact(delegate.nodes),
        _exact(delegate.workspace_bytes),
        _exact(delegate.indirection_bytes),
        _exact(delegate.weights_bytes),
        "opened" if delegate.is_opened else "closed",
    ]


def _reason_lines(delegates: Sequence[DelegateSummary]) -> Iterator[str]:
    reasons: dict[str, list[int]] = {}
    for delegate in delegates:
        if delegate.closed is not None:
            reason = f"cannot be opened: {delegate.closed}"
            reasons.setdefault(reason, []).append(delegate.number)
        for note in delegate.notes:
            reasons.setdefault(note, []).append(delegate.number)
    for reason, numbers in reasons.items():
        more = f" and {len(numbers) - 1} more" if len(numbers) > 1 else ""
        yield f"delegate {numbers[0]}{more}: {plain(reason)}"


def _workspace_lines(method: MethodSummary) -> list[str]:
    workspace = method.workspace
    rows = [["workspace by sharing mode (predicted)", "exact", ""]]
    for label, size in (
        ("disabled: each delegate has its own", workspace.separate_bytes),
        ("per model: one for this program", workspace.per_model_bytes),
        ("global: one for the process (default)", workspace.global_bytes),
    ):
        rows.append([label, _exact(size), _human(size)])
    lines = table(rows).splitlines()
    if workspace.unknown:
        names = ", ".join(map(plain, workspace.unknown))
        lines.append(f"{_UNKNOWN}: what these backends allocate cannot be told: {names}")
    return lines


# -- live bytes over time ---------------------------------------------------------------------


def _curves(method: MethodSummary) -> Iterator[tuple[str, Sequence[int | None]]]:
    used = sorted(
        (arena for arena in method.arenas if arena.peak_step is not None),
        key=lambda arena: (-arena.peak_bytes, arena.memory_id),
    )
    for arena in used[:_MAX_CHARTS]:
        yield f"live bytes of arena {arena.memory_id}", arena.live_bytes
    if any(size != 0 for size in method.workspace_by_step):
        yield "workspace that the running delegate uses", method.workspace_by_step


def _chart_lines(name: str, values: Sequence[int | None], style: TextStyle) -> Iterator[str]:
    known = [value for value in values if value is not None]
    top = max(known, default=0)
    most = f", at most {both_units(top)}" if top else ""
    if len(known) < len(values):
        most += f"{' where known' if top else ''}, ? = {_UNKNOWN}"
    yield f"{name}{most}"
    width = style.width - 4  # indented by two, and bars by two more
    yield from _indented(chart(values, width, _CHART_LINES if top else 1, style.has_blocks))
    count = len(values)
    if top:
        peak = next(step for step, value in enumerate(values) if value == top)
        marks = " " * column_of(peak, count, width) + f"^ step {peak}"
        yield f"  {marks}" if len(marks) <= width else f"  {_left_of_mark(marks)}"
    yield f"  steps 0 to {count - 1}, from left to right"


def _left_of_mark(marks: str) -> str:
    """The text before the mark, when there is no room behind it."""
    column, text = marks.index("^"), marks[marks.index("^") + 2 :]
    return f"{text} ^".rjust(column + 1)


def _peak_lines(
    method: MethodSummary, arena: ArenaSummary, step: int, style: TextStyle
) -> Iterator[str]:
    where = plain(method.steps[step].where)
    yield f"peak of arena {arena.memory_id}: {both_units(arena.peak_bytes)} alive at {where}"
    source = method.steps[step].source
    if source is not None:
        yield f"  from {plain(str(source))}  {plain(source.text)}".rstrip()
    alive = method.alive_at(step, arena.memory_id)
    shown = alive[:_MAX_TENSORS]
    rows = [_peak_row(tensor, arena.peak_bytes) for tensor in shown]
    for line, tensor in zip(table(rows).splitlines() if rows else (), shown, strict=True):
        mark = bar(tensor.size_bytes, arena.peak_bytes, _BAR_COLUMNS, style.has_blocks)
        yield f"  {line}  {mark.ljust(_BAR_COLUMNS)}  {plain(tensor.description)}"
    if len(alive) > len(shown):
        rest = sum(tensor.size_bytes for tensor in alive[_MAX_TENSORS:])
        yield f"  and {len(alive) - len(shown):,} more: {both_units(rest)}"


def _peak_row(tensor: TensorSummary, peak_bytes: int) -> list[str]:
    share = f"{tensor.size_bytes / peak_bytes:.1%}"
    return [clipped(tensor.name, _NAME_COLUMNS), f"{tensor.size_bytes:,} B", share]


def _unplanned_lines(method: MethodSummary) -> list[str]:
    rows = [["memory that the caller must bring", "bytes", ""]]
    rows += [
        [clipped(value.name, _NAME_COLUMNS), _exact(value.size_bytes), _human(value.size_bytes)]
        for value in method.unplanned
    ]
    lines = table(rows).splitlines()
    width = max(map(len, lines))
    return [lines[0]] + [
        f"{line.ljust(width)}  {plain(value.description)}"
        for line, value in zip(lines[1:], method.unplanned, strict=True)
    ]
