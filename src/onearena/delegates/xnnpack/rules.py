"""Which values of a payload may leave XNNPACK's workspace, and how long operands really live.

XNNPACK rewrites the graph before it runs it. Most rewrites want a value that has exactly
one consumer, and an external output counts as one more: opening such a value would lose
the rewrite (speed, sometimes bits). So these values stay internal. And since another
version may rewrite less, or more, the lifetimes below hold either way.

Source: XNNPACK's `src/subgraph.c` at the revisions shipped in ExecuTorch 1.4 and 1.5
(`xnn_subgraph_fusion`, `xnn_subgraph_fuse_unary_quantized_into_lut`,
`xnn_subgraph_optimize_common_subgraphs`, `xnn_subgraph_optimize_packed_lhs`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from math import inf

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, Value, once_for_all_alike
from onearena.delegates.xnnpack.lookup_chains import is_lookup_link, starts_lookup
from onearena.delegates.xnnpack.operators import (
    CLAMPED_BINARY,
    CLAMPING,
    CONVOLUTIONS,
    SAME_BYTES,
    has_bounds,
    is_clamp,
    is_pointwise,
    is_square,
)
from onearena.delegates.xnnpack.schema import Datatype

OPENABLE_TYPES = frozenset({Datatype.FP32, Datatype.QINT8, Datatype.QUINT8})
_HALF_TYPES = frozenset({Datatype.FP16, Datatype.BF16})
_KNOWN_TYPES = frozenset(Datatype)
_PLAIN_TYPES = _KNOWN_TYPES - _HALF_TYPES
MAX_RANK = 6

_DENSE_CONVOLUTIONS = frozenset({x.XNNConv2d, x.XNNConvTranspose2d})
_CLAMPED_ALONE = CLAMPED_BINARY | {x.XNNGlobalAvgPooling2d}
"""Nodes whose output bounds become a clamp of its own."""

_MAX_DIMENSION = (1 << 31) - 1
"""A program's tensors have signed 32-bit sizes, a payload's values unsigned ones."""
_MAX_VALUE_BYTES = 1 << 47
"""More than any address space; keeps sums of offsets far from 64 bits."""


class Link(Enum):
    """Why a value stays internal."""

    DATATYPE = "its type has no plain tensor outside XNNPACK"
    SHAPE = "its shape cannot be an argument"
    DEAD = "nothing depends on it"
    PAD = "padding that XNNPACK merges into the convolution"
    CLAMP = "clamp that XNNPACK merges into its producer"
    TRANSPOSE = "transposed operand that XNNPACK hands to the matrix product"
    SQUARE = "square that XNNPACK merges into the mean"
    LOOKUP = "8-bit chain that XNNPACK turns into a table"
    LIMIT = "the delegate takes no more arguments"


BORN_AT_PRODUCER = frozenset({Link.CLAMP, Link.LOOKUP})
"""Links after which the consumer's output may be written when the producer runs."""


@once_for_all_alike
def closed_reason(graph: Graph) -> str | None:
    """Why the whole payload must stay closed, or None.

    Half-precision values and dequantized matrix operands make XNNPACK append nodes and sort
    the graph anew, so the order of the list is no longer the order of execution.
    """
    are_plain = graph.datatypes <= _PLAIN_TYPES
    constants: set[int] = set()
    for value in graph.values.values():
        if value.tensor.dq_datatype or not are_plain:
            reason = _odd_type(value)
            if reason is not None:
                return reason
        if value.is_constant:
            constants.add(value.id)
            if value.is_external:
                return "a constant that is also an argument"
    seen: set[int] = set()
    for node in graph.nodes:
        if node.kind is x.XNNScaledDotProductAttention:
            return "an attention node"
        if node.kind is x.XNNBatchMatrixMultiply and _is_dequantized(graph, node.inputs[1]):
            return "a matrix product whose right operand is dequantized"
        if _has_other_channels(graph, node):
            return "a convolution of what is declared with other channels"
        if _is_unbounded_clamp(node):
            return "a clamp without bounds"
        if not seen.isdisjoint(node.outputs):
            return "a value that two nodes write"
        if not constants.isdisjoint(node.outputs):
            return "a node that writes a constant"
        for operand in node.inputs:
            writer = graph.producer.get(operand)
            if writer is not None and writer.index >= node.index:
                return "a node that reads a value before it is written"
        seen.update(node.outputs)
    return None


def _odd_type(value: Value) -> str | None:
    datatype = value.tensor.datatype
    if value.tensor.dq_datatype:
        return "a dynamically quantized input (old format)"
    if datatype in _HALF_TYPES and not value.is_constant:
        return f"{Datatype(datatype).name.lower()} values"
    return None if datatype in _KNOWN_TYPES else f"values of the unknown type {datatype}"


def _has_other_channels(graph: Graph, node: Node) -> bool:
    """Whether the dimensions of an image are not in the order of its bytes, for all that we know:
    the channels come last, and the operator says how many there are."""
    if node.kind not in _DENSE_CONVOLUTIONS:
        return False
    union = node.xnode.xnode_union
    assert isinstance(union, x.Convolution)
    dims = graph.values[node.inputs[0]].dims
    return dims[-1:] != (union.groups * union.group_input_channels,)


def _is_dequantized(graph: Graph, value: int) -> bool:
    node = graph.producer.get(value)
    return (
        node is not None
        and node.kind is x.XNNConvert
        and graph.values[node.inputs[0]].tensor.datatype == Datatype.QINT8
    )


