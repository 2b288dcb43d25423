"""Reorders the nodes of an opened payload so that less is alive at once.

XNNPACK runs the nodes of a payload in list order, so the list is the schedule. Nodes that it
may merge (their link stays internal) move as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onearena.delegates.xnnpack.graph import Graph, index_graph
from onearena.delegates.xnnpack.opening import OpenedPayload
from onearena.delegates.xnnpack.rules import Link
from onearena.ordering import Operation, Sizes, lower_live_bytes


def schedule_payload(
    payload: OpenedPayload, persistent: frozenset[int], what: str
) -> OpenedPayload:
    """The payload with its nodes reordered; the same object when nothing moves.

    Args:
        persistent: external positions that stay alive after the call in any case.
    """
    graph = payload.graph
    units = _units(graph, payload.kept)
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
    nodes = [graph.nodes[index] for k in order for index in units[k]]
    if [node.index for node in nodes] == list(range(len(nodes))):
        return payload
    source = replace(graph.source, xnodes=tuple(node.xnode for node in nodes))
    return replace(payload, graph=index_graph(source, what))


def _is_original_output(payload: OpenedPayload, value: int) -> bool:
    written = value in payload.graph.producer or value in payload.in_parts
    return written and value not in payload.opened


def _units(graph: Graph, kept: Mapping[int, Link]) -> list[list[int]]:
    """Node indices joined across links that stay internal, ordered by the last node."""
    parent = list(range(len(graph.nodes)))

    def find(index: int) -> int:
        while parent[index] != index:
            index = parent[index]
        return index

    for value in kept:
        producer = graph.producer[value].index
        for consumer in graph.consumers.get(value, ()):
            parent[find(producer)] = find(consumer.index)
    members: dict[int, list[int]] = {}
    for index in range(len(graph.nodes)):
        members.setdefault(find(index), []).append(index)
    return sorted(members.values(), key=lambda unit: unit[-1])


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
