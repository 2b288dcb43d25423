"""What onearena writes into a file about its own plan, under one named-data key.

The record names the tool, what the plan assumes about XNNPACK, the sizes before, and which
values are one memory. Nothing in the runtime reads it; `inspect` and `verify` do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onearena.flatbuf.data import read_data
from onearena.pte.container import PteFile

KEY = "onearena"
FORMAT = 1
_MAX_RECORD_BYTES = 64 << 20
ASSUMPTIONS = (
    "XNNPACK runs the nodes of a payload one after another, in list order",
    "XNNPACK merges nodes only as listed in the documentation of version 1 of this record",
)


@dataclass(frozen=True)
class MethodRecord:
    """One planned method.

    Attributes:
        arena_bytes_before: `non_const_buffer_sizes` of the original.
        workspace_bytes_before: predicted workspace of the original.
        aliases: (value, value, distance in bytes): the second lies at that distance from the
            first.
        state: values that must survive from run to run.
        opened: first and past-the-last value that opening added.
        order: by instruction, its number in the original; empty when nothing moved.
    """

    arena_bytes_before: tuple[int, ...]
    workspace_bytes_before: int
    aliases: tuple[tuple[int, int, int], ...]
    state: tuple[int, ...]
    opened: tuple[int, int]
    order: tuple[int, ...]


@dataclass(frozen=True)
class Record:
    """The whole record."""

    tool_version: str
    methods: Mapping[str, MethodRecord]


def encode_record(record: Record) -> bytes:
    """The record as JSON."""
    methods = {
        name: {
            "arena_bytes_before": list(method.arena_bytes_before),
            "workspace_bytes_before": method.workspace_bytes_before,
            "aliases": [list(alias) for alias in method.aliases],
            "state": list(method.state),
            "opened": list(method.opened),
            "order": list(method.order),
        }
        for name, method in record.methods.items()
    }
    content = {
        "format": FORMAT,
        "tool": f"onearena {record.tool_version}",
        "assumes": list(ASSUMPTIONS),
        "methods": methods,
    }
    return json.dumps(content, separators=(",", ":")).encode()


def read_record(file: PteFile) -> Record | None:
    """The record of a file; None when it has none, or none that this version understands."""
    entry = next((e for e in file.program.named_data or () if e.key == KEY), None)
    if entry is None or entry.segment_index >= len(file.segments):
        return None
    segment = file.segments[entry.segment_index]
    if segment.size_bytes > _MAX_RECORD_BYTES:
        return None
    try:
        return _decode(json.loads(read_data(segment.data)))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None


def _decode(content: Any) -> Record | None:
    if content["format"] != FORMAT:
        return None
    methods = {str(name): _method(entry) for name, entry in content["methods"].items()}
    return Record(str(content["tool"]).removeprefix("onearena "), methods)


def _method(entry: Any) -> MethodRecord:
    aliases = tuple((int(a), int(b), int(d)) for a, b, d in entry["aliases"])
    first, last = entry["opened"]
    return MethodRecord(
        tuple(int(size) for size in entry["arena_bytes_before"]),
        int(entry["workspace_bytes_before"]),
        aliases,
        tuple(int(value) for value in entry["state"]),
        (int(first), int(last)),
        tuple(int(number) for number in entry["order"]),
    )
