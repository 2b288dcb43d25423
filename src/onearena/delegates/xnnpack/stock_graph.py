"""XNNPACK's own graph of a payload, as it stands before its passes run.

What the delegate defines (`backends/xnnpack/runtime/XNNCompiler.cpp` of ExecuTorch 1.5) is not
the payload node for node: XNNPACK's `xnn_define_*` functions turn pointwise convolutions into
fully connected nodes, and output bounds of binary nodes and means into a clamp that reads a
hidden tensor. The passes in the `stock_*` modules then edit this graph in place, as XNNPACK
does with its own; nothing outside of them sees it change.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum, auto
from math import inf, prod

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Node, index_graph, tensor_of
from onearena.delegates.xnnpack.schema import Datatype

NONE = -1
"""No node."""
TRANSPOSE_WEIGHTS = 0x1
SAME_PADDING = 0x4
TRANSIENT_INDIRECTION = 0x20
_UNBOUNDED = (-inf, inf)


class Op(Enum):
    """XNNPACK's node types, as far as an ExecuTorch payload has them (`node-type-defs.inc`)."""

    ARGMAX_POOLING = auto()
    AVERAGE_POOLING = auto()
    BATCH_MATRIX_MULTIPLY = auto()
    BINARY = auto()
    CONCATENATE = auto()
    CONVERT_DYNAMIC = auto()
    """To a type that is not element-wise: per-row quantization, or int8 to channel-wise int8."""
    CONVOLUTION = auto()
    COPY = auto()
    DECONVOLUTION = auto()
    DEPTHWISE_CONVOLUTION = auto()
    FULLY_CONNECTED = auto()
    MAX_POOLING = auto()
    MEAN = auto()
    MEAN_SQUARED = auto()
    PAD = auto()
    RESHAPE = auto()
    RESIZE_BILINEAR = auto()
    SLICE = auto()
    SOFTMAX = auto()
    TRANSPOSE = auto()
    UNARY = auto()
    UNKNOWN = auto()


class Function(Enum):
    """What an element-wise node computes, as far as a pass asks."""

    CLAMP = auto()
    SQUARE = auto()
    MULTIPLY = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    CONVERT = auto()
    TABLE = auto()
    OTHER = auto()


class Storage(Enum):
    """Where a value's bytes are."""

    CONSTANT = auto()
    ARGUMENT = auto()
    WORKSPACE = auto()


@dataclass(slots=True, eq=False)
class StockValue:
    """A tensor. The last five fields are kept by `analyze` and, between two of its runs, go
    stale in the same way as XNNPACK's."""

    datatype: int
    dims: tuple[int, ...]
    storage: Storage
    is_input: bool = False
    is_output: bool = False
    row_dims: int = 0
    """Trailing dimensions of one dynamically quantized row."""
    zero_point: int = 0
    has_static_shape: bool = False
    is_valid: bool = True
    producer: int = NONE
    first_consumer: int = NONE
    consumers: int = 0

    @property
    def is_internal(self) -> bool:
        """True for values without an external flag (constants too)."""
        return not (self.is_input or self.is_output)

    @property
    def is_scalar_constant(self) -> bool:
        """True for a constant of one element."""
        return self.storage is Storage.CONSTANT and prod(self.dims) == 1


@dataclass(slots=True, eq=False)
class StockNode:
    """A node; `source` is the payload's node it comes from."""

    op: Op
    inputs: list[int]
    outputs: list[int]
    source: Node
    function: Function = Function.OTHER
    flags: int = 0
    bounds: tuple[float, float] = _UNBOUNDED
    shape: tuple[int, ...] = ()
    perm: tuple[int, ...] = ()
    packs_input: bool = False
    """The matrix product quantizes and packs its left operand itself, in scratch."""

    @property
    def is_clamp(self) -> bool:
        """True for a clamp node."""
        return self.function is Function.CLAMP


