"""Field descriptors: what a dataclass field is in the FlatBuffers schema."""

from __future__ import annotations

import dataclasses
import struct
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal

ScalarFormat = Literal["?", "b", "B", "h", "H", "i", "I", "q", "Q", "f", "d"]
"""The `struct` letter of a scalar: its width, sign and kind."""


@dataclass(frozen=True)
class Scalar:
    """A number or a boolean stored inside the table."""

    format: ScalarFormat
    default: int | float | bool


@dataclass(frozen=True)
class String:
    """A UTF-8 string; `None` when absent, which is not the same as empty."""


@dataclass(frozen=True)
class ScalarVector:
    """A vector of numbers, decoded to a tuple; `None` when absent."""

    format: ScalarFormat


@dataclass(frozen=True)
class Blob:
    """A [ubyte] vector that may be large, decoded to :data:`onearena.flatbuf.data.Data`."""

    alignment: int


@dataclass(frozen=True)
class Table:
    """A sub-table; `None` when absent."""

    cls: type[Any]


@dataclass(frozen=True)
class TableVector:
    """A vector of tables, decoded to a tuple; `None` when absent."""

    cls: type[Any]


@dataclass(frozen=True)
class Union:
    """A union: takes two vtable slots, tag and value. Tag k is `members[k - 1]`, 0 is `None`."""

    members: tuple[type[Any], ...]


Field = Scalar | String | ScalarVector | Blob | Table | TableVector | Union
_KEY = "flatbuf"


def scalar(format: ScalarFormat, default: float | bool = 0) -> Any:
    """A scalar field of the given width."""
    return dataclasses.field(default=default, metadata={_KEY: Scalar(format, default)})


def string() -> Any:
    """A string field."""
    return _reference(String())


def scalars(format: ScalarFormat) -> Any:
    """A vector of scalars."""
    return _reference(ScalarVector(format))


def blob(alignment: int = 1) -> Any:
    """A byte vector that is moved by range; `alignment` is the schema's force_align."""
    return _reference(Blob(alignment))


def table(cls: type[Any]) -> Any:
    """A sub-table."""
    return _reference(Table(cls))


def tables(cls: type[Any]) -> Any:
    """A vector of tables."""
    return _reference(TableVector(cls))


def union(*members: type[Any]) -> Any:
    """A union of the given tables, in tag order."""
    return _reference(Union(members))


def _reference(field: Field) -> Any:
    return dataclasses.field(default=None, metadata={_KEY: field})


@dataclass(frozen=True)
class Slot:
    """One dataclass field with its first vtable slot."""

    name: str
    slot: int
    field: Field


_slots: dict[type[Any], tuple[Slot, ...]] = {}
_counts: dict[type[Any], int] = {}


def slots_of(cls: type[Any]) -> tuple[Slot, ...]:
    """The fields of table class `cls` with their vtable slots."""
    known = _slots.get(cls)
    if known is None:
        known = _slots[cls] = _read_slots(cls)
    return known


def slot_count(cls: type[Any]) -> int:
    """Number of vtable slots that the schema of `cls` knows."""
    known = _counts.get(cls)
    if known is None:
        known = _counts[cls] = _width(slots_of(cls))
    return known


def _read_slots(cls: type[Any]) -> tuple[Slot, ...]:
    slots: list[Slot] = []
    position = 0
    for member in dataclasses.fields(cls):
        field: Field = member.metadata[_KEY]
        slots.append(Slot(member.name, position, field))
        position += 2 if isinstance(field, Union) else 1
    return tuple(slots)


def _width(slots: tuple[Slot, ...]) -> int:
    if not slots:
        return 0
    return slots[-1].slot + (2 if isinstance(slots[-1].field, Union) else 1)


@cache
def width_of(format: ScalarFormat) -> int:
    """Size of a scalar in bytes."""
    return struct.calcsize("<" + format)
