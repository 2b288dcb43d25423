"""Mutations of decoded tables, encoded again: well-formed files with wrong contents."""

from __future__ import annotations

import struct
from collections.abc import Callable
from dataclasses import replace
from random import Random
from typing import Any

from onearena.delegates.xnnpack.payload import build_payload, read_payload
from onearena.errors import OnearenaError
from onearena.flatbuf.data import Data, read_data
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
from onearena.pte.container import PteFile, Segment
from tests.pte.build import file_bytes, read_bytes

_MAX_MUTATIONS = 4
_DESCEND = 0.9
_INTEGERS = (0, 1, 2, 3, 5, 7, 64, 255, 4096, 1 << 20, 1 << 31, 1 << 32, 1 << 40, 1 << 62)
_FLOATS = (0.0, -0.0, 1.0, float("inf"), float("-inf"), float("nan"), 5e-324)


def mutate_tables(data: bytes, random: Random) -> bytes:
    """The file with a few wrong values in its program or in one of its XNNPACK payloads."""
    file = read_bytes(data)
    for _ in range(random.randint(1, _MAX_MUTATIONS)):
        if file.segments and random.random() < 0.4:
            file = _with_segment(file, random)
        else:
            program = mutate_table(file.program, random)
            file = file.with_program(program, file.segments)
    return file_bytes(file)


def _with_segment(file: PteFile, random: Random) -> PteFile:
    segments = list(file.segments)
    index = random.randrange(len(segments))
    action = random.random()
    if action < 0.05:
        del segments[index]
    elif action < 0.1:
        segments.insert(index, segments[index])
    else:
        segments[index] = Segment(_mutate_payload(segments[index].data, random))
    return file.with_program(file.program, tuple(segments))


def _mutate_payload(data: Data, random: Random) -> Data:
    try:
        payload = read_payload(data, "payload")
    except OnearenaError:
        return _mutate_blob(data, random)
    return build_payload(replace(payload, graph=mutate_table(payload.graph, random)))


def mutate_table(value: Any, random: Random) -> Any:
    """The table with one change, in it or in a table below it."""
    slots = slots_of(type(value))
    if not slots:
        return value
    slot = random.choice(slots)
    old = getattr(value, slot.name)
    return replace(value, **{slot.name: _mutate_field(slot.field, old, random)})


def _mutate_field(field: Field, value: Any, random: Random) -> Any:
    if isinstance(field, Scalar):
        return _number(field.format, value, random)
    if value is None or random.random() < 0.03:
        return _other_presence(field, value)
    if isinstance(field, Table):
        return mutate_table(value, random)
    if isinstance(field, Union):
        return _mutate_union(field, value, random)
    if isinstance(field, TableVector):
        return _mutate_items(value, lambda item: mutate_table(item, random), random)
    if isinstance(field, ScalarVector):
        format = field.format
        return _mutate_items(value, lambda item: _number(format, item, random), random)
    if isinstance(field, String):
        return random.choice(("", value * 2, value[1:], value + "x", "x" * 300))
    return _mutate_blob(value, random)


def _other_presence(field: Field, value: Any) -> Any:
    """An absent reference appears, empty; a present one goes."""
    if value is not None:
        return None
    if isinstance(field, String):
        return ""
    if isinstance(field, Table):
        return field.cls()
    if isinstance(field, Union):
        return field.members[0]()
    return (b"",) if isinstance(field, Blob) else ()


def _mutate_union(field: Union, value: Any, random: Random) -> Any:
    if random.random() < _DESCEND:
        return mutate_table(value, random)
    return random.choice(field.members)()


def _mutate_items(
    items: tuple[Any, ...], mutate: Callable[[Any], Any], random: Random
) -> tuple[Any, ...]:
    if not items:
        return items
    out = list(items)
    index = random.randrange(len(out))
    if random.random() < _DESCEND:
        out[index] = mutate(out[index])
        return tuple(out)
    other = random.randrange(len(out))
    action = random.randrange(4)
    if action == 0:
        del out[index]
    elif action == 1:
        out.insert(index, out[other])
    elif action == 2:
        out[index], out[other] = out[other], out[index]
    else:
        out[index:index] = [out[index]] * 200
    return tuple(out)


def _number(format: str, value: Any, random: Random) -> Any:
    if format == "?":
        return not value
    if format in "fd":
        return random.choice(_FLOATS)
    low, high = _limits(format)
    near = value + random.choice((-2, -1, 1, 2))
    wanted = random.choice((near, near, random.choice(_INTEGERS), low, high, -1))
    return min(max(wanted, low), high)


def _limits(format: str) -> tuple[int, int]:
    width_bits = 8 * struct.calcsize("<" + format)
    if format.isupper():
        return 0, (1 << width_bits) - 1
    return -(1 << (width_bits - 1)), (1 << (width_bits - 1)) - 1


def _mutate_blob(data: Data, random: Random) -> Data:
    content = bytearray(read_data(data))
    if not content or random.random() < 0.2:
        return (bytes(content[: len(content) // 2]),)
    content[random.randrange(len(content))] = random.randrange(256)
    return (bytes(content),)
