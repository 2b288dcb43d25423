"""Bounds-checked reader of FlatBuffers tables.

Nothing in the input is trusted: every offset is checked against the buffer, the
total work is bounded by a multiple of the buffer's size (a hostile file may point at
one vector a million times) and by a fixed limit, and fields or union members that the
schema does not know are refused by name instead of being dropped.
"""

from __future__ import annotations

import struct
from typing import Any, TypeVar

from onearena.errors import FormatError, UnsupportedError
from onearena.flatbuf.data import ByteRange, ByteSource
from onearena.flatbuf.native_tables import read_tables
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

T = TypeVar("T")

_MIN_ROOT_BYTES = 8
_WORK_FACTOR = 4
_WORK_FLOOR_BYTES = 1 << 20
_WORK_LIMIT_BYTES = 128 << 20
_TABLE_OVERHEAD_BYTES = 12
"""What a table costs besides its own bytes, so that many empty tables are not free."""

_U16 = struct.Struct("<H")
_U32 = struct.Struct("<I")
_I32 = struct.Struct("<i")
_SCALARS = {letter: struct.Struct("<" + letter) for letter in "?bBhHiIqQfd"}


def decode_root(
    source: ByteSource,
    offset: int,
    size_bytes: int,
    cls: type[T],
    identifiers: tuple[bytes, ...],
    what: str,
) -> T:
    """Decodes the root table of the FlatBuffer at [offset, offset + size_bytes) of `source`.

    Args:
        identifiers: the accepted 4-byte file identifiers.
        what: how errors call this buffer, e.g. the file's path.

    Raises:
        FormatError: the bytes are not a valid buffer of this schema.
        UnsupportedError: the buffer holds fields that this schema does not know.
    """
    decoder = _Decoder(source, offset, size_bytes, what)
    return decoder.root(cls, identifiers)