@dataclass(slots=True, eq=False)
class StockGraph:
    """Nodes in execution order (None: removed by a pass), values by XNNPACK's ids."""

    values: list[StockValue]
    nodes: list[StockNode | None] = field(default_factory=list)

    def add_value(self, value: StockValue) -> int:
        """Appends a value; returns its id."""
        self.values.append(value)
        return len(self.values) - 1

    def producer(self, value: int) -> StockNode | None:
        """The node that writes `value`, as of the last analysis."""
        index = self.values[value].producer
        return None if index == NONE else self.nodes[index]


_UNARY_FUNCTIONS: dict[type, Function] = {
    x.XNNClamp: Function.CLAMP,
    x.XNNSquare: Function.SQUARE,
    x.XNNConvert: Function.CONVERT,
    **dict.fromkeys(
        (
            x.XNNSigmoid,
            x.XNNFloor,
            x.XNNSquareRoot,
            x.XNNCeiling,
            x.XNNHardswish,
            x.XNNLeakyReLU,
            x.XNNNegate,
            x.XNNELU,
            x.XNNAbs,
            x.XNNReciprocalSquareRoot,
            x.XNNLog,
            x.XNNGelu,
            x.XNNTanh,
            x.XNNExp,
            x.XNNSin,
            x.XNNCos,
        ),
        Function.OTHER,
    ),
}
_BINARY_FUNCTIONS: dict[type, Function] = {
    x.XNNMultiply: Function.MULTIPLY,
    x.XNNMinimum: Function.MINIMUM,
    x.XNNMaximum: Function.MAXIMUM,
    **dict.fromkeys((x.XNNAdd, x.XNNSubtract, x.XNNDiv, x.XNNPReLU), Function.OTHER),
}
_OPS: dict[type, Op] = {
    x.XNNArgMaxPooling2d: Op.ARGMAX_POOLING,
    x.XNNAvgPooling2d: Op.AVERAGE_POOLING,
    x.XNNBatchMatrixMultiply: Op.BATCH_MATRIX_MULTIPLY,
    x.XNNConcatenate2: Op.CONCATENATE,
    x.XNNConcatenate3: Op.CONCATENATE,
    x.XNNConcatenate4: Op.CONCATENATE,
    x.XNNConcatenate5: Op.CONCATENATE,
    x.XNNConv2d: Op.CONVOLUTION,
    x.XNNConvTranspose2d: Op.DECONVOLUTION,
    x.XNNCopy: Op.COPY,
    x.XNNDepthwiseConv2d: Op.DEPTHWISE_CONVOLUTION,
    x.XNNFullyConnected: Op.FULLY_CONNECTED,
    x.XNNGlobalAvgPooling2d: Op.MEAN,
    x.XNNMaxPooling2d: Op.MAX_POOLING,
    x.XNNSoftmax: Op.SOFTMAX,
    x.XNNStaticConstantPad: Op.PAD,
    x.XNNStaticReshape: Op.RESHAPE,
    x.XNNStaticResizeBilinear2D: Op.RESIZE_BILINEAR,
    x.XNNStaticSlice: Op.SLICE,
    x.XNNStaticTranspose: Op.TRANSPOSE,
    **dict.fromkeys(_UNARY_FUNCTIONS, Op.UNARY),
    **dict.fromkeys(_BINARY_FUNCTIONS, Op.BINARY),
}
_CLAMPED_AFTERWARDS = frozenset(
    {x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv, x.XNNGlobalAvgPooling2d}
)
"""Operators whose output bounds become a clamp node (`xnn_insert_clamp_node`)."""


def define(payload: x.XNNGraph) -> StockGraph:
    """Builds XNNPACK's graph of a payload.

    Raises:
        FormatError: the payload's graph is malformed.
    """
    source = index_graph(payload, "payload")
    graph = StockGraph([_absent() for _ in range(payload.num_externs)])
    ids: dict[int, int] = {}
    for xvalue in payload.xvalues or ():
        _define_value(graph, xvalue, ids)
    for node in source.nodes:
        _define_node(graph, node, ids)
    return graph


def _absent() -> StockValue:
    return StockValue(Datatype.INVALID, (), Storage.ARGUMENT, is_valid=False)


