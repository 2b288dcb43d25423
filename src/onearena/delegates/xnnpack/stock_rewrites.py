"""XNNPACK's rewrites of common patterns, repeated until nothing changes.

Source: `xnn_subgraph_optimize_common_subgraphs`, `xnn_subgraph_rewrite_dequant_bmm` and
`xnn_subgraph_optimize_packed_lhs` in `src/subgraph.c` of XNNPACK. Left out are rewrites of
node types that ExecuTorch's schema does not have (static broadcast, sum, expand dims).
"""

from __future__ import annotations

from collections.abc import Callable
from math import inf, prod

from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.stock_graph import (
    NONE,
    TRANSPOSE_WEIGHTS,
    StockGraph,
    StockNode,
    StockValue,
    Storage,
)
from onearena.delegates.xnnpack.stock_ops import Function, Op
from onearena.delegates.xnnpack.stock_passes import clean_up

_CLAMPING = frozenset(
    {
        Op.AVERAGE_POOLING,
        Op.CONVOLUTION,
        Op.DECONVOLUTION,
        Op.DEPTHWISE_CONVOLUTION,
        Op.FULLY_CONNECTED,
        Op.MAX_POOLING,
    }
)
"""Nodes that clamp their output themselves, so that a clamp behind them can go."""


def rewrite_common(graph: StockGraph) -> None:
    """Applies the rewrites, round after round."""
    for value in graph.values:
        value.has_static_shape |= value.storage is Storage.CONSTANT
    while _round(graph):
        clean_up(graph)


def _round(graph: StockGraph) -> bool:
    """One pass over the nodes; True when something changed."""
    changed = False
    for index in range(len(graph.nodes)):
        node = graph.nodes[index]
        if node is None:
            continue
        if node.op in (Op.UNARY, Op.BINARY):
            _infer_static_shape(graph, node)
        for rule in _RULES.get(node.op, ()):
            changed |= rule(graph, index, node)
            if graph.nodes[index] is not node:
                break
    return changed


def _infer_static_shape(graph: StockGraph, node: StockNode) -> None:
    """An element-wise node's output has a known shape when its operands have."""
    if all(graph.values[operand].has_static_shape for operand in node.inputs):
        graph.values[node.outputs[0]].has_static_shape = True


def _square(graph: StockGraph, index: int, node: StockNode) -> bool:
    """x·x becomes x²."""
    if node.function is not Function.MULTIPLY or node.inputs[0] != node.inputs[1]:
        return False
    node.op, node.function, node.inputs = Op.UNARY, Function.SQUARE, node.inputs[:1]
    return True


def _limit_to_clamp(graph: StockGraph, index: int, node: StockNode) -> bool:
    """Minimum or maximum with a constant scalar of no higher rank becomes a clamp."""
    if node.function not in (Function.MINIMUM, Function.MAXIMUM):
        return False
    tensor, scalar = node.inputs
    if graph.values[tensor].is_scalar_constant and not graph.values[scalar].is_scalar_constant:
        tensor, scalar = scalar, tensor
    limit = graph.values[scalar]
    if not limit.is_scalar_constant or len(limit.dims) > len(graph.values[tensor].dims):
        return False
    node.op, node.function, node.inputs = Op.UNARY, Function.CLAMP, [tensor]
    node.bounds = (0.0, inf)  # the limit itself is among the constants; that there is one counts
    return True


def _merge_clamp(graph: StockGraph, index: int, node: StockNode) -> bool:
    """A clamp goes into the node before it, if that one clamps and nobody else reads it."""
    if not node.is_clamp or graph.values[node.inputs[0]].consumers > 1:
        return False
    producer = graph.producer(node.inputs[0])
    if producer is None or not (producer.is_clamp or producer.op in _CLAMPING):
        return False
    low, high = producer.bounds
    producer.bounds = (
        min(max(low, node.bounds[0]), node.bounds[1]),
        min(max(high, node.bounds[0]), node.bounds[1]),
    )
    producer.outputs[0] = node.outputs[0]
    graph.nodes[index] = None
    return True


def _drop_unbounded_clamp(graph: StockGraph, index: int, node: StockNode) -> bool:
    if not node.is_clamp or node.bounds != (-inf, inf):
        return False
    if _short_circuit(graph, node.inputs[0], node.outputs[0]):
        graph.nodes[index] = None
    else:
        node.op, node.function = Op.COPY, Function.OTHER
    return True


def _short_circuit(graph: StockGraph, source: int, result: int) -> bool:
    """Makes the readers of `result` read `source`, or lets `source`'s producer write `result`
    if that is an external output; True when any operand changed."""
    changed = False
    if graph.values[result].is_output:
        producer = graph.producer(source)
        if graph.values[source].is_output or producer is None:
            return False
        changed = source in producer.outputs
        producer.outputs = [result if output == source else output for output in producer.outputs]
        graph.values[result].producer = graph.values[source].producer
        source, result = result, source
    kept = graph.values[source]
    kept.consumers -= 1
    kept.first_consumer = NONE
    for index, node in enumerate(graph.nodes):
        if node is None:
            continue
        if result in node.inputs:
            kept.consumers += source not in node.inputs
            node.inputs = [source if operand == result else operand for operand in node.inputs]
            changed = True
        if source in node.inputs and kept.first_consumer == NONE:
            kept.first_consumer = index
    return changed


