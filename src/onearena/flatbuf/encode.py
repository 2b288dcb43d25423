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
    Scalar,
    ScalarVector,
    Slot,
    String,
    Table,
    TableVector,
    Union,
    slots_of,
    width_of,
)

_MAX_BUFFER_BYTES = (1 << 31) - 1
_SCALARS = {letter: struct.Struct("<" + letter) for letter in "?bBhHiIqQfd"}


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
        present = _present_parts(value)
        layout, table_bytes = _layout(present)
        count = max((part.slot for part in present), default=-1) + 1
        slots = [0] * count
        for part, inside in layout:
            slots[part.slot] = inside
        vtable = struct.pack(f"<HH{count}H", 4 + 2 * count, table_bytes, *slots)
        vtable_at = self._vtables.get(vtable)
        if vtable_at is None:
            self._align(2)
            vtable_at = self._vtables[vtable] = len(self._out)
            self._out += vtable
        self._align(8 if any(part.width == 8 for part in present) else 4)
        position = len(self._out)
        self._out += bytes(table_bytes)
        struct.pack_into("<i", self._out, position, position - vtable_at)
        for part, inside in layout:
            if part.format is not None:
                _SCALARS[part.format].pack_into(self._out, position + inside, part.value)
        for part, inside in layout:
            if part.format is None:
                self._child(position + inside, part)
        return position

    def _child(self, at: int, part: _Part) -> None:
        field, value = part.field, part.value
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


@dataclass(frozen=True, slots=True)
class _Part:
    """One present slot of a table; `format` is None for a reference."""

    slot: int
    width: int
    format: str | None
    field: Any
    value: Any


def _present_parts(value: Any) -> list[_Part]:
    parts: list[_Part] = []
    for slot in slots_of(type(value)):
        parts.extend(_parts_of(slot, getattr(value, slot.name)))
    return parts


def _parts_of(slot: Slot, value: Any) -> tuple[_Part, ...]:
    field = slot.field
    if isinstance(field, Scalar):
        if _is_default(value, field):
            return ()
        return (_Part(slot.slot, width_of(field.format), field.format, field, value),)
    if value is None:
        return ()
    if isinstance(field, Union):
        tag = field.members.index(type(value)) + 1
        return (
            _Part(slot.slot, 1, "B", field, tag),
            _Part(slot.slot + 1, 4, None, field, value),
        )
    return (_Part(slot.slot, 4, None, field, value),)


def _layout(parts: list[_Part]) -> tuple[list[tuple[_Part, int]], int]:
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
