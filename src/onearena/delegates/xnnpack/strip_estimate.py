"""How much of a payload is alive at once, estimated without the program around it."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import accumulate

from onearena.delegates.xnnpack.graph import Node
from onearena.delegates.xnnpack.occupancy import Use, occupied
from onearena.delegates.xnnpack.operators import BINARY, UNARY
from onearena.delegates.xnnpack.schema import XNNSoftmax
from onearena.delegates.xnnpack.strips import Strips
from onearena.lifetime import Interval

_IN_PLACE = UNARY | BINARY | {XNNSoftmax}


def live_bytes(strips: Strips) -> list[int]:
    """By node, in list order, the bytes of activations that are alive.

    Inputs die with their last reader; outputs of the call stay to its end.
    """
    graph, pieces = strips.graph, strips.pieces
    kept = strips.kept

    def owner(value: int) -> int:
        return pieces[value].whole if value in pieces else value

    first: dict[int, int] = {}
    last: dict[int, int] = {}
    uses: dict[int, list[Use]] = {}
    for node in graph.nodes:
        for value in (*graph.activations(node), *node.outputs):
            first.setdefault(owner(value), node.index)
            last[owner(value)] = node.index
            if value in pieces:
                uses.setdefault(owner(value), []).append(_use(strips, node, value))
    change = [0] * (len(graph.nodes) + 1)
    for value, start in first.items():
        found = graph.values[value]
        if value in kept:
            continue
        is_output = found.is_external and (value in graph.producer or value in strips.outside)
        is_output &= value not in strips.outside or found.tensor.external_id < strips.arguments
        is_input = found.is_external and not is_output and value not in strips.outside
        end = len(graph.nodes) if is_output else last[value] + 1
        size, born = found.size_bytes or 0, 0 if is_input else start
        change[born] += size
        change[end] -= size
        if value in uses:
            _free_rows(strips, value, uses[value], Interval(born, end), change)
    for node in graph.nodes:
        if node.kind in _IN_PLACE and _takes_over(strips, node, last):
            size = graph.values[node.outputs[0]].size_bytes or 0
            change[node.index] -= size
            change[node.index + 1] += size
    return list(accumulate(change[:-1]))


def _use(strips: Strips, node: Node, value: int) -> Use:
    piece, size = strips.pieces[value], strips.graph.values[value].size_bytes or 0
    part = Interval(piece.offset_bytes, piece.offset_bytes + size)
    return Use(Interval(node.index, node.index + 1), part, value in node.outputs)


def _free_rows(
    strips: Strips, value: int, pieces: list[Use], life: Interval, change: list[int]
) -> None:
    """Takes off what is not there yet, or not needed any more."""
    graph, size = strips.graph, strips.graph.values[value].size_bytes or 0
    whole = Interval(0, size)
    others = [
        Use(Interval(node.index, node.index + 1), whole, value in node.outputs)
        for node in graph.nodes
        if value in node.inputs or value in node.outputs
    ]
    if not any(use.is_write for use in (*pieces, *others)):
        others.append(Use(Interval(-1, 0), whole, is_write=True))
    if life.end > max(use.steps.end for use in (*pieces, *others)):
        others.append(Use(Interval(life.end, life.end + 1), whole, is_write=False))
    for step, part in enumerate(occupied((*pieces, *others), life, size), life.start):
        free = size - (part.end - part.start)
        change[step] -= free
        change[step + 1] += free


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
