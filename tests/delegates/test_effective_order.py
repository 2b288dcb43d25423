"""Lifetimes inside a call hold whichever of its rewrites XNNPACK applies."""

from __future__ import annotations

from hypothesis import assume, given, settings

from onearena.delegates.xnnpack.call import XnnpackCall, understand_call
from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.opening import open_payload
from onearena.delegates.xnnpack.rules import closed_reason
from tests.delegates.nets import Net
from tests.delegates.random_nets import random_nets
from tests.delegates.rewrites import possible_lists


def _uncovered(call: XnnpackCall) -> list[str]:
    """Reads and writes of external values at moments that the effective order does not cover."""
    graph, order = call.graph, call.order
    last = dict.fromkeys(graph.values, -1)
    first = dict.fromkeys(graph.values, len(graph.nodes))
    for node in graph.nodes:
        for v in node.inputs:
            last[v] = max(last[v], node.index, order.read_until[node.index])
        for v in node.outputs:
            first[v] = min(first[v], node.index, order.write_from[node.index])
    found = []
    for ops in possible_lists(graph):
        for op in ops:
            for v in op.inputs:
                if _is_external(graph, v) and op.at > last[v]:
                    found.append(f"value {v} is read at {op.at}, covered to {last[v]}: {ops}")
            if _is_external(graph, op.output) and op.at < first[op.output]:
                at, covered = op.at, first[op.output]
                found.append(f"value {op.output} is written at {at}, covered from {covered}: {ops}")
    return found


def _is_external(graph: Graph, value: int) -> bool:
    return value in graph.values and graph.values[value].is_external


@given(random_nets())
@settings(max_examples=300)
def test_a_call_as_it_stands(net: Net) -> None:
    graph = net.index()
    assume(closed_reason(graph) is None)
    count = graph.source.num_externs
    assert _uncovered(understand_call(graph, tuple(range(count)), False)) == []


@given(random_nets())
@settings(max_examples=300)
def test_an_opened_call(net: Net) -> None:
    opened = open_payload(net.graph(), "net")
    assume(not isinstance(opened, str))
    assert not isinstance(opened, str)
    count = opened.graph.source.num_externs
    call = XnnpackCall(opened.graph, opened.kept, tuple(range(count)), False)
    assert _uncovered(call) == []
