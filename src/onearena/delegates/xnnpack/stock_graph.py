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
from onearena.delegates.xnnpack.graph import Graph, Node, index_graph, tensor_of
from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.stock_ops import (
    BINARY_FUNCTIONS,
    CLAMPED_AFTERWARDS,
    MIN_INPUTS,
    OPS,
    UNARY_FUNCTIONS,
    Function,
    Op,
)
from onearena.errors import FormatError

NONE = -1
"""No node."""
TRANSPOSE_WEIGHTS = 0x1
SAME_PADDING = 0x4
TRANSIENT_INDIRECTION = 0x20
_UNBOUNDED = (-inf, inf)


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


def define(graph: x.XNNGraph | Graph) -> StockGraph:
    """Builds XNNPACK's graph of a payload.

    Args:
        graph: of the payload; an indexed one saves doing that.

    Raises:
        FormatError: the payload's graph is malformed, so the delegate would refuse it.
    """
    source = graph if isinstance(graph, Graph) else index_graph(graph, "payload")
    payload = source.source
    if payload.num_externs > x.MAX_EXTERNALS:
        raise FormatError(f"payload: {payload.num_externs} arguments are more than XNNPACK takes")
    absent = (Datatype.INVALID, (), Storage.ARGUMENT)
    stock = StockGraph([StockValue(*absent, is_valid=False) for _ in range(payload.num_externs)])
    ids: dict[int, int] = {}
    for xvalue in payload.xvalues or ():
        _define_value(stock, xvalue, ids, payload.num_externs)
    for node in source.nodes:
        _define_node(stock, node, ids)
    return stock


def _define_value(graph: StockGraph, xvalue: x.XValue, ids: dict[int, int], externals: int) -> None:
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
    if tensor.external_id < externals:
        graph.values[tensor.external_id] = value
        number = tensor.external_id
    else:
        number = graph.add_value(value)
    ids[tensor.id_out] = number
    if tensor.dq_datatype == Datatype.QINT8:
        ids[tensor.id_out] = _quantize_argument(graph, number)


def _quantize_argument(graph: StockGraph, number: int) -> int:
    """Payloads of 2023 mark an input as quantized row by row; the conversion is not listed."""
    dims = graph.values[number].dims
    quantized = StockValue(Datatype.QDINT8, dims, Storage.WORKSPACE, row_dims=1)
    result = graph.add_value(quantized)
    source = Node(-1, x.XNode(), (), ())
    graph.nodes.append(StockNode(Op.CONVERT_DYNAMIC, [number], [result], source))
    return result


def _define_node(graph: StockGraph, source: Node, ids: dict[int, int]) -> None:
    union = source.xnode.xnode_union
    node = StockNode(
        OPS.get(source.kind, Op.UNKNOWN),
        [ids[operand] for operand in source.inputs],
        [ids[operand] for operand in source.outputs],
        source,
        UNARY_FUNCTIONS.get(source.kind) or BINARY_FUNCTIONS.get(source.kind, Function.OTHER),
        getattr(union, "flags", 0),
        _bounds(source),
    )
    if len(node.inputs) < MIN_INPUTS.get(node.op, 1) or not node.outputs:
        raise FormatError(f"payload: XNNPACK node {source.index} ({source.name}) lacks an operand")
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
    if source.kind in CLAMPED_AFTERWARDS and node.bounds != _UNBOUNDED:
        _append(graph, node, Function.CLAMP, graph.values[node.outputs[0]].datatype)
    elif source.kind is x.XNNFullyConnected and _is_bfloat(graph, node):
        _append(graph, node, Function.CONVERT, Datatype.FP32)


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


def _is_bfloat(graph: StockGraph, node: StockNode) -> bool:
    """True for a layer whose fp32 result the delegate itself converts to bfloat16."""
    values = (*node.inputs[:2], *node.outputs)
    return all(graph.values[value].datatype == Datatype.BF16 for value in values)


def _append(graph: StockGraph, node: StockNode, function: Function, datatype: int) -> None:
    """Puts a unary node behind `node`, with a hidden tensor of the output's shape between."""
    output = graph.values[node.outputs[0]]
    value = StockValue(datatype, output.dims, Storage.WORKSPACE, zero_point=output.zero_point)
    hidden = graph.add_value(value)
    unary = StockNode(Op.UNARY, [hidden], node.outputs, node.source, function)
    node.outputs = [hidden]
    if function is Function.CLAMP:
        unary.bounds, node.bounds = node.bounds, _UNBOUNDED
    graph.nodes.append(unary)
