"""Writer of FlatBuffers tables.

The buffer is written front to back: a table first, then what it points to, so every
unsigned offset points forwards as the format demands. Large byte vectors come last and
are handed on as file ranges, so a buffer of gigabytes costs no memory here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from typing import Any

from onearena.errors import UnsupportedError
from onearena.flatbuf.data import (
    ByteRange,
    Data,
    data_size,
    natural_alignment,
)
from onearena.flatbuf.schema import (
    Blob,
    Field,
    Scalar,
    ScalarVector,
    String,
    Table,
    TableVector,
    Union,
    slots_of,
    width_of,
)

_MAX_BUFFER_BYTES = (1 << 31) - 1
_SCALARS = {letter: struct.Struct("<" + letter) for letter in "fd"}


@dataclass(frozen=True)
class Encoded:
    """A finished FlatBuffer: pieces in file order, their total size and the largest alignment."""

    data: Data
    size_bytes: int
    alignment: int


def encode_root(root: Any, identifier: bytes, reserved_bytes: int = 0) -> Encoded:
    """Encodes `root` (a dataclass of the schema) as a whole FlatBuffer.

    Args:
        identifier: the 4-byte file identifier.
        reserved_bytes: zero bytes to leave free right after the identifier (ExecuTorch puts
            its extended header there).

    Raises:
        UnsupportedError: the buffer would exceed the format's 2 GiB.
    """
    return _Encoder(identifier, reserved_bytes).finish(root)


def _kept_alignment(data: Data) -> int:
    """The alignment that data copied whole from a file had there; 1 for new data."""
    if data and isinstance(data[0], ByteRange):
        return natural_alignment(data[0].offset, 1)
    return 1


def _check_size(size_bytes: int) -> None:
    if size_bytes > _MAX_BUFFER_BYTES:
        raise UnsupportedError(f"a FlatBuffer of {size_bytes} bytes exceeds the format's 2 GiB")


def _is_default(value: Any, field: Scalar) -> bool:
    """True when the field may be left out. Compares bits: -0.0 is not 0.0, NaN is NaN."""
    if field.format not in "fd":
        return bool(value == field.default)
    packer = _SCALARS[field.format]
    return packer.pack(value) == packer.pack(field.default)


class _Encoder:
    def __init__(self, identifier: bytes, reserved_bytes: int) -> None:
        self._out = bytearray(struct.pack("<I4s", 0, identifier) + bytes(reserved_bytes))
        self._alignment = 8
        self._vtables: dict[bytes, int] = {}
        self._blobs: list[tuple[int, Data, int]] = []

    def finish(self, root: Any) -> Encoded:
        self._point(0, self._table(root))
        pieces: list[bytes | ByteRange] = []
        position = len(self._out)
        tail: list[bytes | ByteRange] = []
        for at, data, alignment in self._blobs:
            padding = -(position + 4) % alignment
            size_bytes = data_size(data)
            _check_size(position + padding + 4 + size_bytes)
            self._point(at, position + padding)
            tail.append(bytes(padding) + struct.pack("<I", size_bytes))
            tail.extend(data)
            position += padding + 4 + size_bytes
        _check_size(position)
        pieces.append(bytes(self._out))
        pieces.extend(tail)
        return Encoded(tuple(pieces), position, self._alignment)

    def _point(self, at: int, target: int) -> None:
        struct.pack_into("<I", self._out, at, target - at)

    def _align(self, alignment: int, ahead: int = 0) -> None:
        """Pads so that `ahead` bytes further on the position is a multiple of `alignment`."""
        self._out += bytes(-(len(self._out) + ahead) % alignment)

    def _table(self, value: Any) -> int:
        """Writes one table and all it points to; returns its position."""
        present, values = _present(value)
        layout = _layout(type(value), present)
        vtable_at = self._vtables.get(layout.vtable)
        if vtable_at is None:
            self._align(2)
            vtable_at = self._vtables[layout.vtable] = len(self._out)
            self._out += layout.vtable
        self._align(layout.alignment)
        position = len(self._out)
        stored = [0 if is_child else values[at] for at, is_child in layout.order]
        self._out += layout.packer.pack(position - vtable_at, *stored)
        for field, at, inside in layout.children:
            self._child(position + inside, field, values[at])
        return position

    def _child(self, at: int, field: Field, value: Any) -> None:
        if isinstance(field, Table | Union):
            self._point(at, self._table(value))
        elif isinstance(field, TableVector):
            self._table_vector(at, value)
        elif isinstance(field, ScalarVector):
            self._scalar_vector(at, field, value)
        elif isinstance(field, String):
            self._string(at, value)
        else:
            assert isinstance(field, Blob)
            alignment = max(field.alignment, _kept_alignment(value), 4)
            self._alignment = max(self._alignment, field.alignment)
            self._blobs.append((at, value, alignment))

    def _table_vector(self, at: int, values: tuple[Any, ...]) -> None:
        self._align(4)
        self._point(at, len(self._out))
        self._out += struct.pack("<I", len(values))
        start = len(self._out)
        self._out += bytes(4 * len(values))
        for i, value in enumerate(values):
            self._point(start + 4 * i, self._table(value))

    def _scalar_vector(self, at: int, field: ScalarVector, values: tuple[Any, ...]) -> None:
        self._align(max(4, width_of(field.format)), ahead=4)
        self._point(at, len(self._out))
        self._out += struct.pack(f"<I{len(values)}{field.format}", len(values), *values)

    def _string(self, at: int, value: str) -> None:
        self._align(4)
        self._point(at, len(self._out))
        raw = value.encode()
        self._out += struct.pack("<I", len(raw)) + raw + b"\0"


_Present = tuple[int, ...]
"""Positions among a class's fields of those that are stored in one of its tables."""


