"""A CSV file as header and rows of text, before anything is made of them."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

from onearena.errors import FormatError
from onearena.problem_files.values import shown

COLUMNS = {
    "id": "id",
    "buffer": "id",
    "buffer_id": "id",
    "lower": "lower",
    "begin": "lower",
    "start": "lower",
    "upper": "upper",
    "end": "upper",
    "size": "size",
    "alignment": "alignment",
    "gaps": "gaps",
    "offset": "offset",
    "hint": "hint",
    "region": "region",
    "last": "last",
    "memory": "memory",
}
"""Names a column may have, and what they mean."""

INCLUSIVE_END = "end"
"""In a column of this name, and then in gaps too, the last step is still part of the lifetime."""

_REQUIRED = {"id": "id", "lower": "lower (or begin, start)", "upper": "upper (or end)"}
_REQUIRED["size"] = "size"
_MUST_QUOTE = re.compile('[,"\r\n]')
_MAX_FIELD_CHARACTERS = 1 << 30


@dataclass(frozen=True)
class CsvTable:
    """The text of a CSV file.

    Attributes:
        header: the names of the columns, as in the file.
        rows: as many fields each as the header.
        lines: of every row, the line at which it starts, from 1.
        line_end: between rows.
    """

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    lines: tuple[int, ...]
    line_end: str = "\n"

    @property
    def meanings(self) -> tuple[str, ...]:
        """What the columns mean."""
        return tuple(COLUMNS[name] for name in self.header)

    def text(self) -> str:
        """The file's content."""
        rows = (self.header, *self.rows)
        return "".join(",".join(map(_quoted, row)) + self.line_end for row in rows)

    def with_column(self, meaning: str, fields: Sequence[str]) -> CsvTable:
        """The same table with other fields in a column, which is added when it is missing."""
        if meaning in self.meanings:
            at = self.meanings.index(meaning)
            rows = tuple(
                (*row[:at], field, *row[at + 1 :])
                for row, field in zip(self.rows, fields, strict=True)
            )
            return CsvTable(self.header, rows, self.lines, self.line_end)
        rows = tuple((*row, field) for row, field in zip(self.rows, fields, strict=True))
        return CsvTable((*self.header, meaning), rows, self.lines, self.line_end)


def _quoted(field: str) -> str:
    if not _MUST_QUOTE.search(field):
        return field
    return '"' + field.replace('"', '""') + '"'


def parse_table(text: str, name: str) -> CsvTable:
    """Splits a file's content into fields and checks the header.

    Raises:
        FormatError: with `name`, the line, and the column where there is one.
    """
    rows = _rows(text, name)
    head = next(rows, None)
    if head is None:
        raise FormatError(f"{name}: has no header line")
    header = _header(head[1], name)
    lines, kept = [], []
    for line, row in rows:
        if len(row) != len(header):
            raise FormatError(
                f"{name}: line {line}: has {len(row)} fields, the header has {len(header)}"
            )
        lines.append(line)
        kept.append(tuple(row))
    first = text.find("\n")
    line_end = "\r\n" if first > 0 and text[first - 1] == "\r" else "\n"
    return CsvTable(header, tuple(kept), tuple(lines), line_end)


def _rows(text: str, name: str) -> Iterator[tuple[int, list[str]]]:
    """All rows with the line at which they start; nothing may follow a blank line."""
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    line, blank = 1, 0
    with _long_fields():
        while True:
            try:
                row = next(reader, None)
            except csv.Error as error:
                raise FormatError(f"{name}: line {line}: is not CSV ({error})") from None
            if row is None:
                return
            if not row or (len(row) == 1 and not row[0].strip()):
                blank = blank or line
            elif blank:
                raise FormatError(f"{name}: line {blank}: is blank, but more lines follow")
            else:
                yield line, row
            line = reader.line_num + 1


@contextmanager
def _long_fields() -> Iterator[None]:
    """The csv module refuses long fields; a buffer may have many gaps."""
    before = csv.field_size_limit(_MAX_FIELD_CHARACTERS)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _header(fields: Iterable[str], name: str) -> tuple[str, ...]:
    header = tuple(field.strip() for field in fields)
    seen: dict[str, str] = {}
    for column in header:
        where = f"{name}: line 1, column {shown(column)}"
        meaning = COLUMNS.get(column)
        if meaning is None:
            raise FormatError(f"{where}: is unknown; known are {', '.join(COLUMNS)}")
        if meaning in seen:
            other = seen[meaning]
            again = "is there twice" if other == column else f"means the same as {shown(other)}"
            raise FormatError(f"{where}: {again}")
        seen[meaning] = column
    for meaning, names in _REQUIRED.items():
        if meaning not in seen:
            raise FormatError(f"{name}: line 1: the column {names} is missing")
    return header