def _define_value(graph: StockGraph, xvalue: x.XValue, ids: dict[int, int]) -> None:
    """Adds a value: arguments are numbered by their position, the others on from there."""
    tensor = tensor_of(xvalue)
    assert tensor is not None, "index_graph has refused values without a tensor"
    storage = Storage.WORKSPACE
    if tensor.constant_buffer_idx:
        storage = Storage.CONSTANT
    elif tensor.flags & (x.EXTERNAL_INPUT | x.EXTERNAL_OUTPUT):
        storage = Storage.ARGUMENT
    union = xvalue.xvalue_union
    quant = union.quant_params if isinstance(union, x.XNNQuantizedTensorValue) else None
    value = StockValue(
        tensor.datatype,
        tensor.dims or (),
        storage,
        is_input=bool(tensor.flags & x.EXTERNAL_INPUT),
        is_output=bool(tensor.flags & x.EXTERNAL_OUTPUT),
        row_dims=quant.num_nonbatch_dims if isinstance(quant, x.PerTokenDynamicQuant) else 0,
        zero_point=quant.zero_point if isinstance(quant, x.PerTensorQuant) else 0,
    )
    if tensor.external_id < len(graph.values):
        graph.values[tensor.external_id] = value
        ids[tensor.id_out] = tensor.external_id
    else:
        ids[tensor.id_out] = graph.add_value(value)


def _define_node(graph: StockGraph, source: Node, ids: dict[int, int]) -> None:
    union = source.xnode.xnode_union
    node = StockNode(
        _OPS.get(source.kind, Op.UNKNOWN),
        [ids[operand] for operand in source.inputs],
        [ids[operand] for operand in source.outputs],
        source,
        _UNARY_FUNCTIONS.get(source.kind) or _BINARY_FUNCTIONS.get(source.kind, Function.OTHER),
        getattr(union, "flags", 0),
        _bounds(source),
    )
    if isinstance(union, x.XNNStaticReshape):
        node.shape = union.new_shape or ()
    elif isinstance(union, x.XNNStaticTranspose):
        node.perm = union.perm or ()
    elif isinstance(union, x.XNNConvert):
        if graph.values[node.outputs[0]].datatype == Datatype.QDINT8:
            node.op = Op.CONVERT_DYNAMIC
    elif isinstance(union, x.XNNConv2d) and _is_fully_connected(union):
        node.op, node.flags = Op.FULLY_CONNECTED, 0
        _quantize_per_pixel(graph.values[node.inputs[0]])
    graph.nodes.append(node)
    if source.kind in _CLAMPED_AFTERWARDS and node.bounds != _UNBOUNDED:
        _clamp_afterwards(graph, node)


def _bounds(source: Node) -> tuple[float, float]:
    bounds = source.xnode.output_min_max
    return _UNBOUNDED if bounds is None else (bounds.output_min, bounds.output_max)


def _is_fully_connected(conv: x.XNNConv2d) -> bool:
    """Condition of `xnn_define_convolution_2d`; SAME padding of a 1x1 kernel is no padding."""
    return (
        conv.groups == 1
        and conv.kernel_height * conv.kernel_width == 1
        and conv.subsampling_height | conv.subsampling_width == 1
        and not conv.padding_top | conv.padding_right | conv.padding_bottom | conv.padding_left
        and conv.group_input_channels + conv.group_output_channels > 2
    )


def _quantize_per_pixel(value: StockValue) -> None:
    """A pointwise convolution's dynamically quantized input gets parameters per pixel."""
    if value.datatype == Datatype.QDINT8:
        value.row_dims = 1


def _clamp_afterwards(graph: StockGraph, node: StockNode) -> None:
    """Splits bounds off into a clamp behind a hidden tensor of the output's type and shape."""
    output = graph.values[node.outputs[0]]
    hidden = graph.add_value(
        StockValue(output.datatype, output.dims, Storage.WORKSPACE, zero_point=output.zero_point)
    )
    clamp = StockNode(Op.UNARY, [hidden], node.outputs, node.source, Function.CLAMP, 0, node.bounds)
    node.outputs, node.bounds = [hidden], _UNBOUNDED
    graph.nodes.append(clamp)
