"""A comparable form of decoded tables: floats by their bits, blobs by their bytes."""

from __future__ import annotations

import struct
from typing import Any

from onearena.flatbuf.data import read_data
from onearena.flatbuf.schema import (
    Blob,
    Field,
    Scalar,
    ScalarVector,
    Table,
    TableVector,
    Union,
    slots_of,
)


def canonical(value: Any) -> Any:
    """Nested tuples that are equal exactly when two tables hold the same bits."""
    if value is None:
        return None
    slots = slots_of(type(value))
    fields = tuple((slot.name, _field(slot.field, getattr(value, slot.name))) for slot in slots)
    return (type(value).__name__, *fields)


def bits(format: str, value: Any) -> bytes:
    """The bytes that a number of the given `struct` letter has in a file."""
    return struct.pack("<" + format, value)


def _field(field: Field, value: Any) -> Any:
    if isinstance(field, Scalar):
        return bits(field.format, value)
    if value is None:
        return None
    if isinstance(field, ScalarVector):
        return tuple(bits(field.format, item) for item in value)
    if isinstance(field, Blob):
        return read_data(value)
    if isinstance(field, Table | Union):
        return canonical(value)
    if isinstance(field, TableVector):
        return tuple(canonical(item) for item in value)
    return value
