"""MiniMalloc's CSV: rows to buffers and back. Problems with groups or pairs have no CSV."""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise
from typing import NoReturn, TypeVar

from onearena.errors import FormatError, UsageError
from onearena.lifetime import Interval, merge
from onearena.problem import Buffer, Plan, Problem, Window
from onearena.problem_files.csv_table import INCLUSIVE_END, CsvTable, parse_table
from onearena.problem_files.values import (
    DEFAULT_ARENA,
    BadValueError,
    check_apart,
    check_windows,
    in_range,
    ordered,
    parse_int,
    shown,
    without,
)

_T = TypeVar("_T")
_GAP = re.compile(r"(-?[0-9]+)-(-?[0-9]+)(?:@(-?[0-9]+):(-?[0-9]+))?")
_REGION = re.compile(r"([0-9]+):([0-9]+)")
_Gaps = tuple[tuple[Interval, ...], tuple[Window, ...]]
_NO_GAPS: _Gaps = ((), ())
_FLAGS = {"0": False, "1": True}


def parse_csv(text: str, name: str) -> tuple[Problem, CsvTable]:
    """The problem that a file's content describes, and the content itself.

    Raises:
        FormatError: with `name`, line and column.
    """
    table = parse_table(text, name)
    columns = dict(zip(table.meanings, table.header, strict=True))
    seen: dict[str, int] = {}
    buffers: list[Buffer] = []
    for line, fields in zip(table.lines, table.rows, strict=True):
        row = _Row(name, line, dict(zip(table.meanings, fields, strict=True)), columns)
        buffer = _buffer(row, len(buffers))
        if buffer.name in seen:
            row.fail("id", f"{shown(buffer.name)} is in line {seen[buffer.name]} already")
        seen[buffer.name] = line
        buffers.append(buffer)
    return Problem(tuple(buffers)), table


class _Row:
    """The fields of a row by meaning."""

    __slots__ = ("_columns", "_fields", "_line", "_name")

    def __init__(
        self, name: str, line: int, fields: dict[str, str], columns: dict[str, str]
    ) -> None:
        self._name = name
        self._line = line
        self._fields = fields
        self._columns = columns

    @property
    def addend(self) -> int:
        """What makes the written end of an interval a half-open one."""
        return 1 if self._columns["upper"] == INCLUSIVE_END else 0

    def text(self, meaning: str) -> str:
        return self._fields[meaning]

    def read(self, meaning: str, parse: Callable[[str], _T]) -> _T:
        try:
            return parse(self._fields[meaning])
        except BadValueError as error:
            self.fail(meaning, str(error))

    def read_or(self, meaning: str, parse: Callable[[str], _T], default: _T) -> _T:
        """`default` when the column is missing or the field is empty."""
        if not self._fields.get(meaning, "").strip():
            return default
        return self.read(meaning, parse)

    def has(self, meaning: str) -> bool:
        return meaning in self._fields

    def fail(self, meaning: str, message: str) -> NoReturn:
        column = self._columns[meaning]
        raise FormatError(f"{self._name}: line {self._line}, column {column!r}: {message}")


def _buffer(row: _Row, index: int) -> Buffer:
    start = row.read("lower", parse_int)
    life = row.read("upper", lambda text: _end(start, text, row.addend))
    size = row.read("size", _not_negative)
    holes, windows = row.read_or("gaps", lambda text: _gaps(text, row.addend, life, size), _NO_GAPS)
    arenas = row.read("memory", _arenas) if row.has("memory") else (DEFAULT_ARENA,)
    return Buffer(
        index,
        size,
        row.read_or("alignment", lambda text: parse_int(text, 1), 1),
        arenas[0],
        without(life, holes),
        row.read_or("offset", _not_negative, None),
        row.text("id"),
        windows,
        row.read_or("region", _region, None),
        row.read_or("last", _flag, False),
        arenas[1:],
        row.read_or("hint", _not_negative, None),
    )


def _not_negative(text: str) -> int:
    return parse_int(text, 0)


def _end(start: int, text: str, addend: int) -> Interval:
    return ordered(start, in_range(parse_int(text) + addend))


def _flag(text: str) -> bool:
    if text.strip() not in _FLAGS:
        raise BadValueError(f"{shown(text)} is neither 0 nor 1")
    return _FLAGS[text.strip()]


