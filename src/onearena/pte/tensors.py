"""Facts about tensor values: element sizes, byte sizes, where they live."""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from math import prod

from onearena.pte.schema import Tensor


class ScalarType(IntEnum):
    """Element types (`schema/scalar_type.fbs`)."""

    BYTE = 0
    CHAR = 1
    SHORT = 2
    INT = 3
    LONG = 4
    HALF = 5
    FLOAT = 6
    DOUBLE = 7
    COMPLEXHALF = 8
    COMPLEXFLOAT = 9
    COMPLEXDOUBLE = 10
    BOOL = 11
    QINT8 = 12
    QUINT8 = 13
    QINT32 = 14
    BFLOAT16 = 15
    QUINT4X2 = 16
    QUINT2X4 = 17
    BITS1X8 = 18
    BITS2X4 = 19
    BITS4X2 = 20
    BITS8 = 21
    BITS16 = 22
    FLOAT8E5M2 = 23
    FLOAT8E4M3FN = 24
    FLOAT8E5M2FNUZ = 25
    FLOAT8E4M3FNUZ = 26
    UINT16 = 27
    UINT32 = 28
    UINT64 = 29


class Dynamism(IntEnum):
    """What is known of a tensor's shape (`schema/program.fbs`)."""

    STATIC = 0
    DYNAMIC_BOUND = 1
    DYNAMIC_UNBOUND = 2


ELEMENT_BYTES: Mapping[int, int] = {
    ScalarType.BYTE: 1,
    ScalarType.CHAR: 1,
    ScalarType.SHORT: 2,
    ScalarType.INT: 4,
    ScalarType.LONG: 8,
    ScalarType.HALF: 2,
    ScalarType.FLOAT: 4,
    ScalarType.DOUBLE: 8,
    ScalarType.COMPLEXHALF: 4,
    ScalarType.COMPLEXFLOAT: 8,
    ScalarType.COMPLEXDOUBLE: 16,
    ScalarType.BOOL: 1,
    ScalarType.QINT8: 1,
    ScalarType.QUINT8: 1,
    ScalarType.QINT32: 4,
    ScalarType.BFLOAT16: 2,
    # Sub-byte types: the runtime's element type is a whole byte (or two for BITS16), however
    # many bits an element means (`runtime/core/portable_type/{qint_types,bits_types}.h`).
    ScalarType.QUINT4X2: 1,
    ScalarType.QUINT2X4: 1,
    ScalarType.BITS1X8: 1,
    ScalarType.BITS2X4: 1,
    ScalarType.BITS4X2: 1,
    ScalarType.BITS8: 1,
    ScalarType.BITS16: 2,
    ScalarType.FLOAT8E5M2: 1,
    ScalarType.FLOAT8E4M3FN: 1,
    ScalarType.FLOAT8E5M2FNUZ: 1,
    ScalarType.FLOAT8E4M3FNUZ: 1,
    ScalarType.UINT16: 2,
    ScalarType.UINT32: 4,
    ScalarType.UINT64: 8,
}
"""Bytes that the runtime reserves per element (`elementSize` in `scalar_type_util.h`)."""


def tensor_bytes(tensor: Tensor) -> int | None:
    """Size in bytes (the upper bound for dynamic shapes); None for an unknown element type.

    A negative dimension (which no exporter writes) also gives None.
    """
    width = ELEMENT_BYTES.get(tensor.scalar_type)
    sizes = tensor.sizes or ()
    if width is None or (sizes and min(sizes) < 0):
        return None
    return width * prod(sizes)


def is_dynamic(tensor: Tensor) -> bool:
    """True when the shape is only known at run time."""
    return tensor.shape_dynamism != Dynamism.STATIC
