"""The quick way to read well-formed tables: `cpp/python/tables.cc`.

It follows the rules of :mod:`onearena.flatbuf.decode` and makes the same objects. Whatever it
does not take as it is, it hands back: what is wrong with it, and whether it is wrong at all,
the reader in Python says.
"""

from __future__ import annotations

import atexit
import sys
from types import MemberDescriptorType
from typing import Any

from onearena._core import TableReader
from onearena.flatbuf.data import ByteRange, ByteSource
from onearena.flatbuf.schema import (
    Blob,
    Field,
    Scalar,
    ScalarVector,
    Slot,
    String,
    Table,
    TableVector,
    Union,
    slot_count,
    slots_of,
)

_KINDS = (Scalar, String, ScalarVector, Blob, Table, TableVector, Union)
"""A field's kind is its position here, the same as in `tables.cc`."""
_FieldRow = tuple[MemberDescriptorType, int, int, str, Any, list[int]]
"""The slot's descriptor, kind, first slot in the vtable, format, value when absent, classes."""


_readers: dict[type[Any], TableReader | None] = {}
atexit.register(_readers.clear)  # nanobind complains about what is there when Python is gone


def read_tables(source: ByteSource, offset: int, size_bytes: int, cls: type[Any]) -> Any | None:
    """The root table of a FlatBuffer; None when the reader in Python is to have a look.

    Args:
        source, offset, size_bytes: the buffer's bytes.
        cls: the class of the root table.
    """
    if cls not in _readers:
        _readers[cls] = _reader(cls)
    reader = _readers[cls]
    if reader is None:
        return None

    def blob(start: int, size: int) -> tuple[ByteRange, ...]:
        return (ByteRange(source, offset + start, size),)

    with source.view(offset, size_bytes) as view:
        return reader.decode(view, blob)


def _reader(root: type[Any]) -> TableReader | None:
    """What reads tables of a class; None when objects of some class need more than their slots."""
    classes = [root]
    rows: list[tuple[type[Any], int, list[_FieldRow]]] = []
    for cls in classes:  # grows
        if hasattr(cls, "__post_init__"):
            return None
        fields: list[_FieldRow] = []
        for slot in slots_of(cls):
            descriptor = getattr(cls, slot.name, None)
            if not isinstance(descriptor, MemberDescriptorType):
                return None
            named = _classes_of(slot.field)
            classes += [found for found in dict.fromkeys(named) if found not in classes]
            fields.append(_field_row(slot, descriptor, [classes.index(found) for found in named]))
        rows.append((cls, slot_count(cls), fields))
    return TableReader(rows) if sys.byteorder == "little" else None


def _classes_of(field: Field) -> tuple[type[Any], ...]:
    if isinstance(field, Union):
        return field.members
    return (field.cls,) if isinstance(field, Table | TableVector) else ()


def _field_row(slot: Slot, descriptor: MemberDescriptorType, classes: list[int]) -> _FieldRow:
    field = slot.field
    format = field.format if isinstance(field, Scalar | ScalarVector) else ""
    absent = field.default if isinstance(field, Scalar) else None
    return descriptor, _KINDS.index(type(field)), slot.slot, format, absent, classes