def _present(value: Any) -> tuple[_Present, list[Any]]:
    """Which fields of a table are stored, and what in each of their slots, a union's tag first."""
    present: list[int] = []
    values: list[Any] = []
    for index, slot in enumerate(slots_of(type(value))):
        field, stored = slot.field, getattr(value, slot.name)
        if isinstance(field, Scalar):
            if _is_default(stored, field):
                continue
        elif stored is None:
            continue
        elif isinstance(field, Union):
            values.append(field.members.index(type(stored)) + 1)
        present.append(index)
        values.append(stored)
    return tuple(present), values


@dataclass(frozen=True, slots=True)
class _Layout:
    """How tables with the same fields present are stored.

    Attributes:
        packer: packs the whole table: the distance to the vtable, then what `order` says.
        order: in the order of the bytes, the position among the values, and whether it is a
            reference, which is filled in later.
        children: the references: field, position among the values, place inside the table.
    """

    vtable: bytes
    packer: struct.Struct
    alignment: int
    order: tuple[tuple[int, bool], ...]
    children: tuple[tuple[Field, int, int], ...]


@dataclass(frozen=True, slots=True)
class _Part:
    """One stored slot of a table; `format` is None for a reference."""

    slot: int
    width: int
    format: str | None
    field: Field
    position: int


_layouts: dict[tuple[type[Any], _Present], _Layout] = {}


def _layout(cls: type[Any], present: _Present) -> _Layout:
    known = _layouts.get((cls, present))
    if known is None:
        known = _layouts[cls, present] = _make_layout(cls, present)
    return known


def _make_layout(cls: type[Any], present: _Present) -> _Layout:
    parts = _parts(cls, present)
    placed, table_bytes = _place(parts)
    slots = [0] * (max((part.slot for part in parts), default=-1) + 1)
    for part, inside in placed:
        slots[part.slot] = inside
    count = len(slots)
    packing, end = "<i", 4
    in_order = sorted(placed, key=lambda entry: entry[1])
    for part, inside in in_order:
        packing += "x" * (inside - end) + (part.format or "I")
        end = inside + part.width
    return _Layout(
        struct.pack(f"<HH{count}H", 4 + 2 * count, table_bytes, *slots),
        struct.Struct(packing),
        8 if any(part.width == 8 for part in parts) else 4,
        tuple((part.position, part.format is None) for part, _ in in_order),
        tuple((part.field, part.position, at) for part, at in placed if part.format is None),
    )


def _parts(cls: type[Any], present: _Present) -> list[_Part]:
    parts: list[_Part] = []
    for index in present:
        slot = slots_of(cls)[index]
        field, number = slot.field, slot.slot
        if isinstance(field, Scalar):
            parts.append(_Part(number, width_of(field.format), field.format, field, len(parts)))
            continue
        if isinstance(field, Union):
            parts.append(_Part(number, 1, "B", field, len(parts)))
            number += 1
        parts.append(_Part(number, 4, None, field, len(parts)))
    return parts


def _place(parts: list[_Part]) -> tuple[list[tuple[_Part, int]], int]:
    """Offsets inside the table, widest first so that nothing needs padding but the front."""
    has_wide = any(part.width == 8 for part in parts)
    position = 8 if has_wide else 4
    placed: list[tuple[_Part, int]] = []
    narrow = sorted(parts, key=lambda part: -part.width)
    if has_wide:
        # the 4 bytes between the vtable offset and the first 8-byte field take a 4-byte field
        filler = next((part for part in narrow if part.width == 4), None)
        if filler is not None:
            placed.append((filler, 4))
            narrow.remove(filler)
    for part in narrow:
        position += -position % part.width
        placed.append((part, position))
        position += part.width
    return placed, position
