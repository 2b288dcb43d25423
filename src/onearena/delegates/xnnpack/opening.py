"""Opening a payload: inner activations become outputs of the delegate call.

An internal value becomes an external output when it gets an `external_id`, the output flag
and a place in `output_ids`, `num_externs` grows, and a tensor is appended to the arguments
of the call. The stock delegate then writes it where that tensor lives, in the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields, replace

from onearena.delegates.xnnpack.graph import Graph, Node, index_graph, tensor_of
from onearena.delegates.xnnpack.rules import (
    CLAMPED_BINARY,
    Link,
    closed_reason,
    has_bounds,
    kept_internal,
)
from onearena.delegates.xnnpack.schema import (
    EXTERNAL_OUTPUT,
    INVALID_ID,
    MAX_EXTERNALS,
    Node2x1,
    XNNClamp,
    XNNGraph,
    XNNQuantizedTensorValue,
    XNNStaticConstantPad,
    XNNTensorValue,
    XNode,
    XValue,
)


@dataclass(frozen=True)
class OpenedPayload:
    """A payload after opening, with what its lifetimes need.

    Attributes:
        graph: the rewritten graph, indexed.
        opened: ids of the values that became arguments, in argument order.
        kept: the activations that stay in XNNPACK's workspace, each with the reason.
        split_clamps: number of hidden tensors that were made visible.
        useless_pads: number of pads by nothing that were dropped.
    """

    graph: Graph
    opened: tuple[int, ...]
    kept: Mapping[int, Link]
    split_clamps: int
    useless_pads: int


def open_payload(source: XNNGraph, what: str) -> OpenedPayload | str:
    """Opens every value that can be opened; returns the reason when none may be.

    Raises:
        FormatError: the graph contradicts itself.
    """
    graph = index_graph(source, what)
    reason = closed_reason(graph) or _bad_externals(graph)
    if reason is not None:
        return reason
    padless, useless_pads = _without_useless_pads(graph, what)
    split, split_clamps = _split_clamps(padless, what)
    kept = dict(kept_internal(split))
    candidates = [
        value
        for node in split.nodes
        for value in node.outputs
        if split.values[value].is_internal and value not in kept
    ]
    room = MAX_EXTERNALS - split.source.num_externs
    if len(candidates) > room:
        largest = sorted(candidates, key=lambda v: -(split.values[v].size_bytes or 0))[:room]
        kept.update((v, Link.LIMIT) for v in candidates if v not in set(largest))
        candidates = [v for v in candidates if v not in kept]
    opened = index_graph(_externalise(split.source, candidates), what)
    return OpenedPayload(opened, tuple(candidates), kept, split_clamps, useless_pads)


def _bad_externals(graph: Graph) -> str | None:
    positions = sorted(v.tensor.external_id for v in graph.values.values() if v.is_external)
    if positions != list(range(graph.source.num_externs)):
        return "arguments that are numbered with gaps"
    return None


def _externalise(source: XNNGraph, opened: Sequence[int]) -> XNNGraph:
    positions = {value: source.num_externs + i for i, value in enumerate(opened)}
    values = tuple(_with_position(xvalue, positions) for xvalue in source.xvalues or ())
    return replace(
        source,
        xvalues=values,
        num_externs=source.num_externs + len(opened),
        output_ids=(*(source.output_ids or ()), *opened),
    )


def _with_position(xvalue: XValue, positions: Mapping[int, int]) -> XValue:
    tensor = tensor_of(xvalue)
    assert tensor is not None
    position = positions.get(tensor.id_out)
    if position is None:
        return xvalue
    return _with_tensor(
        xvalue, replace(tensor, external_id=position, flags=tensor.flags | EXTERNAL_OUTPUT)
    )


def _with_tensor(xvalue: XValue, tensor: XNNTensorValue) -> XValue:
    union = xvalue.xvalue_union
    if isinstance(union, XNNQuantizedTensorValue):
        return XValue(replace(union, tensor_value=tensor))
    return XValue(tensor)


def _without_useless_pads(graph: Graph, what: str) -> tuple[Graph, int]:
    """Drops pads by zero everywhere; their readers read what was padded.

    Some exporters write one before every 1x1 convolution, and XNNPACK really copies the
    bytes. A pad whose output is an argument of the call stays.
    """
    instead: dict[int, int] = {}
    for node in graph.nodes:
        if _is_useless_pad(node) and graph.values[node.outputs[0]].is_internal:
            instead[node.outputs[0]] = instead.get(node.inputs[0], node.inputs[0])
    if not instead:
        return graph, 0
    nodes = tuple(
        _renamed(node.xnode, instead) for node in graph.nodes if node.outputs[0] not in instead
    )
    values = tuple(
        v for v in graph.source.xvalues or () if (t := tensor_of(v)) and t.id_out not in instead
    )
    return index_graph(replace(graph.source, xnodes=nodes, xvalues=values), what), len(instead)


def _is_useless_pad(node: Node) -> bool:
    union = node.xnode.xnode_union
    return isinstance(union, XNNStaticConstantPad) and not (
        any(union.pre_paddings or ()) or any(union.post_paddings or ())
    )


def _renamed(xnode: XNode, instead: Mapping[int, int]) -> XNode:
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


def _split_clamps(graph: Graph, what: str) -> tuple[Graph, int]:
    """Writes op + clamp for binaries with bounds: XNNPACK would do the same with a tensor of
    its own, which nobody else could plan (`xnn_insert_clamp_node`)."""
    hidden = [n for n in graph.nodes if n.kind in CLAMPED_BINARY and has_bounds(n)]
    if not hidden:
        return graph, 0
    fresh = {node.index: max(graph.values) + 1 + i for i, node in enumerate(hidden)}
    by_id = {t.id_out: v for v in graph.source.xvalues or () if (t := tensor_of(v))}
    nodes: list[XNode] = []
    for node in graph.nodes:
        nodes.extend(_split(node, fresh[node.index]) if node.index in fresh else (node.xnode,))
    values = list(graph.source.xvalues or ())
    values += [_hidden_value(by_id[n.outputs[0]], fresh[n.index]) for n in hidden]
    source = replace(graph.source, xnodes=tuple(nodes), xvalues=tuple(values))
    return index_graph(source, what), len(hidden)


def _split(node: Node, hidden: int) -> tuple[XNode, XNode]:
    union = node.xnode.xnode_union
    assert isinstance(union, Node2x1)
    unbounded = replace(
        node.xnode, xnode_union=replace(union, output_id=hidden), output_min_max=None
    )
    clamp = replace(node.xnode, xnode_union=XNNClamp(hidden, union.output_id, 0))
    return unbounded, clamp


def _hidden_value(output: XValue, identifier: int) -> XValue:
    tensor = tensor_of(output)
    assert tensor is not None
    return _with_tensor(output, replace(tensor, external_id=INVALID_ID, flags=0, id_out=identifier))