def _mean_of_square(graph: StockGraph, index: int, node: StockNode) -> bool:
    """The mean of a square reads the square's operand; who else reads the square is not asked."""
    producer = graph.producer(node.inputs[0])
    if node.op is not Op.MEAN or producer is None or producer.function is not Function.SQUARE:
        return False
    if graph.values[node.inputs[0]].datatype not in (Datatype.FP32, Datatype.FP16):
        return False
    node.op, node.inputs = Op.MEAN_SQUARED, producer.inputs[:1]
    return True


def _merge_reshape(graph: StockGraph, index: int, node: StockNode) -> bool:
    """Reshape of a reshape becomes one, if nobody else reads the first."""
    if prod(node.shape) == 0:
        return False
    graph.values[node.outputs[0]].has_static_shape = True
    middle = graph.values[node.inputs[0]]
    producer = graph.producer(node.inputs[0])
    if producer is None or middle.consumers != 1 or producer.op is not Op.RESHAPE:
        return False
    removed = middle.producer
    node.inputs = producer.inputs[:1]
    source = graph.values[node.inputs[0]]
    if source.first_consumer == removed:
        source.first_consumer = index
    graph.nodes[removed] = None
    return True


def _drop_reshape(graph: StockGraph, index: int, node: StockNode) -> bool:
    """A reshape of a constant, or to the same shape, goes."""
    source, result = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    if prod(node.shape) == 0 or not source.has_static_shape:
        return False
    if source.consumers > 1 or result.is_output:
        return False
    if source.storage is Storage.CONSTANT:
        source.dims = node.shape
    elif source.dims != node.shape:
        return False
    graph.nodes[index] = None
    return _short_circuit(graph, node.inputs[0], node.outputs[0])


def _transposed_operand(graph: StockGraph, index: int, node: StockNode) -> bool:
    """A transpose of a matrix product's right operand is dropped, or flipped so that the
    product can use its faster packing."""
    number = node.inputs[1]
    value, transpose = graph.values[number], graph.producer(number)
    if transpose is None or transpose.op is not Op.TRANSPOSE or value.consumers != 1:
        return False
    dims = graph.values[transpose.inputs[0]].dims
    if len(dims) < 2 or sorted(transpose.perm) != list(range(len(dims))):
        return False  # XNNPACK refuses to run it
    packs_slowly = bool(node.flags & TRANSPOSE_WEIGHTS) == (node.op is Op.FULLY_CONNECTED)
    perm = transpose.perm
    flipped = (*perm[:-2], perm[-1], perm[-2])
    if flipped == tuple(range(len(perm))):
        node.inputs[1] = transpose.inputs[0]
    elif packs_slowly:
        transpose.perm = flipped
        value.dims = tuple(dims[axis] for axis in flipped)
    else:
        return False
    node.flags ^= TRANSPOSE_WEIGHTS
    return True


_Rule = Callable[[StockGraph, int, StockNode], bool]
_RULES: dict[Op, tuple[_Rule, ...]] = {
    Op.BINARY: (_square, _limit_to_clamp),
    Op.UNARY: (_merge_clamp, _drop_unbounded_clamp),
    Op.MEAN: (_mean_of_square,),
    Op.RESHAPE: (_merge_reshape, _drop_reshape),
    Op.FULLY_CONNECTED: (_transposed_operand,),
    Op.BATCH_MATRIX_MULTIPLY: (_transposed_operand,),
}


def rewrite_dequantized_operands(graph: StockGraph) -> None:
    """An int8 right operand that is dequantized for a batch matrix product becomes channel-wise
    int8 instead. The new node is appended, so the graph is sorted again."""
    found = [
        node
        for node in graph.nodes
        if node is not None and node.op is Op.BATCH_MATRIX_MULTIPLY and _is_dequantized(graph, node)
    ]
    for node in found:
        dequantize = graph.producer(node.inputs[1])
        assert dequantize is not None
        quantized = graph.values[dequantize.inputs[0]]
        result = graph.add_value(StockValue(Datatype.QCINT8, quantized.dims, Storage.WORKSPACE))
        graph.nodes.append(
            StockNode(Op.CONVERT_DYNAMIC, dequantize.inputs[:1], [result], dequantize.source)
        )
        node.inputs[1] = result
    if found:
        clean_up(graph)


def _is_dequantized(graph: StockGraph, product: StockNode) -> bool:
    number = product.inputs[1]
    operand, producer = graph.values[number], graph.producer(number)
    if producer is None or producer.function is not Function.CONVERT or operand.consumers != 1:
        return False
    source = graph.values[producer.inputs[0]]
    values = [graph.values[v] for v in (*product.inputs, *product.outputs)]
    return (
        all(value.datatype == Datatype.FP32 for value in values)
        and source.datatype == Datatype.QINT8
        and source.zero_point == 0
        and min(len(source.dims), len(values[0].dims)) >= 2
    )


def inline_quantization(graph: StockGraph) -> None:
    """Matrix products quantize their left operand themselves, in scratch, from the float value."""
    changed = False
    for node in graph.nodes:
        if node is None or node.op not in (Op.FULLY_CONNECTED, Op.BATCH_MATRIX_MULTIPLY):
            continue
        quantized = graph.values[node.inputs[0]]
        convert = graph.producer(node.inputs[0])
        if quantized.datatype != Datatype.QDINT8 or convert is None:
            continue
        node.inputs[0] = convert.inputs[0]
        node.packs_input = True
        quantized.consumers -= 1
        if quantized.consumers == 0:
            graph.nodes[quantized.producer] = None
        changed = True
    if changed:
        clean_up(graph)
