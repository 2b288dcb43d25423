"""What one call of an XNNPACK payload does to the program's values, node by node."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from onearena.delegates.xnnpack.graph import Graph, Node, once_for_all_alike
from onearena.delegates.xnnpack.operators import BINARY, SAME_BYTES, UNARY, is_scalar_constant
from onearena.delegates.xnnpack.rules import EffectiveOrder, Link, effective_order, kept_internal
from onearena.delegates.xnnpack.schema import XNNSoftmax
from onearena.delegates.xnnpack.simplify_names import content_names
from onearena.delegates.xnnpack.strips import Piece

_IN_PLACE = UNARY | BINARY | {XNNSoftmax}


@dataclass(frozen=True)
class XnnpackCall:
    """A delegate call whose payload is understood: `args[k]` is the external value k.

    Attributes:
        pieces: payload values that name bytes inside another argument.
        folded: the program's values of the pieces, when `args` names what they are pieces of
            instead; empty when it names them.
    """

    graph: Graph
    kept: Mapping[int, Link]
    args: tuple[int, ...]
    is_dynamic: bool
    pieces: Mapping[int, Piece] = field(default_factory=dict)
    folded: frozenset[int] = frozenset()

    def fold(self) -> XnnpackCall:
        """The same call, with pieces named by what they are pieces of."""
        args, folded = list(self.args), set()
        for value, piece in self.pieces.items():
            position = self.graph.values[value].tensor.external_id
            folded.add(self.args[position])
            args[position] = self.whole_of(piece)
        return replace(self, args=tuple(args), folded=frozenset(folded))

    @cached_property
    def order(self) -> EffectiveOrder:
        """How late operands may be read and how early outputs written."""
        return effective_order(self.graph, self.kept)

    @cached_property
    def names(self) -> Mapping[int, int]:
        """By value of the payload, the value whose bytes it holds, in one order or another."""
        return content_names(self.graph, not self.is_dynamic)

    @cached_property
    def _argument_of(self) -> Mapping[int, int]:
        """By payload value that is an argument, the program's value."""
        return {value: self.args[k] for k, value in self.graph.externals.items()}

    def whole_of(self, piece: Piece) -> int:
        """The program's value that a piece is a part of."""
        return self.args[self.graph.values[piece.whole].tensor.external_id]

    @cached_property
    def parts(self) -> Mapping[int, tuple[int, int]]:
        """By argument that is a piece, the argument that it is a part of and the offset in it."""

        return {
            self.args[self.graph.values[value].tensor.external_id]: (
                self.whole_of(piece),
                piece.offset_bytes,
            )
            for value, piece in self.pieces.items()
        }

    def values(self, ids: tuple[int, ...]) -> tuple[int, ...]:
        """The program's values among these payload values, each once."""
        arguments = self._argument_of
        return tuple(dict.fromkeys([arguments[k] for k in ids if k in arguments]))

    def in_place_operands(self, node: Node) -> tuple[int, ...]:
        """Operands (program values) whose bytes the output may take over.

        Element-wise nodes and softmax read an element (a row) before they write it, so an
        operand of the same element count and size may share the output's address. A
        broadcast operand may not; with dynamic shapes an operand of a binary may turn out to
        be broadcast, so only a scalar constant beside it leaves no doubt.
        """
        if node.kind not in _IN_PLACE or len(node.outputs) != 1:
            return ()
        output = self.graph.values[node.outputs[0]]
        if output.id in self.pieces:
            return ()  # a part of its memory, while the rest is not born yet, or still needed
        operands = [v for v in self.graph.activations(node) if v not in self.pieces]
        if self.is_dynamic and node.kind in BINARY and not self._has_scalar_operand(node):
            return ()
        equal = tuple(
            operand
            for operand in operands
            if self.graph.values[operand].element_count == output.element_count
            and self.graph.values[operand].size_bytes == output.size_bytes
        )
        return self.values(equal)

    def _has_scalar_operand(self, node: Node) -> bool:
        return any(is_scalar_constant(self.graph.values[operand]) for operand in node.inputs)

    def same_bytes_operand(self, node: Node) -> int | None:
        """The operand (program value) of a reshape or copy, which may be the output's memory."""
        if node.kind not in SAME_BYTES:
            return None
        source, target = self.graph.values[node.inputs[0]], self.graph.values[node.outputs[0]]
        if source.id in self.pieces or target.id in self.pieces:
            return None
        if source.size_bytes is None or source.size_bytes != target.size_bytes:
            return None
        found = self.values((source.id,))
        return found[0] if found else None


def understand_call(graph: Graph, args: tuple[int, ...], is_dynamic: bool) -> XnnpackCall:
    """The call of a payload as it stands, nothing opened anew."""
    call = XnnpackCall(graph, _kept_as_it_stands(graph), args, is_dynamic)
    call.__dict__["order"] = _order_as_it_stands(graph)  # not again for layers that are alike
    return call


@once_for_all_alike
def _kept_as_it_stands(graph: Graph) -> Mapping[int, Link]:
    """Every internal activation of a payload that nobody opens, with the reason."""
    links = kept_internal(graph)
    return {
        v.id: links.get(v.id, Link.LIMIT)
        for v in graph.values.values()
        if v.is_internal and v.id in graph.producer
    }


@once_for_all_alike
def _order_as_it_stands(graph: Graph) -> EffectiveOrder:
    return effective_order(graph, _kept_as_it_stands(graph))
