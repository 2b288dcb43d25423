"""Which values of a payload hold the same bytes, because a node only copies them?

A concatenation along an outermost dimension has each operand somewhere inside it, a slice along
one lies inside its operand, a reshape or copy has the bytes of its operand. Shares no code with
what leaves such nodes out.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node

_Link = tuple[int, int, int]
"""(inner, outer, distance): the first value's bytes lie inside the second's, at this distance."""


class Places:
    """The copies in a payload with static shapes."""

    def __init__(self, graph: Graph, types: Mapping[int, tuple[Any, ...]]) -> None:
        """Collects them.

        Args:
            types: by value, its element type and quantization: copies change neither.
        """
        self._graph = graph
        self._outer: dict[int, list[tuple[int, int]]] = {}
        self._inner: dict[int, list[tuple[int, int]]] = {}
        for node in graph.nodes:
            for inner, outer, distance in _links(graph, node):
                if types[inner] == types[outer]:
                    self._outer.setdefault(inner, []).append((outer, distance))
                    self._inner.setdefault(outer, []).append((inner, distance))

    def same_bytes(self, value: int, offset: int, size: int) -> tuple[tuple[int, int], ...]:
        """All (value, offset) whose bytes are the bytes [offset, offset + size) of a value."""
        found = {(value, offset): None}
        pending = [(value, offset)]
        while pending:
            here, start = pending.pop()
            around = [(other, start + d) for other, d in self._outer.get(here, ())]
            around += [(other, start - d) for other, d in self._inner.get(here, ())]
            for other, first in around:
                length = self._graph.values[other].size_bytes or 0
                if (other, first) not in found and first >= 0 and first + size <= length:
                    found[other, first] = None
                    pending.append((other, first))
        return tuple(found)


def _links(graph: Graph, node: Node) -> Iterable[_Link]:
    union: Any = node.xnode.xnode_union
    sizes = [graph.values[v].size_bytes for v in (*node.inputs, *node.outputs)]
    if node.xnode.output_min_max is not None or len(node.outputs) != 1 or not all(sizes):
        return ()
    if isinstance(union, x.Concatenate):
        return _joined(graph, node, union)
    if isinstance(union, x.XNNStaticSlice):
        return _sliced(graph, node, union)
    if isinstance(union, x.XNNStaticReshape | x.XNNCopy) and sizes[0] == sizes[1]:
        return ((node.outputs[0], node.inputs[0], 0),)
    return ()


def _joined(graph: Graph, node: Node, union: x.Concatenate) -> Iterator[_Link]:
    whole = graph.values[node.outputs[0]]
    rank = len(whole.dims)
    axis = union.axis if union.axis < 1 << 31 else union.axis - (1 << 32) + rank
    parts = [graph.values[v].dims for v in node.inputs]
    if not 0 <= axis < rank or any(size != 1 for size in whole.dims[:axis]):
        return
    fits = all(len(p) == rank and _without(p, axis) == _without(whole.dims, axis) for p in parts)
    if not fits or sum(part[axis] for part in parts) != whole.dims[axis]:
        return
    start = 0
    for value in node.inputs:
        yield value, whole.id, start
        start += graph.values[value].size_bytes or 0


def _sliced(graph: Graph, node: Node, union: x.XNNStaticSlice) -> Iterator[_Link]:
    whole, part = (graph.values[v] for v in (node.inputs[0], node.outputs[0]))
    first, sizes = tuple(union.offsets or ()), tuple(union.sizes or ())
    if sizes != part.dims or not len(first) == len(sizes) == len(whole.dims):
        return
    cut = [k for k, size in enumerate(sizes) if size != whole.dims[k] or first[k]]
    if len(cut) > 1 or any(first[k] + sizes[k] > whole.dims[k] for k in cut):
        return
    axis = cut[0] if cut else 0
    if any(size != 1 for size in whole.dims[:axis]):
        return
    yield part.id, whole.id, first[axis] * ((whole.size_bytes or 0) // whole.dims[axis])


def _without(dims: tuple[int, ...], axis: int) -> tuple[int, ...]:
    return dims[:axis] + dims[axis + 1 :]
