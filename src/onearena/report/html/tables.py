"""Totals as an HTML table: one column per program, and the ratio of two."""

from __future__ import annotations

import html
from collections.abc import Sequence

from onearena.report.html.shown import escaped
from onearena.report.text import size_text
from onearena.report.totals import TotalRow

SIDES = ("before", "after")
"""What two programs are called."""

_UNKNOWN = '<span class="unknown">unknown</span>'
_KILO = 1000


def size_cell(size_bytes: int | None) -> str:
    """A size for people."""
    return _UNKNOWN if size_bytes is None else size_text(size_bytes)


def size_pair(size_bytes: int | None) -> str:
    """A size for people, and the exact bytes where the former is rounded."""
    if size_bytes is None:
        return _UNKNOWN
    if size_bytes < _KILO:
        return size_text(size_bytes)
    return f'{size_text(size_bytes)} <span class="exact">{size_bytes:,} B</span>'


def totals_table(
    caption: str, heads: Sequence[str], programs: Sequence[Sequence[TotalRow] | None]
) -> str:
    """A row per label.

    Args:
        heads: of the columns, one per program.
        programs: the rows of each; None for one that has nothing to show.
    """
    labels = _labels(programs)
    columns = [{row.label: row for row in rows or ()} for rows in programs]
    titles = [*heads, *(("after / before",) if len(programs) > 1 else ()), "note"]
    head = "".join(f'<th scope="col">{html.escape(title)}</th>' for title in titles)
    body = "".join(_row(label, [column.get(label) for column in columns]) for label in labels)
    return (
        f'<div class="scroll" tabindex="0" role="region" aria-label="{escaped(caption)}">'
        f'<table class="totals"><caption class="unseen">{escaped(caption)}</caption>'
        f"<thead><tr><td></td>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _labels(programs: Sequence[Sequence[TotalRow] | None]) -> list[str]:
    """In the order of the longest; what only another one has stands where it stands there."""
    labels: list[str] = []
    for rows in programs:
        place = 0
        for row in rows or ():
            if row.label in labels:
                place = labels.index(row.label) + 1
            else:
                labels.insert(place, row.label)
                place += 1
    return labels


def _row(label: str, rows: Sequence[TotalRow | None]) -> str:
    cells = [f'<th scope="row">{escaped(label)}</th>']
    cells += [
        f'<td class="number">{size_pair(row.size_bytes) if row else "none"}</td>' for row in rows
    ]
    if len(rows) > 1:
        cells.append(f'<td class="number">{_ratio(rows)}</td>')
    cells.append(f'<td class="notes">{escaped(_notes(rows))}</td>')
    is_sum = any(row and row.is_sum for row in rows)
    return f"<tr{' class=sum' if is_sum else ''}>{''.join(cells)}</tr>"


def _notes(rows: Sequence[TotalRow | None]) -> str:
    """One text where the notes agree, else one per side."""
    notes = [row.note if row else "" for row in rows]
    if len(set(notes)) == 1:
        return notes[0]
    return "; ".join(f"{side}: {note}" for side, note in zip(SIDES, notes, strict=True) if note)


def _ratio(rows: Sequence[TotalRow | None]) -> str:
    old, new = (row.size_bytes if row else None for row in rows)
    if old is None or new is None:
        return ""
    if not old:
        return "=" if not new else ""
    return f"{new / old:.3f}"
