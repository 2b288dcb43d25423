"""Runs a part of a payload in strips of rows, so that what is inside it is never whole.

A region is a set of nodes with some values between them. Its strips run one after another; each
computes some rows of every output of the region from the rows that it needs, with those that two
strips both need computed twice. What lies inside exists one strip at a time. What goes in and
comes out is whole, in memory: a strip reads rows of it, and writes rows of it, under names of
their own. XNNPACK runs nodes in list order, so a value written in pieces may be read under
another name afterwards, as an external input.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.arguments import as_arguments
from onearena.delegates.xnnpack.graph import Graph, Node, Value, index_graph, tensor_of
from onearena.delegates.xnnpack.operators import SAME_BYTES
from onearena.delegates.xnnpack.rows import Rows, StripNode, hull, row_axis, row_count, strip_node
from onearena.delegates.xnnpack.rules import Link, kept_internal
from onearena.delegates.xnnpack.simplify_edit import values_by_id, with_tensor
from onearena.delegates.xnnpack.simplify_names import content_names
from onearena.delegates.xnnpack.work import row_work

_PACKED = (x.XNNConv2d, x.XNNDepthwiseConv2d, x.XNNFullyConnected)
"""Nodes that keep a copy of their weights, packed: each strip has one of its own."""
_COPIES = SAME_BYTES | {x.XNNStaticConstantPad}


@dataclass(frozen=True)
class Region:
    """What to run in strips.

    Attributes:
        inside: values that shall never be whole; the nodes that write and read them are run in
            strips.
        strips: how many, at least 2.
    """

    inside: frozenset[int]
    strips: int


@dataclass(frozen=True)
class Piece:
    """A value that names bytes inside another value of the payload."""

    whole: int
    offset_bytes: int


@dataclass(frozen=True)
class Strips:
    """A payload with regions in strips.

    Attributes:
        graph: the new graph; the values of the old one keep their numbers.
        pieces: by value, where it lies.
        parts: by value that strips added, the value of the old graph and its rows.
        outside: values that must become arguments, since they have pieces; True for those that
            are only written in pieces.
        arguments: how many the call had before.
        weights_bytes: of constants that strips keep additional copies of.
        work: what strips compute more than the regions without them, see `work.py`.
    """

    graph: Graph
    pieces: Mapping[int, Piece] = field(default_factory=dict)
    parts: Mapping[int, tuple[int, Rows]] = field(default_factory=dict)
    outside: Mapping[int, bool] = field(default_factory=dict)
    arguments: int = 0
    weights_bytes: int = 0
    work: int = 0

    @cached_property
    def kept(self) -> Mapping[int, Link]:
        """Values that must stay inside, see `rules.kept_internal`."""
        return kept_internal(self.graph)

    @cached_property
    def templates(self) -> Mapping[int, x.XValue]:
        """By number, the values of the graph as they stand in its source."""
        return values_by_id(self.graph)


def cut_into_strips(graph: Graph, regions: Sequence[Region], what: str) -> Strips | None:
    """Rewrites a graph; None when some region cannot be run in strips.

    Args:
        graph: before it is opened.
        what: how errors call the payload.
    """
    result: Strips | None = Strips(graph, arguments=graph.source.num_externs)
    for region in regions:
        result = result and cut_region(result, region, what)
    return result


def cut_region(before: Strips, region: Region, what: str) -> Strips | None:
    """Rewrites a graph further; None when the region cannot be run in strips."""
    return _Cut(before, region, what).run()


class _ImpossibleError(Exception):
    """The region cannot be run in strips."""


class _Cut:
    """One region; the graph may have others in strips already."""

    def __init__(self, before: Strips, region: Region, what: str) -> None:
        self._before, self._graph, self._what = before, before.graph, what
        self._count = region.strips
        self._kept = before.kept
        self._inside, self._nodes = self._closed(region.inside)
        self._pieces: dict[int, Piece] = dict(before.pieces)
        self._parts: dict[int, tuple[int, Rows]] = dict(before.parts)
        self._outside: dict[int, bool] = dict(before.outside)
        self._next = max(self._graph.values) + 1
        self._templates = before.templates
        self._written = {node.outputs[0] for node in self._nodes}
        self._known: dict[tuple[int, Rows], StripNode] = {}
        self._values: list[x.XValue] = []

    def run(self) -> Strips | None:
        try:
            self._check()
            strips = self._all_rows()
            nodes = [node for strip in strips for node in self._emit(strip)]
        except _ImpossibleError:
            return None
        before = self._before
        return Strips(
            self._rebuilt(nodes),
            self._pieces,
            self._parts,
            self._outside,
            before.arguments,
            before.weights_bytes + self._weights(strips),
            before.work + self._more_work(strips),
        )

    # -- what belongs to the region -------------------------------------------------------

    def _closed(self, inside: frozenset[int]) -> tuple[frozenset[int], tuple[Node, ...]]:
        """With everything that XNNPACK merges, which cannot be cut apart."""
        graph, values = self._graph, set(inside)
        while True:
            nodes = {graph.producer[v].index for v in values if v in graph.producer}
            nodes |= {node.index for v in values for node in graph.consumers.get(v, ())}
            touched = {v for k in nodes for v in (*graph.nodes[k].inputs, *graph.nodes[k].outputs)}
            merged = (touched & self._kept.keys()) - values
            if not merged:
                return frozenset(values), tuple(graph.nodes[k] for k in sorted(nodes))
            values |= merged

    def _check(self) -> None:
        graph = self._graph
        if self._count < 2 or not self._nodes:
            raise _ImpossibleError
        for value in self._inside:
            found = graph.values.get(value)
            if found is None or not found.is_internal or value not in graph.producer:
                raise _ImpossibleError
            if value in self._outside or row_axis(found) is None:
                raise _ImpossibleError
        members = {node.index for node in self._nodes}
        for node in self._nodes:
            if len(node.outputs) != 1 or node.outputs[0] in self._pieces:
                raise _ImpossibleError
            if any(operand in self._pieces for operand in node.inputs):
                raise _ImpossibleError
            if not self._is_inside(node) and self._is_copy(node):
                raise _ImpossibleError  # it would be a copy of what is never whole
        # what depends on the region must not be needed by it
        behind: set[int] = set()
        writers = self._writers()
        for node in graph.nodes:
            needed = {k for v in node.inputs for k in writers.get(self._memory(v), ())}
            if node.index in members:
                if needed & behind:
                    raise _ImpossibleError
            elif needed & (members | behind):
                behind.add(node.index)
        self._behind = frozenset(behind)

    def _memory(self, value: int) -> int:
        """The value that another one is a part of: who reads a part needs whoever writes it, by
        that name or by another one."""
        piece = self._before.pieces.get(value)
        return value if piece is None else piece.whole

    def _writers(self) -> dict[int, set[int]]:
        """By value, the nodes that write it or parts of it."""
        found: dict[int, set[int]] = {}
        for node in self._graph.nodes:
            for output in node.outputs:
                found.setdefault(self._memory(output), set()).add(node.index)
        return found

    def _is_copy(self, node: Node) -> bool:
        """Whether a node's result has its bytes, and so its name, from another value."""
        if node.kind is x.XNNStaticTranspose:
            output = node.outputs[0]
            return content_names(self._graph, is_static=True)[output] != output
        return node.kind in _COPIES

    # -- which rows each strip computes ---------------------------------------------------

    def _all_rows(self) -> list[dict[int, Rows]]:
        """By strip, the rows of each value that it computes; values without any are left out."""
        done = {node.outputs[0]: 0 for node in self._nodes if not self._is_inside(node)}
        return [self._rows(strip, done) for strip in range(self._count)]

    def _is_inside(self, node: Node) -> bool:
        return node.outputs[0] in self._inside

    def _rows(self, strip: int, done: dict[int, int]) -> dict[int, Rows]:
        wanted: dict[int, list[Rows]] = {}
        rows: dict[int, Rows] = {}
        for node in reversed(self._nodes):
            output = node.outputs[0]
            needs = wanted.get(output, [])
            if output in self._inside:
                if not needs:
                    continue
                rows[output] = hull(needs)
            else:
                value = self._graph.values[output]
                if row_axis(value) is None:
                    raise _ImpossibleError
                share = row_count(value) * (strip + 1) // self._count
                until = max([share, done[output], *(part.end for part in needs)])
                if until == done[output]:
                    continue
                rows[output] = Rows(done[output], until)
                done[output] = until
                if self._strip(node, rows[output]).made is not None:
                    raise _ImpossibleError  # there is no place for rows that are not wanted
            self._want(node, rows[output], wanted)
        return rows

    def _want(self, node: Node, rows: Rows, wanted: dict[int, list[Rows]]) -> None:
        strip = self._strip(node, rows)
        for operand, needed in zip(node.inputs, strip.rows, strict=True):
            value = self._graph.values[operand]
            if needed is not None and value.is_constant:
                raise _ImpossibleError
            if operand in self._written:
                if needed is None:
                    raise _ImpossibleError
                wanted.setdefault(operand, []).append(needed)

    def _strip(self, node: Node, rows: Rows) -> StripNode:
        found = self._known.get((node.index, rows)) or strip_node(self._graph, node, rows)
        if found is None:
            raise _ImpossibleError
        self._known[node.index, rows] = found
        return found

    # -- the new nodes --------------------------------------------------------------------

    def _emit(self, rows: Mapping[int, Rows]) -> list[x.XNode]:
        nodes: list[x.XNode] = []
        temporary: dict[int, int] = {}
        for node in self._nodes:
            output = node.outputs[0]
            if output not in rows:
                continue
            strip = self._strip(node, rows[output])
            names = {}
            for position, operand in enumerate(node.inputs):
                needed = strip.rows[position]
                if needed is not None:
                    names[position] = self._operand(operand, needed, rows, temporary)
            if output in self._inside:
                result = temporary[output] = self._value(output, self._held(output, rows))
            else:
                result = self._piece(output, rows[output], output, rows[output].start)
                self._hold(output, written_in_pieces=True)
            nodes.append(
                replace(node.xnode, xnode_union=_renamed(node, strip.union, names, result))
            )
        return nodes

    def _operand(
        self, operand: int, needed: Rows, rows: Mapping[int, Rows], temporary: Mapping[int, int]
    ) -> int:
        if operand in self._inside:
            held = self._held(operand, rows)
            if held == needed:
                return temporary[operand]
            if operand in self._kept:
                raise _ImpossibleError
            whole = temporary[operand]
            self._hold(whole, written_in_pieces=False)
            return self._piece(operand, needed, whole, needed.start - held.start)
        self._hold(operand, written_in_pieces=False)
        return self._piece(operand, needed, operand, needed.start)

    def _held(self, value: int, rows: Mapping[int, Rows]) -> Rows:
        """The rows of a value that a strip makes, with those that it does not want."""
        made = self._strip(self._graph.producer[value], rows[value]).made
        return rows[value] if made is None else made

    def _hold(self, value: int, written_in_pieces: bool) -> None:
        """Makes sure that a value can have pieces."""
        if value in self._kept:
            raise _ImpossibleError
        self._outside[value] = self._outside.get(value, False) or written_in_pieces

    def _piece(self, like: int, rows: Rows, whole: int, first: int) -> int:
        value = self._graph.values[like]
        axis, size = row_axis(value), value.size_bytes
        if axis is None or size is None or not value.size_bytes:
            raise _ImpossibleError
        made = self._value(like, rows)
        self._pieces[made] = Piece(whole, size // value.dims[axis] * first)
        return made

    def _value(self, like: int, rows: Rows) -> int:
        """A new internal value with some rows of another one."""
        value, made = self._graph.values[like], self._next
        axis = row_axis(value)
        assert axis is not None
        dims = (*value.dims[:axis], rows.end - rows.start, *value.dims[axis + 1 :])
        tensor = replace(value.tensor, dims=dims, id_out=made, external_id=x.INVALID_ID, flags=0)
        self._values.append(with_tensor(self._templates[like], tensor))
        self._parts[made] = (like, rows)
        self._next += 1
        return made

    # -- the new graph --------------------------------------------------------------------

    def _rebuilt(self, strips: Sequence[x.XNode]) -> Graph:
        """The strips stand where the last node of the region stood; what depends on the region
        and stood before that comes behind them."""
        members, end = {node.index for node in self._nodes}, self._nodes[-1].index
        others = [node for node in self._graph.nodes if node.index not in members]
        first = [n.xnode for n in others if n.index < end and n.index not in self._behind]
        last = [n.xnode for n in others if n.index < end and n.index in self._behind]
        last += [n.xnode for n in others if n.index > end]
        source, gone = self._graph.source, self._inside
        values = [v for v in source.xvalues or () if (t := tensor_of(v)) and t.id_out not in gone]
        source = replace(source, xnodes=(*first, *strips, *last), xvalues=(*values, *self._values))
        return self._with_arguments(index_graph(source, self._what, self._graph))

    def _with_arguments(self, graph: Graph) -> Graph:
        """Pieces are arguments, and so are the values that they are parts of."""
        wanted = (*self._outside, *self._pieces)
        opened = [value for value in wanted if not graph.values[value].is_external]
        written = {value for value, in_pieces in self._outside.items() if in_pieces}
        written.update(value for value in self._pieces if value not in graph.producer)
        return index_graph(as_arguments(graph.source, opened, written), self._what, graph)

    def _weights(self, strips: Sequence[Mapping[int, Rows]]) -> int:
        total = 0
        for node in self._nodes:
            if node.kind in _PACKED:
                runs = sum(node.outputs[0] in rows for rows in strips)
                constants = [self._graph.values[v] for v in node.inputs[1:]]
                total += (runs - 1) * sum(_constant_bytes(value) for value in constants)
        return total

    def _more_work(self, strips: Sequence[Mapping[int, Rows]]) -> int:
        total = 0
        for node in self._nodes:
            output = node.outputs[0]
            held = [self._held(output, rows) for rows in strips if output in rows]
            computed = sum(r.end - r.start for r in held)
            more = computed - row_count(self._graph.values[output])
            total += more * row_work(self._graph, node)
        return total


def _constant_bytes(value: Value) -> int:
    # types without a simple size are at most a byte per element
    return value.element_count if value.size_bytes is None else value.size_bytes


def _renamed(node: Node, union: x.NodeUnion, names: Mapping[int, int], output: int) -> x.NodeUnion:
    """The operator with other operands.

    Args:
        names: by position among the node's inputs.
    """
    changes: dict[str, int] = {}
    position = 0
    for member in fields(union):
        if not member.name.endswith("_id") or getattr(union, member.name) == x.INVALID_ID:
            continue
        if member.name.startswith("output"):
            changes[member.name] = output
        elif position < len(node.inputs):
            if position in names:
                changes[member.name] = names[position]
            position += 1
    return replace(union, **changes)  # type: ignore[arg-type]
