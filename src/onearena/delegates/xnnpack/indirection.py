"""Pointers to input pixels: kept on the heap for ever, or made in scratch for each run.

A convolution that is not a plain matrix product, and a bilinear resize, read their input through
a table of pointers, 8 bytes per point of the kernel and output pixel. XNNPACK makes it when
shapes become known and keeps it, on the heap, for every operator. A flag of the node
(`XNN_FLAG_TRANSIENT_INDIRECTION_BUFFER` in `xnnpack.h`) makes the operator ask for scratch of that
size instead and fill it in each run. Scratch is shared: a workspace needs as much as the operator
that asks for most, which `workspace.predict_workspace` counts; the heap needs the sum.

Sources in XNNPACK: `src/operators/convolution-nhwc.c`, `src/operators/resize-bilinear-nhwc.c`, and
the flags that `src/subgraph/convolution-2d.c`, `depthwise-convolution-2d.c` and
`static-resize-bilinear-2d.c` let through. Poolings and transposed convolutions have no such flag.
"""

from __future__ import annotations

from dataclasses import replace

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, index_graph
from onearena.delegates.xnnpack.operators import is_pointwise

TRANSIENT_INDIRECTION = 0x20
"""XNN_FLAG_TRANSIENT_INDIRECTION_BUFFER."""


def with_transient_indirection(
    graph: Graph, what: str, only: frozenset[int] | None = None
) -> tuple[Graph, int]:
    """The graph with the flag on every node that knows it, and how many had it not before.

    Results are the same bit for bit: the same pointers lead to the same pixels.

    Args:
        only: of these nodes, by index.

    Raises:
        FormatError: the graph contradicts itself.
    """
    flagged = {
        n.index for n in graph.nodes if (only is None or n.index in only) and _is_unflagged(n)
    }
    if not flagged:
        return graph, 0
    xnodes = tuple(_flagged(n) if n.index in flagged else n.xnode for n in graph.nodes)
    return index_graph(replace(graph.source, xnodes=xnodes), what), len(flagged)


def _is_unflagged(node: Node) -> bool:
    return _has_pointers(node) and not _flags(node) & TRANSIENT_INDIRECTION


def _has_pointers(node: Node) -> bool:
    """True for nodes that take the flag. A pointwise convolution runs as a fully connected layer,
    which has no pointers and refuses flags that it does not know."""
    union = node.xnode.xnode_union
    if isinstance(union, x.XNNConv2d):
        return not is_pointwise(union)
    return isinstance(union, x.XNNDepthwiseConv2d | x.XNNStaticResizeBilinear2D)


def _flags(node: Node) -> int:
    flags: int = getattr(node.xnode.xnode_union, "flags", 0)
    return flags


def _flagged(node: Node) -> x.XNode:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNConv2d | x.XNNDepthwiseConv2d | x.XNNStaticResizeBilinear2D)
    return replace(
        node.xnode, xnode_union=replace(union, flags=union.flags | TRANSIENT_INDIRECTION)
    )
