"""Concatenations, slices and views that need no copy: their results lie where their operands do.

A concatenation along the outermost dimension lays its operands one behind the other. So their
producers may write them there at once, and the concatenation disappears. A slice along that
dimension is a part of its operand, and is read there. XNNPACK runs nodes in list order, so a
value that is written part by part may be read as a whole afterwards, as an external input.

The concatenation itself cannot be given operands in place: XNNPACK leaves an operand that is in
place out of the offsets of those behind it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, replace
from math import prod

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.arguments import as_arguments, without_values
from onearena.delegates.xnnpack.graph import Graph, Node, Value, index_graph
from onearena.delegates.xnnpack.operators import SAME_BYTES, joined_axis
from onearena.delegates.xnnpack.rules import kept_internal
from onearena.delegates.xnnpack.simplify_edit import same_type, values_by_id, with_tensor
from onearena.delegates.xnnpack.strips import Piece, Strips


@dataclass(frozen=True)
class PayloadJoins:
    """What may be joined in a payload that is called once, with static shapes.

    Attributes:
        fixed: positions of arguments that can have no parts.
        skipped: outputs of nodes that are to stay.
    """

    fixed: frozenset[int] = frozenset()
    skipped: frozenset[int] = frozenset()


@dataclass(frozen=True)
class Joined:
    """A payload with values in place.

    Attributes:
        strips: the payload; its pieces are those of the strips and those of values in place.
        gone: what the nodes wrote that are gone, by the number of the value.
    """

    strips: Strips
    gone: tuple[int, ...] = ()


def join_in_place(strips: Strips, what: str, joins: PayloadJoins) -> Joined:
    """Takes out every concatenation, slice and view that need not copy.

    Args:
        strips: the payload as it would be opened otherwise.
        what: how errors call the payload.

    Raises:
        FormatError: the graph contradicts itself.
    """
    result = Joined(strips)
    for output in [node.outputs[0] for node in strips.graph.nodes if len(node.outputs) == 1]:
        node = result.strips.graph.producer.get(output)
        rule = _RULES.get(node.kind) if node is not None and output not in joins.skipped else None
        if node is not None and rule is not None:
            found = rule(_Edit(result.strips, what, joins.fixed), node)
            if found is not None:
                result = Joined(found, (*result.gone, output))
    return result


def outer_axis(value: Value) -> int:
    """The first dimension that is not 1; parts along it, or an earlier one, are dense."""
    return next((axis for axis, size in enumerate(value.dims) if size != 1), len(value.dims))


class _Edit:
    """One node of a payload is to disappear."""

    def __init__(self, strips: Strips, what: str, fixed: Collection[int]) -> None:
        self._strips, self._what, self._fixed = strips, what, fixed
        self.graph = strips.graph
        self._kept = kept_internal(self.graph)
        self._pieces: dict[int, Piece] = dict(strips.pieces)
        self._outside: dict[int, bool] = dict(strips.outside)
        self._templates = values_by_id(self.graph)

    # -- what can lie where ---------------------------------------------------------------

    def has_memory(self, value: int) -> bool:
        """True for arguments, and values that can become some."""
        found = self.graph.values[value]
        return not found.is_constant and value not in self._kept and bool(found.size_bytes)

    def may_have_parts(self, value: int) -> bool:
        """True for values with planned memory, or that can have some."""
        return self.has_memory(value) and (
            self.graph.values[value].tensor.external_id not in self._fixed
        )

    def may_be_part(self, value: int) -> bool:
        """True for values that are nobody's but the payload's, and no part of another value."""
        is_inner = self.graph.values[value].tensor.external_id >= self._strips.arguments
        is_free = value not in self._pieces and value not in self._strips.parts
        return is_inner and is_free and self.may_have_parts(value) and self._is_written(value)

    def is_part(self, value: int) -> bool:
        """True for values that lie inside another one."""
        return value in self._pieces

    def _is_written(self, value: int) -> bool:
        return value in self.graph.producer or self._outside.get(value, False)

    def same_type(self, first: int, second: int) -> bool:
        """True for one element type with the same quantization."""
        return same_type(self._templates[first], self._templates[second])

    # -- the edit -------------------------------------------------------------------------

    def place(self, value: int, whole: int, offset_bytes: int) -> None:
        """Lets a value, and what lies in it, lie inside another one."""
        around = self._pieces.get(whole)
        root = whole if around is None else around.whole
        offset = offset_bytes + (0 if around is None else around.offset_bytes)
        for part, piece in list(self._pieces.items()):
            if piece.whole == value:
                self._pieces[part] = Piece(root, piece.offset_bytes + offset)
        self._pieces[value] = Piece(root, offset)
        self._outside.pop(value, None)
        self._outside.setdefault(root, False)

    def written_in_parts(self, value: int) -> None:
        """No node writes a value under its own name any more."""
        self._outside[value] = True

    def without(
        self,
        gone: Collection[int],
        instead: Mapping[int, tuple[x.XNode, ...]] | None = None,
        added: tuple[x.XValue, ...] = (),
    ) -> Strips:
        """The payload without the nodes with these numbers.

        Args:
            instead: by such a number, what stands in its place.
            added: new values.
        """
        nodes: list[x.XNode] = []
        for node in self.graph.nodes:
            nodes += [node.xnode] if node.index not in gone else (instead or {}).get(node.index, ())
        source = self.graph.source
        values = (*(source.xvalues or ()), *added)
        graph = index_graph(replace(source, xnodes=tuple(nodes), xvalues=values), self._what)
        return self._with_arguments(self._cleared(graph, gone))

    def _cleared(self, graph: Graph, gone: Collection[int]) -> Graph:
        """Without the values that only the nodes that are gone named."""
        named = {v for node in graph.nodes for v in (*node.inputs, *node.outputs)}
        named.update(piece.whole for piece in self._pieces.values())
        nodes = (self.graph.nodes[index] for index in gone)
        touched = {v for node in nodes for v in (*node.inputs, *node.outputs)}
        unused = {
            v
            for v in touched - named
            if not graph.values[v].is_constant
            and graph.values[v].tensor.external_id >= self._strips.arguments
        }
        for value in unused:
            self._pieces.pop(value, None)
            self._outside.pop(value, None)
        return index_graph(without_values(graph.source, unused), self._what) if unused else graph

    def _with_arguments(self, graph: Graph) -> Strips:
        wanted = (*self._outside, *self._pieces)
        opened = [value for value in wanted if not graph.values[value].is_external]
        written = {value for value, in_parts in self._outside.items() if in_parts}
        written.update(value for value in self._pieces if value not in graph.producer)
        source = as_arguments(graph.source, opened, written)
        return replace(
            self._strips,
            graph=index_graph(source, self._what),
            pieces=self._pieces,
            outside=self._outside,
        )

    # -- new values -----------------------------------------------------------------------

    def copied(self, value: int, number: int) -> tuple[x.XValue, x.XNode]:
        """A value like another one, and a node that copies into it.

        Args:
            number: of the new value.
        """
        tensor = self.graph.values[value].tensor
        fresh = replace(tensor, id_out=number, external_id=x.INVALID_ID, flags=0)
        made = with_tensor(self._templates[value], fresh)
        return made, x.XNode(x.XNNCopy(value, number, 0), 0, None)


# -- concatenations -------------------------------------------------------------------------


def _without_concatenation(edit: _Edit, node: Node) -> Strips | None:
    graph, target = edit.graph, node.outputs[0]
    operands = [graph.values[operand] for operand in node.inputs]
    if edit.is_part(target) or not _lays_side_by_side(edit, node):
        return None
    sources = [_source_of(edit, node, value.id) for value in operands]
    placed = [edit.may_be_part(v) and k == sources.index(v) for k, v in enumerate(sources)]
    if not any(placed):
        return None
    number, offset = max(graph.values) + 1, 0
    gone, added, copies = {node.index}, list[x.XValue](), list[x.XNode]()
    edit.written_in_parts(target)
    for value, source, is_placed in zip(operands, sources, placed, strict=True):
        if is_placed:
            gone.update(_on_the_way(graph, value.id, source))
            edit.place(source, target, offset)
        else:
            made, copy = edit.copied(value.id, number)
            added.append(made)
            copies.append(replace(copy, debug_handle=node.xnode.debug_handle))
            edit.place(number, target, offset)
            number += 1
        offset += value.size_bytes or 0
    return edit.without(gone, {node.index: tuple(copies)}, tuple(added))


def _lays_side_by_side(edit: _Edit, node: Node) -> bool:
    """True for a concatenation that copies its operands one behind the other."""
    union, target = node.xnode.xnode_union, edit.graph.values[node.outputs[0]]
    assert isinstance(union, x.Concatenate)
    axis = joined_axis(union, len(target.dims)) if target.dims else 0
    if prod(target.dims[:axis]) != 1 or node.xnode.output_min_max is not None:
        return False
    if not edit.may_have_parts(target.id):
        return False
    length = 0
    for operand in node.inputs:
        value = edit.graph.values[operand]
        others = (*value.dims[:axis], target.dims[axis], *value.dims[axis + 1 :])
        if others != target.dims or not edit.has_memory(operand):
            return False
        if not edit.same_type(operand, target.id):
            return False
        length += value.dims[axis]
    return length == target.dims[axis]


def _source_of(edit: _Edit, join: Node, value: int) -> int:
    """What an operand of a concatenation is only another shape of."""
    graph = edit.graph
    while True:
        node = graph.producer.get(value)
        if node is None or node.kind not in SAME_BYTES or not edit.may_be_part(value):
            return value
        if graph.consumers.get(value, ()) != (join,) or join.inputs.count(value) != 1:
            return value
        (source,) = node.inputs
        if not edit.may_be_part(source) or not edit.same_type(source, value):
            return value
        if graph.values[source].size_bytes != graph.values[value].size_bytes:
            return value
        value = source


def _on_the_way(graph: Graph, value: int, source: int) -> set[int]:
    """The nodes between what an operand comes from and the operand."""
    found: set[int] = set()
    while value != source:
        node = graph.producer[value]
        found.add(node.index)
        (value,) = node.inputs
    return found


# -- slices and views -----------------------------------------------------------------------


def _without_slice(edit: _Edit, node: Node) -> Strips | None:
    graph, union = edit.graph, node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticSlice)
    source, target = graph.values[node.inputs[0]], graph.values[node.outputs[0]]
    offsets, sizes = union.offsets or (), union.sizes or ()
    if not len(offsets) == len(sizes) == len(source.dims) or sizes != target.dims:
        return None
    axis = outer_axis(source)
    whole = [size for k, size in enumerate(source.dims) if k != axis]
    if [size for k, size in enumerate(sizes) if k != axis] != whole or axis == len(sizes):
        return None
    if any(start for k, start in enumerate(offsets) if k != axis):
        return None
    if offsets[axis] + sizes[axis] > source.dims[axis]:
        return None
    return _read_in_place(
        edit, node, offsets[axis] * ((source.size_bytes or 0) // source.dims[axis])
    )


def _without_view(edit: _Edit, node: Node) -> Strips | None:
    """XNNPACK would copy from a part of a value; from a whole one it need not."""
    source, target = (edit.graph.values[v] for v in (node.inputs[0], node.outputs[0]))
    if not edit.is_part(source.id) or source.size_bytes != target.size_bytes:
        return None
    return _read_in_place(edit, node, 0)


def _read_in_place(edit: _Edit, node: Node, offset_bytes: int) -> Strips | None:
    source, target = node.inputs[0], node.outputs[0]
    if not edit.may_have_parts(source) or not edit.may_be_part(target):
        return None
    if not edit.same_type(source, target) or node.xnode.output_min_max is not None:
        return None
    edit.place(target, source, offset_bytes)
    return edit.without({node.index})


_RULES: Mapping[type, Callable[[_Edit, Node], Strips | None]] = {
    **dict.fromkeys(
        (x.XNNConcatenate2, x.XNNConcatenate3, x.XNNConcatenate4, x.XNNConcatenate5),
        _without_concatenation,
    ),
    x.XNNStaticSlice: _without_slice,
    x.XNNStaticReshape: _without_view,
    x.XNNCopy: _without_view,
}
