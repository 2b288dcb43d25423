"""XNNPACK's fusion of 8-bit element-wise chains into one table look-up.

Source: `xnn_subgraph_fuse_unary_quantized_into_lut` in `src/subgraph.c` of XNNPACK.
"""

from __future__ import annotations

from collections.abc import Collection

from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.stock_graph import NONE, StockGraph, StockNode, StockValue, Storage
from onearena.delegates.xnnpack.stock_ops import Function, Op
from onearena.delegates.xnnpack.stock_passes import clear

EIGHT_BIT = frozenset({Datatype.QINT8, Datatype.QUINT8})
_MAX_NODES = 10


def fuse_tables(graph: StockGraph) -> None:
    """Replaces every chain of at least two nodes by one node, at the place of the last."""
    for index in range(len(graph.nodes)):
        node = graph.nodes[index]
        operand = None if node is None else _tensor_operand(graph, node, ())
        if operand is None or graph.values[operand].datatype not in EIGHT_BIT:
            continue
        chain = _chain(graph, index)
        if len(chain) > 1:
            _replace(graph, chain, operand)


def _tensor_operand(graph: StockGraph, node: StockNode, chained: Collection[int]) -> int | None:
    """The tensor a node maps element by element, or None if it reads anything else."""
    if node.op is Op.UNARY:
        is_plain = node.function is not Function.TABLE
        return node.inputs[0] if is_plain else None
    if node.op is not Op.BINARY:
        return None
    first, second = node.inputs
    if _is_scalar(graph, first) and graph.values[second].storage is not Storage.CONSTANT:
        return second
    if _is_scalar(graph, second) and graph.values[first].storage is not Storage.CONSTANT:
        return first
    return first if first in chained and second in chained else None


def _is_scalar(graph: StockGraph, number: int) -> bool:
    value = graph.values[number]
    return value.is_scalar_constant and not value.is_input and value.producer == NONE


def _chain(graph: StockGraph, start: int) -> list[int]:
    """Node indices of the longest chain from `start` that ends with an 8-bit value."""
    chain: list[int] = []
    seen: set[int] = set()
    index, following = start, graph.nodes[start]
    while following is not None:
        chain.append(index)
        seen.update(following.inputs, following.outputs)
        output = graph.values[following.outputs[0]]
        if output.consumers != 1 or output.first_consumer == NONE or len(chain) == _MAX_NODES:
            break
        index = output.first_consumer
        following = graph.nodes[index]
        if following is None or index in chain or _tensor_operand(graph, following, seen) is None:
            break
    while len(chain) > 1 and not _ends_in_eight_bits(graph, chain[-1]):
        chain.pop()
    return chain


def _ends_in_eight_bits(graph: StockGraph, index: int) -> bool:
    node = graph.nodes[index]
    return node is not None and graph.values[node.outputs[0]].datatype in EIGHT_BIT


def _replace(graph: StockGraph, chain: list[int], operand: int) -> None:
    last = graph.nodes[chain[-1]]
    assert last is not None
    for index in chain[:-1]:
        node = graph.nodes[index]
        assert node is not None
        clear(graph.values[node.outputs[0]])
        graph.nodes[index] = None
    table = graph.add_value(StockValue(Datatype.QUINT8, (256,), Storage.CONSTANT))
    last.op, last.function, last.inputs = Op.UNARY, Function.TABLE, [operand, table]