class _Decoder:
    def __init__(self, source: ByteSource, offset: int, size_bytes: int, what: str) -> None:
        self._source = source
        self._base = offset
        self._buffer = source.view(offset, size_bytes)
        self._size = size_bytes
        self._what = what
        self._budget = min(_WORK_FACTOR * size_bytes + _WORK_FLOOR_BYTES, _WORK_LIMIT_BYTES)
        self._blob_budget = _WORK_FACTOR * size_bytes
        self._vtables: dict[int, tuple[int, tuple[int, ...]]] = {}

    def root(self, cls: type[T], identifiers: tuple[bytes, ...]) -> T:
        if self._size < _MIN_ROOT_BYTES:
            raise FormatError(
                f"{self._what}: truncated: {self._size} bytes are too few for a FlatBuffer"
            )
        identifier = bytes(self._buffer[4:8])
        if identifier not in identifiers:
            names = " or ".join(repr(i.decode()) for i in identifiers)
            raise FormatError(
                f"{self._what}: file identifier is {identifier!r}, expected {names} (byte offset "
                f"{self._base + 4})"
            )
        found = read_tables(self._source, self._base, self._size, cls)
        if found is None:  # it is malformed, or there is something to be said about it
            found = self._table(self._reference(0, "root"), cls, cls.__name__)
        result: T = found
        return result

    def _fail(self, problem: str, position: int, path: str) -> FormatError:
        return FormatError(f"{self._what}: {problem} (byte offset {self._base + position}, {path})")

    def _spend(self, size_bytes: int, position: int, path: str) -> None:
        self._budget -= size_bytes
        if self._budget < 0:
            raise self._too_much(position, path)

    def _too_much(self, position: int, path: str) -> FormatError:
        return self._fail("tables expand to too much data (shared offsets?)", position, path)

    def _reference(self, position: int, path: str) -> int:
        """Follows the unsigned offset stored at `position`."""
        if position + 4 > self._size:
            raise self._fail("offset lies outside the buffer", position, path)
        (distance,) = _U32.unpack_from(self._buffer, position)
        target: int = position + distance
        if distance == 0 or target + 4 > self._size:
            raise self._fail(f"offset {distance} points outside the buffer", position, path)
        return target

    def _vtable(self, position: int, cls: type[Any], path: str) -> tuple[int, tuple[int, ...]]:
        (back,) = _I32.unpack_from(self._buffer, position)
        start = position - back
        known = self._vtables.get(start)
        if known is None:
            known = self._vtables[start] = self._read_vtable(start, position, path)
        table_bytes, slots = known
        if table_bytes < 4 or position + table_bytes > self._size:
            raise self._fail(f"table of {table_bytes} bytes does not fit", position, path)
        if len(slots) > slot_count(cls):
            raise self._unknown_field(position, slots, cls, path)
        return known

    def _unknown_field(
        self, position: int, slots: tuple[int, ...], cls: type[Any], path: str
    ) -> UnsupportedError:
        extra = next(i for i in range(slot_count(cls), len(slots)) if slots[i])
        return UnsupportedError(
            f"{self._what}: table {cls.__name__} has field #{extra}, which this version does "
            f"not know (newer schema?) (byte offset {self._base + position}, {path})"
        )

    def _read_vtable(self, start: int, position: int, path: str) -> tuple[int, tuple[int, ...]]:
        """Table size and slots up to the last one in use."""
        if start < 0 or start + 4 > self._size:
            raise self._fail("vtable lies outside the buffer", position, path)
        (vtable_bytes,) = _U16.unpack_from(self._buffer, start)
        (table_bytes,) = _U16.unpack_from(self._buffer, start + 2)
        if vtable_bytes < 4 or vtable_bytes % 2 or start + vtable_bytes > self._size:
            raise self._fail(f"vtable of {vtable_bytes} bytes is malformed", start, path)
        self._spend(vtable_bytes, start, path)
        used = bytes(self._buffer[start + 4 : start + vtable_bytes]).rstrip(b"\0")
        count = (len(used) + 1) // 2
        return table_bytes, struct.unpack_from(f"<{count}H", self._buffer, start + 4)

    def _table(self, position: int, cls: type[Any], path: str) -> Any:
        table_bytes, slots = self._vtable(position, cls, path)
        self._spend(table_bytes + _TABLE_OVERHEAD_BYTES, position, path)
        values: list[Any] = []
        count = len(slots)
        for slot in slots_of(cls):
            number = slot.slot
            if isinstance(slot.field, Scalar) and (number >= count or slots[number] == 0):
                values.append(slot.field.default)
            else:
                values.append(self._field(position, slots, slot, path))
        return cls(*values)

    def _field(self, position: int, slots: tuple[int, ...], slot: Slot, path: str) -> Any:
        field = slot.field
        index = slot.slot + 1 if isinstance(field, Union) else slot.slot
        inside = slots[index] if index < len(slots) else 0
        if inside == 0:
            return self._absent(slot, slots, position, path)
        width = width_of(field.format) if isinstance(field, Scalar) else 4
        # The Python library up to 25.2.10, which executorch[ethos-u] pins, lets tables of
        # different sizes share a vtable, and with it the size: only the buffer is a limit.
        if inside < 4 or position + inside + width > self._size:
            raise self._fail(f"field {slot.name} lies outside its table", position, path)
        at = position + inside
        if isinstance(field, Scalar):
            return _SCALARS[field.format].unpack_from(self._buffer, at)[0]
        inner = f"{path}.{slot.name}"
        if isinstance(field, Union):
            return self._union(at, self._tag(position, slots, slot, path), field, inner)
        target = self._reference(at, inner)
        if isinstance(field, Table):
            return self._table(target, field.cls, inner)
        if isinstance(field, TableVector):
            return self._table_vector(target, field.cls, inner)
        if isinstance(field, ScalarVector):
            return self._scalar_vector(target, field, inner)
        if isinstance(field, String):
            return self._string(target, inner)
        return self._blob(target, field, inner)

    def _absent(self, slot: Slot, slots: tuple[int, ...], position: int, path: str) -> Any:
        field = slot.field
        if isinstance(field, Scalar):
            return field.default
        if isinstance(field, Union) and self._tag(position, slots, slot, path):
            raise self._fail(f"union {slot.name} has a type but no value", position, path)
        return None

    def _tag(self, position: int, slots: tuple[int, ...], slot: Slot, path: str) -> int:
        inside = slots[slot.slot] if slot.slot < len(slots) else 0
        if inside == 0:
            return 0
        if inside < 4 or position + inside >= self._size:
            raise self._fail(f"field {slot.name} lies outside its table", position, path)
        return self._buffer[position + inside]

    def _union(self, at: int, tag: int, field: Union, path: str) -> Any:
        if tag == 0:
            raise self._fail("union has a value but no type", at, path)
        if tag > len(field.members):
            raise UnsupportedError(
                f"{self._what}: union member #{tag} is not known to this version (newer schema?) "
                f"(byte offset {self._base + at}, {path})"
            )
        cls = field.members[tag - 1]
        return self._table(self._reference(at, path), cls, f"{path}<{cls.__name__}>")

    def _length(self, target: int, element_bytes: int, path: str) -> int:
        (length,) = _U32.unpack_from(self._buffer, target)
        if target + 4 + length * element_bytes > self._size:
            raise self._fail(f"vector of {length} elements does not fit", target, path)
        return int(length)

    def _table_vector(self, target: int, cls: type[Any], path: str) -> tuple[Any, ...]:
        length = self._length(target, 4, path)
        self._spend(4 * length, target, path)
        start = target + 4
        return tuple(
            self._table(self._reference(start + 4 * i, path), cls, f"{path}[{i}]")
            for i in range(length)
        )

    def _scalar_vector(self, target: int, field: ScalarVector, path: str) -> tuple[Any, ...]:
        width = width_of(field.format)
        length = self._length(target, width, path)
        self._spend(width * length, target, path)
        return struct.unpack_from(f"<{length}{field.format}", self._buffer, target + 4)

    def _string(self, target: int, path: str) -> str:
        length = self._length(target, 1, path)
        self._spend(length, target, path)
        try:
            return bytes(self._buffer[target + 4 : target + 4 + length]).decode()
        except UnicodeDecodeError:
            raise self._fail("string is not UTF-8", target, path) from None

    def _blob(self, target: int, field: Blob, path: str) -> tuple[ByteRange, ...]:
        length = self._length(target, 1, path)
        self._blob_budget -= length
        if self._blob_budget < 0:
            raise self._too_much(target, path)
        return (ByteRange(self._source, self._base + target + 4, length),)
