"""Hypothesis strategies for random tables of any schema made of our dataclasses."""

from __future__ import annotations

import struct
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

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
)

_MAX_ITEMS = 3
_TEXT = st.text(st.characters(codec="utf-8"), max_size=9)


def instances(cls: type[Any]) -> SearchStrategy[Any]:
    """Tables of class `cls` with every field anywhere in its range, references also absent."""
    return st.builds(cls, **{slot.name: _values(slot.field) for slot in slots_of(cls)})


def numbers(format: str) -> SearchStrategy[Any]:
    """All values of the `struct` letter, special ones of floats included."""
    if format == "?":
        return st.booleans()
    if format in "fd":
        return st.floats(width=32 if format == "f" else 64)
    width_bits = 8 * struct.calcsize("<" + format)
    if format.isupper():
        return st.integers(0, 2**width_bits - 1)
    return st.integers(-(2 ** (width_bits - 1)), 2 ** (width_bits - 1) - 1)


def _values(field: Field) -> SearchStrategy[Any]:
    if isinstance(field, Scalar):
        return st.just(field.default) | numbers(field.format)
    return st.none() | _references(field)


def _references(field: Field) -> SearchStrategy[Any]:
    if isinstance(field, String):
        return _TEXT
    if isinstance(field, ScalarVector):
        return _tuples(numbers(field.format))
    if isinstance(field, Blob):
        return _tuples(st.binary(max_size=40))
    if isinstance(field, Table):
        return instances(field.cls)
    if isinstance(field, TableVector):
        return _tuples(instances(field.cls))
    assert isinstance(field, Union)
    return st.one_of([instances(member) for member in field.members])


def _tuples(items: SearchStrategy[Any]) -> SearchStrategy[Any]:
    return st.lists(items, max_size=_MAX_ITEMS).map(tuple)
