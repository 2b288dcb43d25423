"""Nodes that a payload does not need: dead ones, second ones, padding, transposed operands."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import fields, replace

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, Value
from onearena.delegates.xnnpack.operators import (
    CONVOLUTIONS,
    EIGHT_BIT_TYPES,
    SAME_BYTES,
    is_pointwise,
    is_square,
)
from onearena.delegates.xnnpack.rules import kept_internal
from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.simplify_adjacent import ELEMENTWISE
from onearena.delegates.xnnpack.simplify_edit import Edit, readers, same_type, values_by_id


def drop_dead_nodes(graph: Graph, what: str) -> tuple[Graph, int]:
    """Drops nodes that no output depends on. XNNPACK does it too, but only after the delegate
    has packed their weights, and after others have counted their reads."""
    edit = Edit(graph)
    for node in graph.nodes:
        if not graph.live.intersection(node.outputs):
            edit.nodes[node.index] = ()
    return edit.apply(what), len(edit.nodes)


def share_duplicates(graph: Graph, what: str) -> tuple[Graph, int]:
    """Computes once what several nodes compute from the same operands, where that does not keep
    anything alive that was not.

    The first result must be needed until the second one is made; else it would stay alive in
    between, and computing twice is what a tight memory wants. Results that share the memory of
    their operand (reshapes, copies) always may be one.
    """
    edit, found = Edit(graph), dict[Hashable, Node]()
    if _may_not_share(graph):
        return graph, 0
    kept, values = kept_internal(graph), values_by_id(graph)
    for node in graph.nodes:
        if not _is_shareable(graph, node) or kept.keys() & {*node.outputs, *node.inputs}:
            continue
        first = found.setdefault(_signature(node), node)
        if first is node:
            continue
        one, other = (graph.values[n.outputs[0]] for n in (first, node))
        alike = same_type(values[one.id], values[other.id]) and one.dims == other.dims
        last_read = readers(graph, one.id)[-1].index
        if alike and (last_read >= node.index or node.kind in SAME_BYTES):
            edit.instead[other.id] = one.id
            edit.nodes[node.index] = ()
        else:
            found[_signature(node)] = node
    return edit.apply(what), len(edit.nodes)


def _may_not_share(graph: Graph) -> bool:
    """With 8-bit values around, a value that loses a reader may become part of a table, which
    rounds in another way."""
    return any(
        value.tensor.datatype in EIGHT_BIT_TYPES and not value.is_constant
        for value in graph.values.values()
    )


def _is_shareable(graph: Graph, node: Node) -> bool:
    """True when its result is internal and its operand losing a reader changes nothing."""
    if len(node.outputs) != 1 or not graph.values[node.outputs[0]].is_internal:
        return False
    if not readers(graph, node.outputs[0]) or is_square(node):
        return False
    if node.kind in (x.XNNConvert, x.XNNClamp, x.XNNMinimum, x.XNNMaximum):
        return False
    if node.kind in _LAYOUT:
        return True
    # a reshape of the result has its name, which must stay
    copied = any(reader.kind in _LAYOUT for reader in readers(graph, node.outputs[0]))
    return (node.kind in ELEMENTWISE or node.kind in _SHAREABLE) and not copied


_LAYOUT = SAME_BYTES | {x.XNNStaticTranspose}
_SHAREABLE = frozenset(
    {
        x.XNNStaticSlice,
        x.XNNStaticResizeBilinear2D,
        x.XNNMaxPooling2d,
        x.XNNAvgPooling2d,
        x.XNNSoftmax,
    }
)


def _signature(node: Node) -> Hashable:
    """Equal for nodes that compute the same; floats by their spelling, which tells -0 from 0."""
    union = node.xnode.xnode_union
    assert union is not None
    names = (m.name for m in fields(union) if not m.name.startswith("output"))
    bounds = repr(node.xnode.output_min_max)
    return node.kind, bounds, tuple(repr(getattr(union, name)) for name in names)


def merge_pads(graph: Graph, what: str) -> tuple[Graph, int]:
    """Zero padding of height and width goes into the convolutions that read it.

    XNNPACK does so itself for a single reader. Here it is done for several, too, if all of them
    are convolutions, so that the padded image is never made.
    """
    edit, values, touched = Edit(graph), values_by_id(graph), set[int]()
    merged = 0
    for pad in graph.nodes:
        union = pad.xnode.xnode_union
        if not isinstance(union, x.XNNStaticConstantPad) or not _is_zero_padding(graph, union):
            continue
        source, padded = union.input_id, graph.values[union.output_id]
        after = readers(graph, padded.id)
        if not same_type(values[source], values[padded.id]) or not padded.is_internal:
            continue
        if not after or not all(_takes_padding(node, padded, len(after)) for node in after):
            continue
        if touched.intersection((source, padded.id)):
            continue
        touched.update((source, padded.id))
        for node in after:
            edit.nodes[node.index] = (replace(node.xnode, xnode_union=_padded(node, union)),)
        edit.nodes[pad.index] = ()
        merged += 1
    return edit.apply(what), merged


def _is_zero_padding(graph: Graph, pad: x.XNNStaticConstantPad) -> bool:
    """True for padding of height and width with what the type calls zero (0.0, not -0.0)."""
    source, target = graph.values[pad.input_id], graph.values[pad.output_id]
    before, after = pad.pre_paddings or (), pad.post_paddings or ()
    if not len(before) == len(after) == len(target.dims) == len(source.dims) == 4:
        return False
    if source.is_constant or pad.flags or str(pad.padding_value) != "0.0":
        return False
    grown = zip(source.dims, before, after, strict=True)
    if tuple(size + one + other for size, one, other in grown) != target.dims:
        return False
    known = target.tensor.datatype == Datatype.FP32 or target.tensor.datatype in EIGHT_BIT_TYPES
    return known and not (before[0] or after[0] or before[3] or after[3])


def _takes_padding(node: Node, padded: Value, count: int) -> bool:
    """True for a convolution that may pad its input itself.

    With a kernel of one pixel XNNPACK has other kernels for images without padding, so those
    are left to it.
    """
    union = node.xnode.xnode_union
    if node.kind not in CONVOLUTIONS or not isinstance(union, x.Convolution):
        return False
    if union.input1_id != padded.id or node.inputs.count(padded.id) != 1:
        return False
    one_pixel = union.kernel_height * union.kernel_width == 1
    if (one_pixel and count > 1) or (node.kind is x.XNNConv2d and is_pointwise(union)):
        return False
    return not union.flags & x.SAME_PADDING_FLAG


def _padded(node: Node, pad: x.XNNStaticConstantPad) -> x.Convolution:
    union = node.xnode.xnode_union
    assert isinstance(union, x.Convolution)
    before, after = pad.pre_paddings or (), pad.post_paddings or ()
    return replace(
        union,
        input1_id=pad.input_id,
        padding_top=union.padding_top + before[1],
        padding_left=union.padding_left + before[2],
        padding_bottom=union.padding_bottom + after[1],
        padding_right=union.padding_right + after[2],
    )


def flag_transposes(graph: Graph, what: str) -> tuple[Graph, int]:
    """A matrix product reads its right operand before it was transposed, with the flag for it.

    The product packs its operand in either case, so no bit changes. XNNPACK does so itself for a
    single reader; here all readers must be such products.
    """
    edit, flagged = Edit(graph), 0
    for node in graph.nodes:
        union = node.xnode.xnode_union
        if not isinstance(union, x.XNNStaticTranspose) or not _swaps_last(graph, node):
            continue
        after = readers(graph, union.output_id)
        if not after or not all(_is_right_operand(n, union.output_id) for n in after):
            continue
        for product in after:
            target = product.xnode.xnode_union
            assert isinstance(target, x.XNNBatchMatrixMultiply)
            flags = target.flags ^ x.TRANSPOSE_WEIGHTS_FLAG
            other = replace(target, input2_id=union.input_id, flags=flags)
            edit.nodes[product.index] = (replace(product.xnode, xnode_union=other),)
        edit.nodes[node.index] = ()
        flagged += 1
    return edit.apply(what), flagged


def _swaps_last(graph: Graph, node: Node) -> bool:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticTranspose)
    source, target = graph.values[union.input_id], graph.values[union.output_id]
    rank = len(source.dims)
    swapped = (*range(rank - 2), rank - 1, rank - 2)
    plain = source.tensor.datatype == target.tensor.datatype == Datatype.FP32
    internal = target.is_internal and not source.is_constant
    return rank >= 2 and plain and internal and not union.flags and union.perm == swapped


def _is_right_operand(node: Node, value: int) -> bool:
    union = node.xnode.xnode_union
    only = isinstance(union, x.XNNBatchMatrixMultiply) and union.input1_id != value
    return only and len(node.inputs) == 2
