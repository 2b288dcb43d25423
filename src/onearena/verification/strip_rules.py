"""Which rows of operands a row needs, and what a strip's node may have of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, Value, tensor_of

WINDOWS = (x.XNNConv2d, x.XNNDepthwiseConv2d, x.XNNMaxPooling2d, x.XNNAvgPooling2d)
ROW_WISE = (
    *(x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv, x.XNNMinimum, x.XNNMaximum, x.XNNPReLU),
    *(x.XNNSigmoid, x.XNNClamp, x.XNNFloor, x.XNNConvert, x.XNNSquareRoot, x.XNNCeiling),
    *(x.XNNHardswish, x.XNNLeakyReLU, x.XNNNegate, x.XNNSquare, x.XNNELU, x.XNNAbs),
    *(x.XNNReciprocalSquareRoot, x.XNNLog, x.XNNGelu, x.XNNTanh, x.XNNExp, x.XNNSin, x.XNNCos),
    *(x.XNNCopy, x.XNNSoftmax, x.XNNFullyConnected, x.XNNBatchMatrixMultiply),
    *(x.XNNConcatenate2, x.XNNConcatenate3, x.XNNConcatenate4, x.XNNConcatenate5),
    *(x.XNNStaticReshape, x.XNNStaticTranspose, x.XNNStaticSlice),
)
_WITH_POINTERS = (x.XNNConv2d, x.XNNDepthwiseConv2d, x.XNNStaticResizeBilinear2D)
_TRANSIENT_POINTERS = 0x20
"""A flag of these (`xnnpack.h`): where their pointers to pixels are kept, and not to which."""
BY_ROWS = frozenset({"padding_top", "padding_bottom", "new_shape", "sizes"})
"""Parameters that may be others in a strip; each is checked with the rows."""
EXACT_FACTORS = tuple(1 << k for k in range(21))
EXACT_ROWS = 1 << 20
"""XNNPACK calculates places of rows in single precision (`src/indirection.c`)."""


@dataclass(frozen=True)
class Rows:
    """Rows [first, first + count) of a value of the old graph; of all of it if `is_whole`.

    Attributes:
        spoiled: so many at the beginning and at the end are there, but are not those rows.
    """

    value: int
    first: int
    count: int
    is_whole: bool
    spoiled: tuple[int, int] = (0, 0)

    def has(self, first: int, count: int) -> bool:
        """Whether these rows of the old value are there, and are what they should be."""
        top, bottom = self.spoiled
        return self.first + top <= first and first + count <= self.first + self.count - bottom


def rows_between(row: int, first: int, factor: int) -> tuple[int, int]:
    """The two rows of a strip from which a row of the enlarged strip is made, were it endless;
    XNNPACK looks at both, even at one that has no share."""
    above = (2 * (row + first * factor) + 1 - factor) // (2 * factor)
    above = max(above, 0)  # in front of the image's first row there is nothing
    return above - first, above - first + 1


def row_axis(value: Value) -> int | None:
    """The dimension of a value's rows, the first one that is not 1; None without one."""
    for axis, size in enumerate(value.dims[:-1]):
        if size != 1:
            return axis
    return None


def value_types(graph: Graph) -> dict[int, tuple[Any, ...]]:
    """By value, its element type and quantization."""
    found: dict[int, tuple[Any, ...]] = {}
    for xvalue in graph.source.xvalues or ():
        tensor, union = tensor_of(xvalue), xvalue.xvalue_union
        if tensor is not None:
            quant = union.quant_params if isinstance(union, x.XNNQuantizedTensorValue) else None
            found[tensor.id_out] = (tensor.datatype, quant)
    return found


def is_needed_whole(old: Node, operand: int, value: Value, target: Value, axis: int) -> bool:
    """Whether every row of the output sees an operand in the same way."""
    if old.kind is x.XNNFullyConnected:
        return operand != old.inputs[0]
    if old.kind is x.XNNBatchMatrixMultiply:
        return operand == old.inputs[1] and axis == len(target.dims) - 2
    own = axis - (len(target.dims) - len(value.dims))
    return own < 0 or value.dims[own] == 1


@dataclass(frozen=True)
class RowWindow:
    """How a convolution or pooling goes over the rows of an image."""

    step: int
    padding_top: int
    height: int
    dilation: int

    def sees_between(self, low: int, high: int, count: int) -> bool:
        """Whether the first `count` rows of its output see a row in [low, high) of the image,
        whose rows above the first one have negative numbers."""
        for k in range(self.height):
            offset = k * self.dilation - self.padding_top
            row = max(0, -(-(low - offset) // self.step))  # the first one that does not see less
            if row < count and row * self.step + offset < high:
                return True
        return False


def differs_in_rows_only(
    mine: Sequence[int] | None, other: Sequence[int] | None, axis: int, count: int
) -> bool:
    """Whether two lists by dimension differ in the rows only, and mine has `count` there."""
    a, b = tuple(mine or ()), tuple(other or ())
    if len(a) != len(b) or len(a) <= axis:
        return False
    return a[axis] == count and a[:axis] + a[axis + 1 :] == b[:axis] + b[axis + 1 :]


def parameters(node: Node, without: frozenset[str]) -> tuple[Any, ...]:
    """The operator, its bounds and its parameters, operands left out."""
    union = node.xnode.xnode_union
    assert is_dataclass(union)
    own = tuple(
        _parameter(union, member.name)
        for member in fields(union)
        if not member.name.endswith("_id") and member.name not in without
    )
    return type(union), node.xnode.output_min_max, own


def _parameter(union: Any, name: str) -> Any:
    value = getattr(union, name)
    is_pointers = name == "flags" and isinstance(union, _WITH_POINTERS)
    return value & ~_TRANSIENT_POINTERS if is_pointers else value
