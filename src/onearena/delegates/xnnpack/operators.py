"""What kinds of operators XNNPACK has, and what single nodes are like."""

from __future__ import annotations

from math import inf

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, Value
from onearena.delegates.xnnpack.schema import Datatype

EIGHT_BIT_TYPES = frozenset({Datatype.QINT8, Datatype.QUINT8})
UNARY = frozenset(
    {
        x.XNNSigmoid,
        x.XNNClamp,
        x.XNNFloor,
        x.XNNConvert,
        x.XNNSquareRoot,
        x.XNNCeiling,
        x.XNNHardswish,
        x.XNNLeakyReLU,
        x.XNNNegate,
        x.XNNSquare,
        x.XNNELU,
        x.XNNAbs,
        x.XNNReciprocalSquareRoot,
        x.XNNLog,
        x.XNNGelu,
        x.XNNTanh,
        x.XNNExp,
        x.XNNSin,
        x.XNNCos,
    }
)
BINARY = frozenset(
    {
        x.XNNAdd,
        x.XNNSubtract,
        x.XNNMultiply,
        x.XNNDiv,
        x.XNNMinimum,
        x.XNNMaximum,
        x.XNNPReLU,
    }
)
CLAMPED_BINARY = frozenset({x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv})
"""Binaries whose output bounds XNNPACK turns into a hidden tensor and a clamp of its own."""
CLAMPING = frozenset(
    {
        x.XNNClamp,
        x.XNNAvgPooling2d,
        x.XNNConv2d,
        x.XNNConvTranspose2d,
        x.XNNDepthwiseConv2d,
        x.XNNFullyConnected,
        x.XNNMaxPooling2d,
    }
)
"""Nodes into which XNNPACK merges a clamp that follows."""
SAME_BYTES = frozenset({x.XNNStaticReshape, x.XNNCopy})
"""Nodes whose output has their input's bytes; XNNPACK skips the copy at equal addresses."""
CONVOLUTIONS = frozenset({x.XNNConv2d, x.XNNDepthwiseConv2d})


def is_pointwise(conv: x.Convolution) -> bool:
    """True for a convolution that XNNPACK runs as a fully connected layer."""
    return (
        conv.groups == 1
        and conv.kernel_height * conv.kernel_width == 1
        and (conv.subsampling_height | conv.subsampling_width) == 1
        and not conv.padding_top | conv.padding_right | conv.padding_bottom | conv.padding_left
    )


def is_clamp(graph: Graph, node: Node) -> bool:
    """True for a clamp, or a minimum or maximum with one scalar constant."""
    if node.kind is x.XNNClamp:
        return True
    if node.kind not in (x.XNNMinimum, x.XNNMaximum):
        return False
    return any(is_scalar_constant(graph.values[v]) for v in node.inputs)


def joined_axis(union: x.Concatenate, rank: int) -> int:
    """The dimension that a concatenation joins along; the schema may count it from the end."""
    axis = union.axis - (1 << 32) if union.axis >= 1 << 31 else union.axis
    return axis % rank


def is_scalar_constant(value: Value) -> bool:
    """True for a constant of one element."""
    return value.is_constant and value.element_count == 1


def is_square(node: Node) -> bool:
    """True for x² and for x·x, which XNNPACK turns into it."""
    if node.kind is x.XNNSquare:
        return True
    return node.kind is x.XNNMultiply and node.inputs[0] == node.inputs[1]


def has_bounds(node: Node) -> bool:
    """True when the node carries output bounds that clamp something."""
    bounds = node.xnode.output_min_max
    return bounds is not None and (bounds.output_min != -inf or bounds.output_max != inf)
