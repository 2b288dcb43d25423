"""What onearena writes into a file about its own plan, under one named-data key.

The record names the tool, what the plan assumes about XNNPACK, the sizes before, and which
values are one memory. Nothing in the runtime reads it; `inspect` and `verify` do.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onearena.errors import UsageError
from onearena.flatbuf.data import data_size, read_data
from onearena.memory_map import MemoryMap, parse_memory_map
from onearena.pte.container import PteFile
from onearena.pte.named_data import named_data

KEY = "onearena"
FORMAT = 1
_MAX_RECORD_BYTES = 64 << 20
_NO_MEMORY_BYTES = 1 << 48
"""Larger than any memory, and small enough to calculate with."""
ASSUMPTIONS = (
    "XNNPACK runs the nodes of a payload one after another, in list order",
    "XNNPACK merges nodes only as listed in the documentation of version 1 of this record",
)


@dataclass(frozen=True)
class TempRecord:
    """Where the application builds its temp allocator.

    Attributes:
        arena: memory_id.
        offset, size_bytes: in the arena.
        target: what it was planned for, "cortex-m55"; None when every machine takes the same.
    """

    arena: int
    offset: int
    size_bytes: int
    target: str | None


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
        order: by instruction, its number in the original; empty when nothing moved or went.
        temp: the region for the application's temp allocator; None when none was planned.
        pieces: (value, value, distance in bytes): the first is a part of the second, which
            XNNPACK computes, or reads, part by part.
        joined: (value, value, distance in bytes): the first lies inside the second, since a
            kernel that would copy it is left out.
        leads: (arena, bytes): what is free in front of an arena, for the sake of addresses.
    """

    arena_bytes_before: tuple[int, ...]
    workspace_bytes_before: int
    aliases: tuple[tuple[int, int, int], ...]
    state: tuple[int, ...]
    opened: tuple[int, int]
    order: tuple[int, ...]
    temp: TempRecord | None = None
    pieces: tuple[tuple[int, int, int], ...] = ()
    joined: tuple[tuple[int, int, int], ...] = ()
    leads: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class Record:
    """The whole record.

    Attributes:
        tool_version: of onearena.
        methods: by name.
        memory_map: what the program was planned into; None without a map.
    """

    tool_version: str
    methods: Mapping[str, MethodRecord]
    memory_map: MemoryMap | None = None


def encode_record(record: Record) -> bytes:
    """The record as JSON."""
    methods = {name: _method_json(method) for name, method in record.methods.items()}
    content: dict[str, Any] = {
        "format": FORMAT,
        "tool": f"onearena {record.tool_version}",
        "assumes": list(ASSUMPTIONS),
        "methods": methods,
    }
    if record.memory_map is not None:
        content["memory_map"] = str(record.memory_map)
    return json.dumps(content, separators=(",", ":")).encode()


def _method_json(method: MethodRecord) -> dict[str, Any]:
    content: dict[str, Any] = {
        "arena_bytes_before": list(method.arena_bytes_before),
        "workspace_bytes_before": method.workspace_bytes_before,
        "aliases": [list(alias) for alias in method.aliases],
        "state": list(method.state),
        "opened": list(method.opened),
        "order": list(method.order),
    }
    if method.pieces:
        content["pieces"] = [list(piece) for piece in method.pieces]
    if method.joined:
        content["joined"] = [list(part) for part in method.joined]
    if method.leads:
        content["free_in_front"] = [list(lead) for lead in method.leads]
    if method.temp is not None:
        # versions that do not know it pass over it
        content["temp_region"] = {
            "memory_id": method.temp.arena,
            "offset": method.temp.offset,
            "bytes": method.temp.size_bytes,
            "target": method.temp.target,
        }
    return content


def read_record(file: PteFile) -> Record | None:
    """The record of a file; None when it has none, or none that this version understands."""
    data = named_data(file, KEY)
    if data is None or data_size(data) > _MAX_RECORD_BYTES:
        return None
    try:
        return _decode(json.loads(read_data(data)))
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OverflowError,
        UsageError,
    ):
        return None


def _decode(content: Any) -> Record | None:
    if content["format"] != FORMAT:
        return None
    methods = {str(name): _method(entry) for name, entry in content["methods"].items()}
    text = content.get("memory_map")
    memory_map = None if text is None else parse_memory_map(str(text))
    return Record(str(content["tool"]).removeprefix("onearena "), methods, memory_map)


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
        _temp(entry.get("temp_region")),
        tuple((int(a), int(b), int(d)) for a, b, d in entry.get("pieces", ())),
        tuple((int(a), int(b), int(d)) for a, b, d in entry.get("joined", ())),
        tuple((int(arena), int(size)) for arena, size in entry.get("free_in_front", ())),
    )


def _temp(entry: Any) -> TempRecord | None:
    if entry is None:
        return None
    numbers = (int(entry["memory_id"]), int(entry["offset"]), int(entry["bytes"]))
    if min(numbers) < 0 or max(numbers) >= _NO_MEMORY_BYTES:
        raise ValueError
    target = entry["target"]
    return TempRecord(*numbers, None if target is None else str(target))
