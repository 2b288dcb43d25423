"""Reads and writes tables with the `flatbuffers` package instead of our own code.

The reader also holds the rules that the C++ verifier demands of a buffer: everything
aligned to its size, strings ended by a zero byte, no two objects on the same bytes.
"""

from __future__ import annotations

import struct
from itertools import pairwise
from typing import Any

import pytest

from onearena.flatbuf.schema import (
    Blob,
    Scalar,
    ScalarVector,
    Slot,
    String,
    Table,
    TableVector,
    Union,
    slot_count,
    slots_of,
    width_of,
)
from tests.flatbuf.canonical import bits

flatbuffers = pytest.importorskip("flatbuffers")
from flatbuffers import number_types  # noqa: E402
from flatbuffers.table import Table as Accessor  # noqa: E402

_FLAGS = {
    "?": number_types.BoolFlags,
    "b": number_types.Int8Flags,
    "B": number_types.Uint8Flags,
    "h": number_types.Int16Flags,
    "H": number_types.Uint16Flags,
    "i": number_types.Int32Flags,
    "I": number_types.Uint32Flags,
    "q": number_types.Int64Flags,
    "Q": number_types.Uint64Flags,
    "f": number_types.Float32Flags,
    "d": number_types.Float64Flags,
}


def read_root(data: bytes, cls: type[Any]) -> Any:
    """The canonical form (see :mod:`tests.flatbuf.canonical`) of the root table."""
    reader = _Reader(data)
    result = reader.table(struct.unpack_from("<I", data)[0], cls)
    reader.check_disjoint()
    return result


class _Reader:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._extents: set[tuple[int, int]] = {(0, 8)}

    def check_disjoint(self) -> None:
        extents = sorted(self._extents)
        for (_, end), (start, _) in pairwise(extents):
            assert end <= start, f"objects share the bytes before {end}"

    def _claim(self, start: int, end: int, alignment: int) -> None:
        assert start % alignment == 0, f"byte {start} is not aligned to {alignment}"
        assert 0 <= start <= end <= len(self._data)
        if end > start:
            self._extents.add((start, end))

    def table(self, position: int, cls: type[Any]) -> Any:
        accessor = Accessor(self._data, position)
        vtable = position - accessor.Get(number_types.SOffsetTFlags, position)
        vtable_bytes, table_bytes = struct.unpack_from("<HH", self._data, vtable)
        self._claim(vtable, vtable + vtable_bytes, 2)
        self._claim(position, position + table_bytes, 4)
        fields = tuple((s.name, self._field(accessor, s)) for s in slots_of(cls))
        return (cls.__name__, *fields)

    def _field(self, table: Any, slot: Slot) -> Any:
        field = slot.field
        if isinstance(field, Scalar):
            return self._scalar(table, slot.slot, field)
        if isinstance(field, Union):
            return self._union(table, slot.slot, field)
        inside = table.Offset(4 + 2 * slot.slot)
        if inside == 0:
            return None
        if isinstance(field, Table):
            return self.table(table.Indirect(table.Pos + inside), field.cls)
        if isinstance(field, String):
            return self._string(table, inside)
        return self._vector(table, inside, field)

    def _scalar(self, table: Any, slot: int, field: Scalar) -> bytes:
        inside = table.Offset(4 + 2 * slot)
        assert (table.Pos + inside) % width_of(field.format) == 0 or inside == 0
        flags = _FLAGS[field.format]
        value = table.Get(flags, table.Pos + inside) if inside else field.default
        return bits(field.format, value)

    def _union(self, table: Any, slot: int, field: Union) -> Any:
        tag = table.GetSlot(4 + 2 * slot, 0, number_types.Uint8Flags)
        inside = table.Offset(4 + 2 * slot + 2)
        assert bool(tag) == bool(inside)
        if not tag:
            return None
        return self.table(table.Indirect(table.Pos + inside), field.members[tag - 1])

    def _string(self, table: Any, inside: int) -> str:
        text: bytes = table.String(table.Pos + inside)
        start = table.Vector(inside)
        self._claim(start - 4, start + len(text) + 1, 4)
        assert self._data[start + len(text)] == 0
        return text.decode()

    def _vector(self, table: Any, inside: int, field: Any) -> Any:
        start, count = table.Vector(inside), table.VectorLen(inside)
        if isinstance(field, Blob):
            self._claim(start - 4, start + count, 4)
            assert start % field.alignment == 0
            return self._data[start : start + count]
        if isinstance(field, TableVector):
            self._claim(start - 4, start + 4 * count, 4)
            targets = [table.Indirect(start + 4 * i) for i in range(count)]
            return tuple(self.table(target, field.cls) for target in targets)
        return self._numbers(table, start, count, field)

    def _numbers(self, table: Any, start: int, count: int, field: ScalarVector) -> Any:
        width = width_of(field.format)
        self._claim(start - 4, start + width * count, 4)
        assert start % width == 0
        flags = _FLAGS[field.format]
        values = (table.Get(flags, start + width * i) for i in range(count))
        return tuple(bits(field.format, value) for value in values)


def write_root(root: Any, identifier: bytes) -> bytes:
    """A buffer built back to front by the package's builder, defaults written out."""
    builder = flatbuffers.Builder(0)
    builder.ForceDefaults(True)
    builder.Finish(_write_table(builder, root), file_identifier=identifier)
    return bytes(builder.Output())


def _write_table(builder: Any, value: Any) -> int:
    slots = [slot for slot in slots_of(type(value)) if getattr(value, slot.name) is not None]
    children = {
        slot.slot: _write_child(builder, slot, getattr(value, slot.name))
        for slot in slots
        if not isinstance(slot.field, Scalar)
    }
    builder.StartObject(slot_count(type(value)))
    for slot in slots:
        _write_slot(builder, slot, getattr(value, slot.name), children)
    end: int = builder.EndObject()
    return end


def _write_slot(builder: Any, slot: Slot, value: Any, children: dict[int, int]) -> None:
    field = slot.field
    if isinstance(field, Scalar):
        builder.PrependSlot(_FLAGS[field.format], slot.slot, value, field.default)
    elif isinstance(field, Union):
        builder.PrependUint8Slot(slot.slot, field.members.index(type(value)) + 1, 0)
        builder.PrependUOffsetTRelativeSlot(slot.slot + 1, children[slot.slot], 0)
    else:
        builder.PrependUOffsetTRelativeSlot(slot.slot, children[slot.slot], 0)


def _write_child(builder: Any, slot: Slot, value: Any) -> int:
    field = slot.field
    result: int
    if isinstance(field, String):
        result = builder.CreateString(value)
    elif isinstance(field, Blob):
        result = builder.CreateByteVector(b"".join(value))
    elif isinstance(field, TableVector):
        offsets = [_write_table(builder, item) for item in value]
        builder.StartVector(4, len(offsets), 4)
        for offset in reversed(offsets):
            builder.PrependUOffsetTRelative(offset)
        result = builder.EndVector()
    elif isinstance(field, ScalarVector):
        width = width_of(field.format)
        builder.StartVector(width, len(value), width)
        for item in reversed(value):
            builder.Prepend(_FLAGS[field.format], item)
        result = builder.EndVector()
    else:
        result = _write_table(builder, value)
    return result
