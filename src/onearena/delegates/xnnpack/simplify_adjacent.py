"""Which nodes must not become neighbours: XNNPACK might merge them, and round differently."""

from __future__ import annotations

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node
from onearena.delegates.xnnpack.operators import (
    BINARY,
    CLAMPING,
    UNARY,
    has_bounds,
    is_clamp,
    is_square,
)

ELEMENTWISE = UNARY | BINARY
_PRODUCTS = frozenset({x.XNNFullyConnected, x.XNNBatchMatrixMultiply})


def may_merge(graph: Graph, first: Node, second: Node) -> bool:
    """True when XNNPACK may treat `second` in another way once it reads what `first` writes.

    Covers, without asking for the exact conditions: tables for chains of element-wise nodes, the
    mean of a square, clamps that go into the node before them, padding that goes into a
    convolution, and conversions that matrix products take over (see `rules`).
    """
    if first.kind in ELEMENTWISE and second.kind in ELEMENTWISE:
        return True
    if first.kind is x.XNNStaticConstantPad:
        return True
    if first.kind is x.XNNConvert and second.kind in _PRODUCTS:
        return True
    if is_square(first) and second.kind is x.XNNGlobalAvgPooling2d:
        return True
    clamps = first.kind in CLAMPING or has_bounds(first)
    return clamps and is_clamp(graph, second)


def readers_may_merge(graph: Graph, value: int, readers: tuple[Node, ...]) -> bool:
    """True when that is so for any of `readers`, should they read `value` itself."""
    producer = graph.producer.get(value)
    return producer is not None and any(may_merge(graph, producer, node) for node in readers)
