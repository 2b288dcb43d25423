"""How much of a payload is alive at once, estimated without the program around it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from onearena.delegates.xnnpack.graph import Node
from onearena.delegates.xnnpack.rules import BINARY, UNARY, kept_internal
from onearena.delegates.xnnpack.schema import XNNSoftmax
from onearena.delegates.xnnpack.strips import Strips

_IN_PLACE = UNARY | BINARY | {XNNSoftmax}


def live_bytes(strips: Strips) -> list[int]:
    """By node, in list order, the bytes of activations that are alive.

    Inputs die with their last reader; outputs of the call stay to its end.
    """
    graph, pieces = strips.graph, strips.pieces
    kept = kept_internal(graph)

    def owner(value: int) -> int:
        return pieces[value].whole if value in pieces else value

    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for node in graph.nodes:
        for value in (*graph.activations(node), *node.outputs):
            first.setdefault(owner(value), node.index)
            last[owner(value)] = node.index
    change = [0] * (len(graph.nodes) + 1)
    for value, start in first.items():
        found = graph.values[value]
        if value in kept:
            continue
        is_output = found.is_external and (value in graph.producer or value in strips.outside)
        is_input = found.is_external and not is_output
        end = len(graph.nodes) if is_output else last[value] + 1
        change[0 if is_input else start] += found.size_bytes or 0
        change[end] -= found.size_bytes or 0
    for node in graph.nodes:
        if node.kind in _IN_PLACE and _takes_over(strips, node, last):
            size = graph.values[node.outputs[0]].size_bytes or 0
            change[node.index] -= size
            change[node.index + 1] += size
    return list(accumulate(change[:-1]))


def _takes_over(strips: Strips, node: Node, last: Mapping[int, int]) -> bool:
    values, pieces, output = strips.graph.values, strips.pieces, node.outputs[0]
    if output in pieces:
        return False
    return any(
        v not in pieces
        and not values[v].is_constant
        and last.get(v) == node.index
        and values[v].size_bytes == values[output].size_bytes
        for v in node.inputs
    )
