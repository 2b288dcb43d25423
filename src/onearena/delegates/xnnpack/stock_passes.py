"""XNNPACK's bookkeeping and its first fusions: dead values, order, padding, copies.

Source: `src/subgraph.c` of XNNPACK (`xnn_subgraph_analyze_consumers_and_producers`,
`xnn_subgraph_clean_up`, `xnn_subgraph_fusion`).
"""

from __future__ import annotations

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.stock_graph import (
    NONE,
    SAME_PADDING,
    StockGraph,
    StockNode,
    StockValue,
)
from onearena.delegates.xnnpack.stock_ops import Op


def analyze(graph: StockGraph) -> None:
    """Counts consumers anew. A node counts once even if it reads a value twice; an external
    output counts as one consumer more, an external input does not."""
    for value in graph.values:
        value.producer = value.first_consumer = NONE
        value.consumers = 1 if value.is_output else 0
    for index, node in enumerate(graph.nodes):
        if node is None:
            continue
        for operand in dict.fromkeys(node.inputs):
            value = graph.values[operand]
            value.consumers += 1
            if value.first_consumer == NONE:
                value.first_consumer = index
        for output in node.outputs:
            graph.values[output].producer = index


def clear(value: StockValue) -> None:
    """Removes a value."""
    value.is_valid = False
    value.consumers = 0


def clean_up(graph: StockGraph) -> None:
    """Removes what nothing reads, sorts the nodes, counts again."""
    analyze(graph)
    before = graph.nodes
    dead = [v for v, value in enumerate(graph.values) if _is_dead(value)]
    while dead:
        value = graph.values[dead.pop()]
        producer = None if value.producer == NONE else graph.nodes[value.producer]
        clear(value)
        if producer is None or len(producer.outputs) != 1:
            continue
        graph.nodes[value.producer] = None
        for operand in dict.fromkeys(producer.inputs):
            source = graph.values[operand]
            source.consumers -= 1
            if _is_dead(source):
                dead.append(operand)
    _sort(graph)
    if graph.nodes != before:
        analyze(graph)


def _is_dead(value: StockValue) -> bool:
    return value.is_valid and value.consumers == 0 and not value.is_input


def _sort(graph: StockGraph) -> None:
    """Puts every node behind those it reads from. Stable: in each round the nodes that are
    ready move ahead of those that are not."""
    pending = [node for node in graph.nodes if node is not None]
    ready = {v for v, value in enumerate(graph.values) if value.producer == NONE or value.is_input}
    ordered: list[StockNode | None] = []
    while pending:
        waiting: list[StockNode] = []
        for node in pending:
            if all(operand in ready for operand in node.inputs):
                ordered.append(node)
                ready.update(node.outputs)
            else:
                waiting.append(node)
        if len(waiting) == len(pending):  # a cycle: XNNPACK logs it and drops the rest
            break
        pending = waiting
    graph.nodes = ordered


def fuse(graph: StockGraph) -> None:
    """Merges padding into convolutions, and copies into what writes or reads them."""
    for number, value in enumerate(graph.values):
        if value.consumers != 1 or NONE in (value.producer, value.first_consumer):
            continue
        producer = graph.nodes[value.producer]
        consumer = graph.nodes[value.first_consumer]
        if producer is None or consumer is None:
            continue
        if _pad_merges(value, producer, consumer):
            _read_through(graph, number, producer, consumer)
        elif not value.is_internal:
            continue
        elif consumer.op is Op.COPY and _untouched_between(graph, value, consumer.outputs[0]):
            graph.values[consumer.outputs[0]].producer = value.producer
            producer.outputs = [
                consumer.outputs[0] if output == number else output for output in producer.outputs
            ]
            graph.nodes[value.first_consumer] = None
            clear(value)
        elif producer.op is Op.COPY and _untouched_between(graph, value, producer.inputs[0]):
            _read_through(graph, number, producer, consumer)


def _read_through(graph: StockGraph, number: int, producer: StockNode, consumer: StockNode) -> None:
    """Removes value `number` and its producer: the consumer reads the producer's operand."""
    value, source = graph.values[number], graph.values[producer.inputs[0]]
    consumer.inputs[consumer.inputs.index(number)] = producer.inputs[0]
    if source.first_consumer == value.producer:
        source.first_consumer = value.first_consumer
    graph.nodes[value.producer] = None
    clear(value)


def _untouched_between(graph: StockGraph, value: StockValue, other: int) -> bool:
    """True when no node between a value's producer and consumer reads or writes `other`."""
    between = graph.nodes[value.producer + 1 : value.first_consumer]
    return not any(
        node is not None and (other in node.inputs or other in node.outputs) for node in between
    )


def _pad_merges(value: StockValue, pad: StockNode, consumer: StockNode) -> bool:
    """True for padding of height and width only, with what the type calls zero."""
    if pad.op is not Op.PAD or consumer.flags & SAME_PADDING:
        return False
    if consumer.op not in (Op.CONVOLUTION, Op.DEPTHWISE_CONVOLUTION):
        return False
    union = pad.source.xnode.xnode_union
    assert isinstance(union, x.XNNStaticConstantPad)
    edges = [(union.pre_paddings or ())[k : k + 1] for k in (0, 3)]
    edges += [(union.post_paddings or ())[k : k + 1] for k in (0, 3)]
    if len(value.dims) != 4 or any(edge != (0,) for edge in edges):
        return False
    if value.datatype == Datatype.FP32:
        return str(union.padding_value) == "0.0"  # the bits are compared: -0.0 does not count
    # Quantizing 0 gives the zero point; ExecuTorch pads int8 tensors with nothing else.
    is_eight_bit = value.datatype in (Datatype.QINT8, Datatype.QUINT8)
    return is_eight_bit and union.padding_value == 0
