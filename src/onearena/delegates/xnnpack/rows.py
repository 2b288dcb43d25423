"""Which rows of its operands a node needs for some rows of its output.

The rows of a tensor are its slices along the first dimension that is not 1: each is one piece of
memory, and so are neighbouring ones. A node that works row by row can be run on a strip of rows
at a time, with the same arithmetic for every element.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, Value
from onearena.delegates.xnnpack.indirection import TRANSIENT_INDIRECTION
from onearena.delegates.xnnpack.operators import BINARY, UNARY, is_pointwise, joined_axis
from onearena.lifetime import Interval

Rows = Interval
"""Half-open, in rows of one tensor."""
_ROW_BY_ROW = UNARY | {x.XNNCopy}
_CONCATENATIONS = frozenset(
    {x.XNNConcatenate2, x.XNNConcatenate3, x.XNNConcatenate4, x.XNNConcatenate5}
)

_EXACT_ROWS = 1 << 20
"""Up to here rows and their fractions fit into single precision."""


@dataclass(frozen=True)
class StripNode:
    """A node that computes some rows of its output.

    Attributes:
        rows: by position among the node's inputs, the rows that it reads; None for all of the
            operand, rows or not.
        union: the operator for these rows; its operands still have the old ids.
        made: all rows that it writes, when these are more than were asked for; the others hold
            something else than the whole output does.
    """

    rows: tuple[Rows | None, ...]
    union: x.NodeUnion
    made: Rows | None = None


def row_axis(value: Value) -> int | None:
    """The dimension that rows are counted along; None for values that have no rows."""
    axis = next((k for k, size in enumerate(value.dims) if size != 1), None)
    return None if axis is None or axis == len(value.dims) - 1 else axis


def row_count(value: Value) -> int:
    """The number of rows of a value that has some."""
    axis = row_axis(value)
    assert axis is not None
    return value.dims[axis]


def strip_node(graph: Graph, node: Node, rows: Rows) -> StripNode | None:
    """The node for some rows of its output; None when it does not work row by row.

    Args:
        rows: a part of the output's rows that is not empty.
    """
    output = graph.values[node.outputs[0]]
    axis = row_axis(output)
    if axis is None or len(node.outputs) != 1:
        return None
    if any(_rows_share_scale(graph.values[v]) for v in (*node.inputs, *node.outputs)):
        return None
    rule = _RULES.get(node.kind)
    return None if rule is None else rule(graph, node, axis, rows)


def _rows_share_scale(value: Value) -> bool:
    """True for a dynamically quantized image: its scale comes from all of its rows."""
    axis = row_axis(value)
    return axis is not None and axis >= len(value.dims) - value.scaled_dims


# -- nodes that work element by element -----------------------------------------------------


def _element_wise(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert union is not None
    output = graph.values[node.outputs[0]]
    found: list[Rows | None] = []
    for operand in node.inputs:
        value = graph.values[operand]
        own = axis - (len(output.dims) - len(value.dims))
        if len(value.dims) > len(output.dims):
            return None
        if own < 0 or value.dims[own] == 1:
            found.append(None)  # broadcast along the rows
        elif value.dims[own] == output.dims[axis] and row_axis(value) == own:
            found.append(rows)
        else:
            return None
    return StripNode(tuple(found), union)


def _same_shape(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    """Element by element, or row by row along the last dimension (softmax)."""
    source, target = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    if source.dims != target.dims:
        return None
    return _element_wise(graph, node, axis, rows)


# -- nodes that look at neighbouring rows ---------------------------------------------------


def _window(
    union: Any, prefix: str, stride: str, source: Value, rows: Rows
) -> tuple[Rows, Mapping[str, int]] | None:
    """Rows under a window of a convolution or pool, and the padding that is left for them."""
    height, dilation = getattr(union, f"{prefix}_height"), max(1, union.dilation_height)
    step, count = getattr(union, f"{stride}_height"), source.dims[1]
    first = rows.start * step - union.padding_top
    end = (rows.end - 1) * step - union.padding_top + (height - 1) * dilation + 1
    inside = Rows(max(0, first), min(count, end))
    if inside.start >= inside.end or end - count > union.padding_bottom:
        return None
    return inside, {"padding_top": max(0, -first), "padding_bottom": max(0, end - count)}


def _has_images(graph: Graph, node: Node) -> bool:
    """True when rows are those of one image, in the input and the output."""
    source, target = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    return len(source.dims) == 4 and row_axis(source) == row_axis(target) == 1


def _convolution(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Convolution)
    if not _has_images(graph, node) or union.flags & x.SAME_PADDING_FLAG:
        return None
    if not all(graph.values[operand].is_constant for operand in node.inputs[1:]):
        return None
    padded = union.padding_top | union.padding_bottom | union.padding_left | union.padding_right
    if union.kernel_height * union.kernel_width == 1 and padded and not is_pointwise(union):
        return None  # without its padding it would run another kernel
    found = _window(union, "kernel", "subsampling", graph.values[node.inputs[0]], rows)
    if found is None:
        return None
    whole = (None,) * (len(node.inputs) - 1)
    return StripNode((found[0], *whole), replace(union, **found[1]))


def _pool(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Pooling)
    if not _has_images(graph, node) or union.flags & x.SAME_PADDING_FLAG:
        return None
    padded = union.padding_top | union.padding_bottom | union.padding_left | union.padding_right
    if node.kind is x.XNNAvgPooling2d and padded:
        return None  # without padding XNNPACK divides in another way
    found = _window(union, "pooling", "stride", graph.values[node.inputs[0]], rows)
    return None if found is None else StripNode((found[0],), replace(union, **found[1]))


def _pad(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticConstantPad)
    source = graph.values[node.inputs[0]]
    before, after = list(union.pre_paddings or ()), list(union.post_paddings or ())
    if len(before) != len(source.dims) or len(after) != len(before) or row_axis(source) != axis:
        return None
    if any(before[:axis]) or any(after[:axis]):
        return None
    count = source.dims[axis]
    first, end = rows.start - before[axis], rows.end - before[axis]
    inside = Rows(max(0, first), min(count, end))
    if inside.start >= inside.end:
        return None
    before[axis], after[axis] = max(0, -first), max(0, end - count)
    if not any(before) and not any(after):
        return StripNode((inside,), x.XNNCopy(union.input_id, union.output_id, 0))
    changed = replace(union, pre_paddings=tuple(before), post_paddings=tuple(after))
    return StripNode((inside,), changed)


def _resize(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    """Enlarges by a power of two, where XNNPACK's arithmetic is exact.

    Output row r lies at input row (r + 1/2) / factor - 1/2, between two rows of which the first
    and the last row of an image have only one (`src/indirection.c`, in single precision). So a
    strip needs the rows on both sides, and what it makes of their outer halves is of no use.
    """
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticResizeBilinear2D)
    source, target = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    if not _has_images(graph, node) or union.flags & ~TRANSIENT_INDIRECTION:
        return None
    count, (factor, rest) = source.dims[1], divmod(target.dims[1], max(1, source.dims[1]))
    if rest or not count or factor.bit_count() != 1 or target.dims[1] > _EXACT_ROWS:
        return None
    first, last = (_row_above(row, factor) for row in (rows.start, rows.end - 1))
    end = min(count, last + 2)  # the row below is read even where its share is nothing
    made = Rows(first * factor, end * factor)
    changed = replace(union, new_height=made.end - made.start)
    return StripNode((Rows(first, end),), changed, None if made == rows else made)


def _row_above(row: int, factor: int) -> int:
    """The input row at or above an output row."""
    return max(0, (2 * row + 1 - factor) // (2 * factor))


# -- products -------------------------------------------------------------------------------


def _fully_connected(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNFullyConnected)
    source, target = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    if source.dims[:-1] != target.dims[:-1] or union.flags & ~x.TRANSPOSE_WEIGHTS_FLAG:
        return None
    if not all(graph.values[operand].is_constant for operand in node.inputs[1:]):
        return None
    whole = (None,) * (len(node.inputs) - 1)
    return StripNode((rows, *whole), union)


def _batch_product(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNBatchMatrixMultiply)
    left, right = (graph.values[operand] for operand in node.inputs)
    target = graph.values[node.outputs[0]]
    if not len(left.dims) == len(right.dims) == len(target.dims):
        return None
    if row_axis(left) != axis or left.dims[axis] != target.dims[axis]:
        return None
    if axis == len(target.dims) - 2:
        return StripNode((rows, None), union)
    if row_axis(right) != axis or right.dims[axis] != target.dims[axis]:
        return None
    return StripNode((rows, rows), union)


# -- nodes that move bytes ------------------------------------------------------------------


def _concatenation(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Concatenate)
    rank = len(graph.values[node.outputs[0]].dims)
    if joined_axis(union, rank) <= axis:
        return None
    count = graph.values[node.outputs[0]].dims[axis]
    for operand in node.inputs:
        value = graph.values[operand]
        if len(value.dims) != rank or row_axis(value) != axis or value.dims[axis] != count:
            return None
    return StripNode((rows,) * len(node.inputs), union)


def _reshape(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticReshape)
    source, target = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    shape = list(union.new_shape or ())
    own = row_axis(source)
    if own is None or source.dims[own] != target.dims[axis] or tuple(shape) != target.dims:
        return None
    shape[axis] = rows.end - rows.start
    return StripNode((rows,), replace(union, new_shape=tuple(shape)))


def _transpose(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticTranspose)
    source = graph.values[node.inputs[0]]
    perm = union.perm or ()
    if len(perm) != len(source.dims) or perm[: axis + 1] != tuple(range(axis + 1)):
        return None
    return StripNode((rows,), union) if row_axis(source) == axis else None


def _slice(graph: Graph, node: Node, axis: int, rows: Rows) -> StripNode | None:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticSlice)
    source, target = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    sizes, offsets = list(union.sizes or ()), union.offsets or ()
    if row_axis(source) != axis or tuple(sizes) != target.dims or len(offsets) != len(sizes):
        return None
    if any(offsets[: axis + 1]) or sizes[axis] != source.dims[axis]:
        return None
    sizes[axis] = rows.end - rows.start
    return StripNode((rows,), replace(union, sizes=tuple(sizes)))


_Rule = Callable[[Graph, Node, int, Rows], StripNode | None]
_RULES: Mapping[type, _Rule] = {
    **dict.fromkeys(_ROW_BY_ROW, _same_shape),
    **dict.fromkeys(BINARY, _element_wise),
    **dict.fromkeys(_CONCATENATIONS, _concatenation),
    x.XNNSoftmax: _same_shape,
    x.XNNConv2d: _convolution,
    x.XNNDepthwiseConv2d: _convolution,
    x.XNNMaxPooling2d: _pool,
    x.XNNAvgPooling2d: _pool,
    x.XNNStaticConstantPad: _pad,
    x.XNNStaticResizeBilinear2D: _resize,
    x.XNNFullyConnected: _fully_connected,
    x.XNNBatchMatrixMultiply: _batch_product,
    x.XNNStaticReshape: _reshape,
    x.XNNStaticTranspose: _transpose,
    x.XNNStaticSlice: _slice,
}


def hull(parts: Sequence[Rows]) -> Rows:
    """The smallest range with all of some rows."""
    return Rows(min(part.start for part in parts), max(part.end for part in parts))
