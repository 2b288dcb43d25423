"""Reorders the nodes of an opened payload so that less is alive at once.

XNNPACK runs the nodes of a payload in list order, so the list is the schedule. Nodes that it
may merge (their link stays internal) move as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onearena.delegates.xnnpack.graph import index_graph
from onearena.delegates.xnnpack.opening import OpenedPayload
from onearena.delegates.xnnpack.units import node_units
from onearena.ordering import Operation, Sizes, lower_live_bytes


def schedule_payload(
    payload: OpenedPayload, persistent: frozenset[int], what: str
) -> OpenedPayload:
    """The payload with its nodes reordered; the same object when nothing moves.

    Args:
        persistent: external positions that stay alive after the call in any case.
    """
    graph = payload.graph
    units = node_units(graph, payload.kept)
    operations = [_operation(payload, unit) for unit in units]
    kept = {
        value.id
        for value in graph.values.values()
        if value.is_external
        and (value.tensor.external_id in persistent or _is_original_output(payload, value.id))
    }
    sizes = Sizes(
        {v.id: v.size_bytes or 0 for v in graph.values.values() if v.is_external}, frozenset(kept)
    )
    order = lower_live_bytes(operations, sizes)
    return with_node_order(payload, [index for k in order for index in units[k]], what)


def with_node_order(payload: OpenedPayload, order: Sequence[int], what: str) -> OpenedPayload:
    """The payload with its nodes in another order (`order[new] = old`); the same object when that
    is the order they have."""
    graph = payload.graph
    if list(order) == list(range(len(graph.nodes))):
        return payload
    source = replace(graph.source, xnodes=tuple(graph.nodes[k].xnode for k in order))
    return replace(payload, graph=index_graph(source, what))


def _is_original_output(payload: OpenedPayload, value: int) -> bool:
    written = value in payload.graph.producer or value in payload.in_parts
    return written and value not in payload.opened


def _operation(payload: OpenedPayload, unit: list[int]) -> Operation:
    """Touching a piece of a value is touching the value."""
    graph, pieces = payload.graph, payload.pieces
    reads: set[int] = set()
    writes: set[int] = set()
    for index in unit:
        node = graph.nodes[index]
        used = (v for v in node.inputs if not graph.values[v].is_constant)
        reads.update(pieces[v].whole if v in pieces else v for v in used)
        writes.update(pieces[v].whole if v in pieces else v for v in node.outputs)
    strips = payload.strips
    in_strips = strips is not None and any(
        v in strips.parts for index in unit for v in graph.nodes[index].outputs
    )
    return Operation(frozenset(reads - writes), frozenset(writes), not in_strips)
