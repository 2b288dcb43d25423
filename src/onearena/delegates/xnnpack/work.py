"""How much a node computes, roughly: multiplications, or elements where there are none."""

from __future__ import annotations

from math import prod

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node
from onearena.delegates.xnnpack.operators import SAME_BYTES

_ELEMENT = 4
"""What an element that is only read and written counts, in multiplications."""
MOST_WORK = 1 << 62
"""No row takes more: what a corrupt payload says may be no number of floating point."""
POINTER_BYTES = 8
POINTER_WORK = 80
"""What a pointer to a pixel counts that is made anew in each run. Measured: U²-Net makes 10.3
million in a run of 20.5 thousand million multiplications, which then takes 3 to 6 % longer."""


def graph_work(graph: Graph) -> int:
    """Of all nodes together."""
    return sum(row_work(graph, node) * _rows(graph, node) for node in graph.nodes)


def row_work(graph: Graph, node: Node) -> int:
    """Of one row of a node's output; of all of it when it has no rows."""
    dims = graph.values[node.outputs[0]].dims
    elements = prod(dims) // _rows(graph, node)
    each = 1 if node.kind in SAME_BYTES else _ELEMENT + _products(graph, node)
    return min(elements * each, MOST_WORK)


def _rows(graph: Graph, node: Node) -> int:
    dims = graph.values[node.outputs[0]].dims
    return max(1, next((size for size in dims[:-1] if size != 1), 1))


def _products(graph: Graph, node: Node) -> int:
    """Multiplications for each element of the output."""
    union = node.xnode.xnode_union
    if isinstance(union, x.Convolution):
        return union.kernel_height * union.kernel_width * union.group_input_channels
    if isinstance(union, x.Pooling):
        return union.pooling_height * union.pooling_width
    if isinstance(union, x.XNNFullyConnected | x.XNNBatchMatrixMultiply):
        dims = graph.values[node.inputs[0]].dims
        return dims[-1] if dims else 1
    return 0
