"""Chains of element-wise nodes between 8-bit values, which XNNPACK turns into one table."""

from __future__ import annotations

from onearena.delegates.xnnpack.graph import Graph, Node, Value
from onearena.delegates.xnnpack.operators import BINARY, EIGHT_BIT_TYPES, UNARY, is_scalar_constant

_MAX_TABLE_NODES = 10
"""XNN_MAX_UNARY_FUSION_NODES."""


def starts_lookup(graph: Graph, node: Node) -> bool:
    """True when XNNPACK, which makes tables first, takes the node into one with what follows."""
    output = graph.values[node.outputs[0]]
    readers = graph.consumers.get(output.id, ())
    if not output.is_internal or len(readers) != 1:
        return False
    return is_lookup_link(graph, output, node, readers[0])


def is_lookup_link(graph: Graph, value: Value, producer: Node, consumer: Node) -> bool:
    """True for a value inside such a chain, between two of its nodes."""
    if EIGHT_BIT_TYPES.isdisjoint(graph.datatypes):
        return False
    start = _chain_start(graph, producer, _MAX_TABLE_NODES)
    if start is None:
        return False
    node, link = consumer, value.id
    for _ in range(_MAX_TABLE_NODES):
        if _chain_input(graph, node, link, start) is None:
            return False
        output = graph.values[node.outputs[0]]
        if output.tensor.datatype in EIGHT_BIT_TYPES:
            return True
        following = graph.consumers.get(output.id, ())
        if not output.is_internal or len(following) != 1:
            return False
        node, link = following[0], output.id
    return False


def _chain_start(graph: Graph, node: Node, limit: int) -> int | None:
    """The 8-bit value at the start of the element-wise chain that ends with `node`."""
    for remaining in range(limit, 0, -1):
        operand = _pure_input(graph, node)
        if operand is None:
            return _joined_start(graph, node, remaining - 1)
        if graph.values[operand].tensor.datatype in EIGHT_BIT_TYPES:
            return operand
        producer = _link_producer(graph, operand)
        if producer is None:
            return None
        node = producer
    return None


def _joined_start(graph: Graph, node: Node, limit: int) -> int | None:
    """The start of a chain that a binary joins with that very start, as in x / (1 + |x|)."""
    if node.kind in BINARY:
        for link, start in (node.inputs, node.inputs[::-1]):
            producer = _link_producer(graph, link)
            if producer is not None and _chain_start(graph, producer, limit) == start:
                return start
    return None


def _link_producer(graph: Graph, value: int) -> Node | None:
    """The producer of an internal value with one reader."""
    if graph.values[value].is_internal and len(graph.consumers.get(value, ())) == 1:
        return graph.producer.get(value)
    return None


def _pure_input(graph: Graph, node: Node) -> int | None:
    """The tensor operand of a node that maps element by element one tensor to one tensor."""
    if node.kind in UNARY:
        return node.inputs[0]
    if node.kind in BINARY:
        first, second = node.inputs
        if is_scalar_constant(graph.values[first]):
            return second
        if is_scalar_constant(graph.values[second]):
            return first
    return None


def _chain_input(graph: Graph, node: Node, link: int, start: int) -> int | None:
    """Like `_pure_input`; a binary may also join the chain with its own start (x / (1 + |x|))."""
    operand = _pure_input(graph, node)
    if operand is None and node.kind in BINARY and set(node.inputs) <= {link, start}:
        return link
    return operand
