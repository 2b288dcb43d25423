"""Nodes of a payload that move as one: their link stays internal, so XNNPACK may merge them."""

from __future__ import annotations

from collections.abc import Mapping
from heapq import heapify, heappop, heappush

from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.rules import Link


def node_units(graph: Graph, kept: Mapping[int, Link]) -> list[list[int]]:
    """Indices of the nodes, joined across links that stay internal, in an order in which the units
    can run one after another; all nodes as one unit when there is no such order."""
    members = _joined(graph, kept)
    unit_of = {node: number for number, unit in enumerate(members) for node in unit}
    behind: list[set[int]] = [set() for _ in members]
    waits = [0] * len(members)
    for node in graph.nodes:
        unit = unit_of[node.index]
        for value in node.inputs:
            producer = graph.producer.get(value)
            other = unit_of[producer.index] if producer is not None else unit
            if other != unit and unit not in behind[other]:
                behind[other].add(unit)
                waits[unit] += 1
    ready = [(unit[-1], number) for number, unit in enumerate(members) if not waits[number]]
    heapify(ready)
    order: list[list[int]] = []
    while ready:
        _, number = heappop(ready)
        order.append(members[number])
        for other in behind[number]:
            waits[other] -= 1
            if not waits[other]:
                heappush(ready, (members[other][-1], other))
    return order if len(order) == len(members) else [list(range(len(graph.nodes)))]


def _joined(graph: Graph, kept: Mapping[int, Link]) -> list[list[int]]:
    parent = list(range(len(graph.nodes)))

    def find(index: int) -> int:
        while parent[index] != index:
            parent[index] = parent[parent[index]]
            index = parent[index]
        return index

    for value in kept:
        producer = graph.producer[value].index
        for consumer in graph.consumers.get(value, ()):
            parent[find(producer)] = find(consumer.index)
    members: dict[int, list[int]] = {}
    for index in range(len(graph.nodes)):
        members.setdefault(find(index), []).append(index)
    return list(members.values())
