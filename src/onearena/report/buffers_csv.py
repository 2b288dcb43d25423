"""The planned tensors as CSV, one row each."""

from __future__ import annotations

import csv
import io
from itertools import pairwise

from onearena.report.plain import plain
from onearena.summary.model import ProgramSummary, TensorSummary

COLUMNS = (
    "method",
    "value",
    "name",
    "kind",
    "dtype",
    "shape",
    "dynamic",
    "bytes",
    "memory_id",
    "offset",
    "birth",
    "death",
    "gaps",
    "producers",
    "consumers",
    "block",
    "pinned",
)
_FORMULA_STARTS = ("=", "+", "-", "@")


def buffers_csv(summary: ProgramSummary) -> str:
    """The table, with a header.

    `birth` and `death` are steps, half-open, and empty for memory that is never used; `gaps` are
    the steps in between at which others may have the bytes, like `3-7`. `shape` holds upper
    bounds where `dynamic` is 1. `pinned` says why a tensor keeps its offset. A name that a
    spreadsheet would take for a formula has an apostrophe in front.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(COLUMNS)
    for method in summary.methods:
        for tensor in method.tensors:
            writer.writerow((cell(method.name), *_row(tensor)))
    return out.getvalue()


def cell(text: str) -> str:
    """Text in one line that no spreadsheet runs."""
    shown = plain(text)
    return f"'{shown}" if shown.lstrip().startswith(_FORMULA_STARTS) else shown


def _row(tensor: TensorSummary) -> tuple[object, ...]:
    life = tensor.lifetime
    return (
        tensor.value,
        cell(tensor.name),
        tensor.kind.value,
        tensor.dtype,
        "x".join(map(str, tensor.shape)),
        int(tensor.is_dynamic),
        tensor.size_bytes,
        tensor.arena,
        tensor.offset,
        life[0].start if life else "",
        life[-1].end if life else "",
        " ".join(f"{before.end}-{after.start}" for before, after in pairwise(life)),
        " ".join(map(str, tensor.producers)),
        " ".join(map(str, tensor.consumers)),
        tensor.block,
        cell(tensor.pinned or ""),
    )