@once_for_all_alike
def kept_internal(graph: Graph) -> Mapping[int, Link]:
    """The internal activations that stay internal, each with the reason."""
    kept: dict[int, Link] = {}
    for value in graph.values.values():
        if value.is_internal and value.id in graph.producer:
            link = _unopenable(graph, value) or _fused(graph, value)
            if link is not None:
                kept[value.id] = link
    return kept


def _unopenable(graph: Graph, value: Value) -> Link | None:
    if value.tensor.datatype not in OPENABLE_TYPES:
        return Link.DATATYPE
    if value.is_quantized and not value.per_tensor_quantized:
        return Link.DATATYPE
    if value.id not in graph.live or value.id not in graph.consumers:
        return Link.DEAD
    if not 0 < len(value.dims) <= MAX_RANK or 0 in value.dims:
        return Link.SHAPE
    if max(value.dims) > _MAX_DIMENSION or (value.size_bytes or 0) > _MAX_VALUE_BYTES:
        return Link.SHAPE
    return None


def _fused(graph: Graph, value: Value) -> Link | None:
    producer, consumers = graph.producer[value.id], graph.consumers[value.id]
    if is_square(producer) and all(c.kind is x.XNNGlobalAvgPooling2d for c in consumers):
        return Link.SQUARE
    if len(consumers) != 1:
        return None
    consumer = consumers[0]
    if producer.kind is x.XNNStaticConstantPad and _pad_merges(graph, value, producer, consumer):
        return Link.PAD
    merges_clamp = _ends_with_clamp(graph, producer) and is_clamp(graph, consumer)
    if merges_clamp and not starts_lookup(graph, consumer):
        return Link.CLAMP
    if producer.kind is x.XNNStaticTranspose and _transpose_merges(producer, consumer, value.id):
        return Link.TRANSPOSE
    if is_lookup_link(graph, value, producer, consumer):
        return Link.LOOKUP
    return None


def _pad_merges(graph: Graph, value: Value, pad: Node, consumer: Node) -> bool:
    """True for zero padding of height and width in front of a convolution."""
    union, target = pad.xnode.xnode_union, consumer.xnode.xnode_union
    assert isinstance(union, x.XNNStaticConstantPad)
    if consumer.kind not in CONVOLUTIONS or consumer.inputs[0] != value.id:
        return False
    assert isinstance(target, x.Convolution)
    if consumer.kind is x.XNNConv2d and is_pointwise(target):
        return False
    before, after = union.pre_paddings or (), union.post_paddings or ()
    if len(value.dims) != 4 or len(before) != 4 or len(after) != 4:
        return False
    spatial = not (before[0] or after[0] or before[3] or after[3])
    return spatial and not target.flags & x.SAME_PADDING_FLAG


def _ends_with_clamp(graph: Graph, node: Node) -> bool:
    """True for nodes that a clamp behind them merges into, the clamps included that XNNPACK
    makes itself from output bounds."""
    if node.kind in CLAMPING or is_clamp(graph, node):
        return True
    return node.kind in _CLAMPED_ALONE and has_bounds(node)


def _is_unbounded_clamp(node: Node) -> bool:
    if node.kind is not x.XNNClamp:
        return False
    bounds = node.xnode.output_min_max
    return bounds is None or (bounds.output_min == -inf and bounds.output_max == inf)


def _transpose_merges(transpose: Node, product: Node, value: int) -> bool:
    """True when XNNPACK drops the transpose, or flips its last two dimensions to get the
    faster packing of the right operand."""
    if len(product.inputs) < 2 or product.inputs[1] != value:
        return False
    union, target = transpose.xnode.xnode_union, product.xnode.xnode_union
    assert isinstance(union, x.XNNStaticTranspose)
    if isinstance(target, x.XNNBatchMatrixMultiply):
        slow_packing = not target.flags & x.TRANSPOSE_WEIGHTS_FLAG
    elif isinstance(target, x.XNNFullyConnected):
        slow_packing = bool(target.flags & x.TRANSPOSE_WEIGHTS_FLAG)
    else:
        return False
    perm = union.perm or ()
    swapped = (*range(len(perm) - 2), len(perm) - 1, len(perm) - 2)
    return slow_packing or perm == swapped


@dataclass(frozen=True)
class EffectiveOrder:
    """Per node, in list positions: operands may be read as late as `read_until[k]` and outputs
    written as early as `write_from[k]`, whichever rewrites XNNPACK applies."""

    read_until: tuple[int, ...]
    write_from: tuple[int, ...]


def effective_order(graph: Graph, kept: Mapping[int, Link]) -> EffectiveOrder:
    """Covers every rewrite that may happen around the values that stay internal.

    A node whose output stays internal may be merged into that value's readers, so its own
    operands live until they have run. A clamp, copy or table may be merged upwards, so its
    output may be written when the producer of its operand runs. A mean reads the operand of
    a square even when the square itself is an argument.
    """
    count = len(graph.nodes)
    read_until = list(range(count))
    write_from = list(range(count))
    for node in reversed(graph.nodes):
        for output in node.outputs:
            readers = graph.consumers.get(output, ())
            squared = is_square(node) and any(
                reader.kind is x.XNNGlobalAvgPooling2d for reader in readers
            )
            if squared or output in kept:
                for reader in readers:
                    read_until[node.index] = max(read_until[node.index], read_until[reader.index])
    for node in graph.nodes:
        for operand in node.inputs:
            if operand not in kept:
                continue
            absorbed = node.kind in SAME_BYTES or is_clamp(graph, node)
            if absorbed or kept[operand] in BORN_AT_PRODUCER:
                earliest = write_from[graph.producer[operand].index]
                write_from[node.index] = min(write_from[node.index], earliest)
    return EffectiveOrder(tuple(read_until), tuple(write_from))
