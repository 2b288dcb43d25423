"""Names for what values hold, the same before and after chains of layout changes are shortened.

A value with its source's elements in their order has the source's name, however it came about.
One with them in another order has the name of the first value on the way that had them so, and
the passes let the transpose that they leave write a value of that name. So a rewrite can be
checked against names.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, Value
from onearena.delegates.xnnpack.operators import SAME_BYTES
from onearena.delegates.xnnpack.simplify_layout import Layout


@dataclass(frozen=True)
class _Way:
    """How a value came about: its layout, and by order of elements the first value that had it."""

    layout: Layout
    orders: Mapping[tuple[tuple[int, int], ...], int]

    @staticmethod
    def starting_at(dims: tuple[int, ...], name: int) -> _Way:
        layout = Layout.of(dims)
        return _Way(layout, {layout.runs: name})


def content_names(graph: Graph, is_static: bool) -> Mapping[int, int]:
    """By value, the id of the value that it holds the bytes of, which may be itself.

    Args:
        is_static: shapes are at run time what the payload declares. Else orders are not followed
            through reshapes.
    """
    ways: dict[int, _Way] = {}
    names = {value: value for value in graph.values}
    for node in graph.nodes:
        if len(node.inputs) != 1 or len(node.outputs) != 1:
            continue
        source, target = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
        if not _keeps_elements(node, source, target):
            continue
        way = ways.get(source.id) or _Way.starting_at(source.dims, source.id)
        layout = _after(way.layout, node, target, is_static)
        if layout is None:
            way = _Way.starting_at(target.dims, names[source.id])
        else:
            way = _Way(layout, {layout.runs: target.id, **way.orders})
        ways[target.id] = way
        names[target.id] = way.orders[way.layout.runs]
    return names


def original(graph: Graph, names: Mapping[int, int], node: Node) -> tuple[int, ...]:
    """The values that hold just what a node writes, if it only changes the layout: its operand,
    or what that came from, the nearest first."""
    found: list[int] = []
    wanted = names[node.outputs[0]]
    current: Node | None = node
    while current is not None and may_keep_elements(current):
        operand = current.inputs[0]
        if names[operand] == wanted:
            found.append(operand)
        current = graph.producer.get(operand)
    return tuple(found)


def may_keep_elements(node: Node) -> bool:
    """Whether a node is of a kind that can change nothing but the order of elements."""
    return node.kind in SAME_BYTES | {x.XNNStaticTranspose, x.XNNStaticConstantPad}


def _keeps_elements(node: Node, source: Value, target: Value) -> bool:
    """True for a node whose result has its operand's elements, all of them, as they are."""
    if not may_keep_elements(node):
        return False
    if source.size_bytes is None or source.size_bytes != target.size_bytes:
        return False
    if 0 in source.dims or source.tensor.datatype != target.tensor.datatype:
        return False
    union = node.xnode.xnode_union
    if isinstance(union, x.XNNStaticTranspose):
        perm = union.perm or ()
        is_permutation = sorted(perm) == list(range(len(source.dims)))
        return is_permutation and tuple(source.dims[axis] for axis in perm) == target.dims
    if isinstance(union, x.XNNStaticConstantPad):
        return not any(union.pre_paddings or ()) and not any(union.post_paddings or ())
    return True


def _after(layout: Layout, node: Node, target: Value, is_static: bool) -> Layout | None:
    union = node.xnode.xnode_union
    if isinstance(union, x.XNNStaticTranspose):
        return layout.transposed(union.perm or ())
    if layout.dims == target.dims:
        return layout
    return layout.reshaped(target.dims) if is_static else None
