"""The workspace of several payloads and the operators between them, as if they were one payload.

What an operator that XNNPACK does not take costs: on both sides of it activations are arguments,
and image tensors are transposed to the layout of the program and back. Here the payloads around
such operators are put together, the transposes at the seams are taken out, and XNNPACK's own
passes and packing run on the result.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Node
from onearena.delegates.xnnpack.stock_graph import (
    StockGraph,
    StockNode,
    StockValue,
    Storage,
    define,
)
from onearena.delegates.xnnpack.stock_ops import Op
from onearena.delegates.xnnpack.stock_passes import analyze, clear
from onearena.delegates.xnnpack.workspace import packed_workspace, run_passes
from onearena.delegates.xnnpack.workspace_target import X86_64_AVX512, Target

_TO_PROGRAM = (0, 3, 1, 2)
_TO_XNNPACK = (0, 2, 3, 1)


@dataclass(frozen=True)
class Payload:
    """One call: its graph, and the program value of every argument."""

    graph: x.XNNGraph
    args: tuple[int, ...]


@dataclass(frozen=True)
class Operator:
    """An operator between calls: the program values that it reads and writes."""

    inputs: tuple[int, ...]
    outputs: tuple[int, ...]


@dataclass(frozen=True)
class Tensor:
    """What is known of a program value: XNNPACK's data type, its shape as the bytes lie."""

    datatype: int
    dims: tuple[int, ...]


def merged_workspace_bytes(
    pieces: Sequence[Payload | Operator],
    tensors: Mapping[int, Tensor],
    internal: Collection[int],
    target: Target = X86_64_AVX512,
) -> int:
    """Workspace in bytes of all pieces, run in this order as one payload.

    Args:
        tensors: by program value that an operator names.
        internal: program values that only these pieces touch.

    Raises:
        FormatError: a payload is malformed.
    """
    graph = _Merger(tensors, frozenset(internal)).merge(pieces)
    _remove_seams(graph)
    run_passes(graph, target)
    return packed_workspace(graph, target)


class _Merger:
    def __init__(self, tensors: Mapping[int, Tensor], internal: frozenset[int]) -> None:
        self._tensors = tensors
        self._internal = internal
        self._graph = StockGraph([])
        self._number: dict[int, int] = {}
        self._written: set[int] = set()

    def merge(self, pieces: Sequence[Payload | Operator]) -> StockGraph:
        for piece in pieces:
            if isinstance(piece, Payload):
                self._add_payload(piece)
            else:
                self._add_operator(piece)
        return self._graph

    def _add_payload(self, piece: Payload) -> None:
        source = define(piece.graph)
        numbers: list[int] = []
        for position, value in enumerate(source.values):
            if position < len(piece.args):
                numbers.append(self._program_value(piece.args[position], value))
            else:
                numbers.append(self._graph.add_value(value))
        for node in source.nodes:
            if node is None:
                continue
            node.inputs = [numbers[value] for value in node.inputs]
            node.outputs = [numbers[value] for value in node.outputs]
            self._graph.nodes.append(node)

    def _add_operator(self, piece: Operator) -> None:
        numbers = {}
        for value in (*piece.inputs, *piece.outputs):
            tensor = self._tensors[value]
            argument = StockValue(tensor.datatype, tensor.dims, Storage.ARGUMENT)
            argument.is_input, argument.is_output = value in piece.inputs, value in piece.outputs
            numbers[value] = self._program_value(value, argument)
        node = StockNode(
            Op.UNKNOWN,
            [numbers[value] for value in piece.inputs],
            [numbers[value] for value in piece.outputs],
            Node(-1, x.XNode(), (), ()),
        )
        self._graph.nodes.append(node)

    def _program_value(self, value: int, argument: StockValue) -> int:
        known = self._number.get(value)
        if known is not None:
            there = self._graph.values[known]
            there.is_output = (there.is_output or argument.is_output) and (
                value not in self._internal
            )
            return known
        if value in self._internal:
            argument = replace(argument, storage=Storage.WORKSPACE, is_input=False, is_output=False)
        self._number[value] = self._graph.add_value(argument)
        return self._number[value]


# -- seams ------------------------------------------------------------------------------------


def _remove_seams(graph: StockGraph) -> None:
    """Lets operators between payloads read and write images in XNNPACK's layout."""
    analyze(graph)
    for node in graph.nodes:
        if node is None or node.op is not Op.UNKNOWN:
            continue
        node.inputs = [_source_of(graph, value) for value in node.inputs]
        node.outputs = [_in_layout(graph, value) for value in node.outputs]


def _source_of(graph: StockGraph, value: int) -> int:
    """What was transposed to the program's layout for this operator; else the value itself."""
    producer = graph.producer(value)
    if producer is None or producer.op is not Op.TRANSPOSE or producer.perm != _TO_PROGRAM:
        return value
    return producer.inputs[0]


def _in_layout(graph: StockGraph, value: int) -> int:
    """The output of a transpose to XNNPACK's layout becomes the operator's own, for all that
    transpose the same way. Where something else reads the value, it stays."""
    if not graph.values[value].is_internal:
        return value
    readers = [node for node in graph.nodes if node is not None and value in node.inputs]
    transposes = [n for n in readers if n.op is Op.TRANSPOSE and n.perm == _TO_XNNPACK]
    others = [n for n in readers if n.op is not Op.UNKNOWN and n.perm != _TO_XNNPACK]
    outputs = [n.outputs[0] for n in transposes]
    if not outputs or others or not all(graph.values[v].is_internal for v in outputs):
        return value
    renamed = {value, *outputs[1:]}
    removed = {id(node) for node in transposes}
    for position, node in enumerate(graph.nodes):
        if id(node) in removed:
            graph.nodes[position] = None
        elif node is not None:
            node.inputs = [outputs[0] if v in renamed else v for v in node.inputs]
    for number in renamed:
        clear(graph.values[number])
    return outputs[0]