def _region(text: str) -> Interval:
    found = _REGION.fullmatch(text.strip())
    if not found:
        raise BadValueError(f"{shown(text)} is not of the form 0:4096")
    return ordered(parse_int(found[1]), parse_int(found[2]))


def _arenas(text: str) -> tuple[int, ...]:
    arenas = tuple(_not_negative(number) for number in text.split())
    if not arenas:
        raise BadValueError("names no arena")
    if len(set(arenas)) < len(arenas):
        raise BadValueError(f"{shown(text)} names an arena twice")
    return arenas


def _gaps(text: str, addend: int, life: Interval, size: int) -> _Gaps:
    """Steps at which nothing is occupied, and those at which only some bytes are."""
    holes: list[Interval] = []
    windows: list[Window] = []
    for gap in text.split():
        found = _GAP.fullmatch(gap)
        if not found:
            raise BadValueError(f"{shown(gap)} is not of the form 3-7 or 3-7@0:64")
        steps = ordered(parse_int(found[1]), in_range(parse_int(found[2]) + addend))
        if steps.start < life.start or steps.end > life.end:
            raise BadValueError(f"{shown(gap)} is not inside the lifetime")
        if found[3] is None:
            holes.append(steps)
        else:
            windows.append(Window(steps, parse_int(found[3]), parse_int(found[4])))
    check_apart([*holes, *(window.lifetime for window in windows)], "gap")
    check_windows(windows, size)
    return tuple(holes), tuple(windows)


def check_csv(problem: Problem) -> None:
    """CSV can say it.

    Raises:
        UsageError: it has alias groups, or pairs that may share.
    """
    if problem.groups or problem.may_share:
        raise UsageError("groups and pairs that may share cannot be written as CSV, only as JSON")


def problem_table(problem: Problem) -> CsvTable:
    """A problem as CSV, with the columns that it needs.

    Buffers without any name in the whole problem are called by their position.
    """
    buffers = problem.buffers
    is_nameless = not any(buffer.name for buffer in buffers)
    header = ["id", "lower", "upper", "size"]
    rows = [
        [
            str(buffer.id) if is_nameless else buffer.name,
            str(buffer.lifetime[0].start if buffer.lifetime else 0),
            str(buffer.lifetime[-1].end if buffer.lifetime else 0),
            str(buffer.size_bytes),
        ]
        for buffer in buffers
    ]
    for column, write in _OPTIONAL.items():
        fields = [write(buffer) for buffer in buffers]
        if any(field != _DEFAULTS.get(column, "") for field in fields):
            header.append(column)
            for row, field in zip(rows, fields, strict=True):
                row.append(field)
    lines = tuple(range(2, len(rows) + 2))
    return CsvTable(tuple(header), tuple(map(tuple, rows)), lines)


def _write_gaps(buffer: Buffer) -> str:
    life = merge(buffer.lifetime)
    gaps = [f"{a.end}-{b.start}" for a, b in pairwise(life)]
    gaps += [
        f"{w.lifetime.start}-{w.lifetime.end}@{w.start_byte}:{w.end_byte}" for w in buffer.windows
    ]
    return " ".join(gaps)


def _number(value: int | None) -> str:
    return "" if value is None else str(value)


_OPTIONAL: dict[str, Callable[[Buffer], str]] = {
    "alignment": lambda buffer: str(buffer.alignment),
    "gaps": _write_gaps,
    "offset": lambda buffer: _number(buffer.offset),
    "hint": lambda buffer: _number(buffer.hint),
    "region": lambda buffer: f"{buffer.region.start}:{buffer.region.end}" if buffer.region else "",
    "last": lambda buffer: str(int(buffer.is_last)),
    "memory": lambda buffer: " ".join(map(str, (buffer.arena, *buffer.arenas))),
}
_DEFAULTS = {"alignment": "1", "last": "0", "memory": str(DEFAULT_ARENA)}


def plan_table(problem: Problem, table: CsvTable | None, plan: Plan) -> CsvTable:
    """The problem's table with the offsets, and the arenas when there are several.

    Read as a problem, it says that every buffer must lie where the plan puts it.
    """
    table = table or problem_table(problem)
    placed = table.with_column("offset", [str(offset) for offset in plan.offsets])
    if len(problem.arenas) < 2:
        return placed
    arenas = plan.arenas or tuple(buffer.arena for buffer in problem.buffers)
    return placed.with_column("memory", [str(arena) for arena in arenas])
