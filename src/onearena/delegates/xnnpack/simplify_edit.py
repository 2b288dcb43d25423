"""Rewrites of a payload's graph, collected and then applied at once."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace

from onearena.delegates.xnnpack.graph import Graph, Node, index_graph, tensor_of
from onearena.delegates.xnnpack.schema import (
    INVALID_ID,
    XNNQuantizedTensorValue,
    XNNTensorValue,
    XNode,
    XValue,
)


@dataclass
class Edit:
    """What is to change.

    Attributes:
        nodes: by index of a node, what takes its place.
        instead: by value id, the id that nodes name in its place.
        added: new values.
        dims: by value id, another shape.
        readings: by value id, the id that the nodes that are there already read in its place.
    """

    graph: Graph
    nodes: dict[int, tuple[XNode, ...]] = field(default_factory=dict)
    instead: dict[int, int] = field(default_factory=dict)
    added: list[XValue] = field(default_factory=list)
    dims: dict[int, tuple[int, ...]] = field(default_factory=dict)
    readings: dict[int, int] = field(default_factory=dict)

    def add_value(self, like: XValue, dims: tuple[int, ...]) -> int:
        """Adds an internal value of the type of another one; returns its id."""
        identifier = max(self.graph.values, default=-1) + 1 + len(self.added)
        tensor = tensor_of(like)
        assert tensor is not None
        fresh = replace(
            tensor,
            id_out=identifier,
            dims=dims,
            num_dims=len(dims),
            external_id=INVALID_ID,
            flags=0,
        )
        self.added.append(with_tensor(like, fresh))
        return identifier

    def reshape_value(self, value: int, dims: tuple[int, ...]) -> None:
        """Gives a value another shape of as many elements."""
        if dims != self.graph.values[value].dims:
            self.dims[value] = dims

    def read_instead(self, value: int, other: int) -> None:
        """Lets the nodes that read a value read another one; who writes it still does."""
        self.readings[value] = other

    def apply(self, what: str) -> Graph:
        """The graph after the change. Values that no node names any more are dropped."""
        if not self.nodes and not self.instead:
            return self.graph
        final = {value: _last(self.instead, value) for value in self.instead}
        xnodes = tuple(
            renamed(xnode, final)
            for node in self.graph.nodes
            for xnode in self.nodes.get(node.index, (renamed(node.xnode, self.readings),))
        )
        source = replace(self.graph.source, xnodes=xnodes)
        values = (*(reshaped(v, self.dims) for v in source.xvalues or ()), *self.added)
        after = index_graph(replace(source, xvalues=values), what)
        named = {value for node in after.nodes for value in (*node.inputs, *node.outputs)}
        before = {value for node in self.graph.nodes for value in (*node.inputs, *node.outputs)}
        gone = {v for v in before - named if not after.values[v].is_external}
        if not gone:
            return after
        kept = tuple(v for v in values if (t := tensor_of(v)) and t.id_out not in gone)
        return index_graph(replace(source, xvalues=kept), what)


def reshaped(xvalue: XValue, dims: Mapping[int, tuple[int, ...]]) -> XValue:
    """A value with other dimensions, where some are given for its id."""
    tensor = tensor_of(xvalue)
    assert tensor is not None
    if tensor.id_out not in dims:
        return xvalue
    shape = dims[tensor.id_out]
    return with_tensor(xvalue, replace(tensor, dims=shape, num_dims=len(shape)))


def _last(instead: Mapping[int, int], value: int) -> int:
    """The end of a chain of replacements, which has no cycles."""
    while value in instead:
        value = instead[value]
    return value


def renamed(xnode: XNode, instead: Mapping[int, int]) -> XNode:
    """A node that names other values."""
    union = xnode.xnode_union
    assert union is not None
    changes = {
        member.name: instead[getattr(union, member.name)]
        for member in fields(union)
        if member.name.endswith("_id") and getattr(union, member.name) in instead
    }
    if not changes:
        return xnode
    return replace(xnode, xnode_union=replace(union, **changes))  # type: ignore[arg-type]


def with_tensor(xvalue: XValue, tensor: XNNTensorValue) -> XValue:
    """A value with another tensor table; its quantization stays."""
    union = xvalue.xvalue_union
    if isinstance(union, XNNQuantizedTensorValue):
        return XValue(replace(union, tensor_value=tensor))
    return XValue(tensor)


def values_by_id(graph: Graph) -> dict[int, XValue]:
    """The values of the source, by id."""
    return {t.id_out: v for v in graph.source.xvalues or () if (t := tensor_of(v))}


def same_type(first: XValue, second: XValue) -> bool:
    """True for values of one element type with the same quantization parameters."""
    one, other = tensor_of(first), tensor_of(second)
    if one is None or other is None or one.datatype != other.datatype:
        return False
    return _parameters(first) == _parameters(second)


def _parameters(xvalue: XValue) -> object:
    union = xvalue.xvalue_union
    return union.quant_params if isinstance(union, XNNQuantizedTensorValue) else None


def readers(graph: Graph, value: int) -> tuple[Node, ...]:
    """The nodes that read a value."""
    return graph.consumers.get(value, ())
