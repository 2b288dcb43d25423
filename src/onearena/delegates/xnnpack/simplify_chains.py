"""Transposes, reshapes and copies in a row become the fewest that do the same.

They only move elements, so any chain of them that leaves every element where another chain
leaves it gives the same bits. A reshape whose two tensors share their memory costs nothing:
XNNPACK skips the copy. So transposes count first, reshapes second.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node
from onearena.delegates.xnnpack.operators import SAME_BYTES, has_bounds
from onearena.delegates.xnnpack.rules import OPENABLE_TYPES
from onearena.delegates.xnnpack.simplify_adjacent import readers_may_merge
from onearena.delegates.xnnpack.simplify_edit import Edit, readers, same_type, values_by_id
from onearena.delegates.xnnpack.simplify_layout import MAX_RANK, Layout, Step
from onearena.delegates.xnnpack.simplify_names import content_names

Dims = tuple[int, ...]


@dataclass(frozen=True)
class Saved:
    """Nodes that are gone: transposes, and reshapes and copies."""

    transposes: int = 0
    reshapes: int = 0

    def __add__(self, other: Saved) -> Saved:
        """Both."""
        return Saved(self.transposes + other.transposes, self.reshapes + other.reshapes)


@dataclass(frozen=True)
class _Chain:
    """Nodes from the first to the last, each the reader of the one before; `steps` do the same.

    Attributes:
        dropped: how many nodes at the end of the chain nobody else needs.
    """

    nodes: tuple[Node, ...]
    dropped: int
    steps: tuple[Step, ...]

    @property
    def source(self) -> int:
        return self.nodes[0].inputs[0]

    @property
    def target(self) -> int:
        return self.nodes[-1].outputs[0]

    @property
    def removed(self) -> tuple[Node, ...]:
        return self.nodes[len(self.nodes) - self.dropped :]


def shorten_chains(graph: Graph, is_static: bool, what: str) -> tuple[Graph, Saved]:
    """The graph with shorter chains, and what that saved.

    Args:
        is_static: shapes are at run time what the payload declares. Else only transposes that
            follow each other are merged, for which no shape matters.

    Raises:
        FormatError: the graph contradicts itself.
    """
    total = Saved()
    names = _argument_names(graph, is_static)
    for _ in range(len(graph.nodes)):
        shorter, saved = _Pass(graph, is_static).run(what)
        # where an order cannot be followed through a reshape, the verifier could not tell what
        # the shorter chain does
        if saved == Saved() or _argument_names(shorter, is_static) != names:
            break
        graph, total = shorter, total + saved
    return graph, total


def _argument_names(graph: Graph, is_static: bool) -> dict[int, int]:
    names = content_names(graph, is_static)
    return {value: names[value] for value in graph.externals.values()}


class _Pass:
    """One pass over a graph; chains that share a value wait for the next one."""

    def __init__(self, graph: Graph, is_static: bool) -> None:
        self._graph = graph
        self._is_static = is_static
        self._values = values_by_id(graph)
        self._names = content_names(graph, is_static)
        self._touched: set[int] = set()
        self._edit = Edit(graph)

    def run(self, what: str) -> tuple[Graph, Saved]:
        total = Saved()
        # the last node of a chain sees all of it
        for node in reversed(self._graph.nodes):
            if self._is_layout(node):
                for chain in self._chains(node):
                    saved = self._shorten(chain)
                    if saved is not None:
                        total += saved
                        break
        return self._edit.apply(what), total

    def _is_layout(self, node: Node) -> bool:
        """True for a node that only moves elements, with tensors that may be merged."""
        if len(node.inputs) != 1 or len(node.outputs) != 1 or has_bounds(node):
            return False
        source, target = self._graph.values[node.inputs[0]], self._graph.values[node.outputs[0]]
        if source.is_constant or source.tensor.datatype not in OPENABLE_TYPES:
            return False
        if not same_type(self._values[source.id], self._values[target.id]):
            return False
        if not all(0 < len(v.dims) <= MAX_RANK and 0 not in v.dims for v in (source, target)):
            return False
        if source.element_count != target.element_count:
            return False
        return _matches(node, source.dims, target.dims) and (
            self._is_static or node.kind is x.XNNStaticTranspose
        )

    def _chains(self, last: Node) -> Iterator[_Chain]:
        """The chains that end with a node, those that save most first."""
        nodes, dropped, alone = [last], 1, True
        found: list[_Chain] = []
        while True:
            ways = self._ways(nodes)
            if not ways:
                break
            found += [_Chain(tuple(nodes), dropped, steps) for steps in ways]
            middle = self._graph.values[nodes[0].inputs[0]]
            before = self._graph.producer.get(middle.id)
            if before is None or not middle.is_internal or not self._is_layout(before):
                break
            alone = alone and len(readers(self._graph, middle.id)) == 1
            nodes, dropped = [before, *nodes], dropped + alone
        yield from sorted(found, key=lambda chain: _key(_saved(chain)), reverse=True)

    def _ways(self, nodes: Sequence[Node]) -> tuple[tuple[Step, ...], ...]:
        """Steps that do what nodes do; none when that cannot be told."""
        source = self._graph.values[nodes[0].inputs[0]].dims
        if not self._is_static:
            return (_merged_transposes(source, nodes),)
        layout = Layout.of(source)
        for node in nodes:
            union = node.xnode.xnode_union
            if isinstance(union, x.XNNStaticTranspose):
                layout = layout.transposed(union.perm or ())
            else:
                other = layout.reshaped(self._graph.values[node.outputs[0]].dims)
                if other is None:
                    return ()
                layout = other
        return layout.ways()

    def _shorten(self, chain: _Chain) -> Saved | None:
        saved = _saved(chain)
        middles = [node.outputs[0] for node in chain.nodes]
        if _key(saved) <= (0, 0):
            return None
        if self._touched.intersection((chain.source, *middles)):
            return None
        if not self._lives_no_longer(chain):
            return None
        if not chain.steps:
            name = self._without_nodes(chain)
            if name is not None:
                self._edit.instead.update(name)
                self._edit.nodes.update((node.index, ()) for node in chain.removed)
                self._touched.update((chain.source, *middles))
                return saved
            target = self._graph.values[chain.target]
            saved = replace(saved, reshapes=saved.reshapes - 1)
            if _key(saved) <= (0, 0) or not self._is_static:
                return None
            chain = replace(chain, steps=(Step(target.dims),))
        ids = self._ids(chain)
        if ids is None or any(len(step.dims) > MAX_RANK for step in chain.steps):
            return None
        self._replace(chain, ids)
        self._touched.update((chain.source, *middles))
        return saved

    def _lives_no_longer(self, chain: _Chain) -> bool:
        """False when the source would have to stay only for this.

        A chain that is dropped as a whole hands its memory on from node to node. What others
        read stays, and the source with it: that is free if it is still needed anyway, if both
        share their memory, or if nothing else runs in between.
        """
        stays = chain.nodes[: len(chain.nodes) - chain.dropped]
        if all(node.kind in SAME_BYTES for node in stays):
            return True
        first, last = chain.nodes[0].index, chain.nodes[-1].index
        if self._graph.values[chain.source].tensor.flags & x.EXTERNAL_OUTPUT:
            return True
        if readers(self._graph, chain.source)[-1].index >= last:
            return True
        return all(
            node.kind in (x.XNNStaticTranspose, x.XNNStaticReshape, x.XNNCopy)
            for node in self._graph.nodes[first : last + 1]
        )

    def _without_nodes(self, chain: _Chain) -> dict[int, int] | None:
        """Which name takes the place of which, when source and target may be one value."""
        graph, source, target = self._graph, chain.source, chain.target
        if graph.values[target].is_internal:
            after = readers(graph, target)
            return None if readers_may_merge(graph, source, after) else {target: source}
        return None

    def _ids(self, chain: _Chain) -> list[int | None] | None:
        """The values that the steps write, None for new ones; None when no choice keeps names.

        What the transpose writes has the name of what its order had before (`content_names`).
        """
        ids: list[int | None] = [None] * len(chain.steps)
        ids[-1] = chain.target
        moving = next((k for k, step in enumerate(chain.steps) if step.perm is not None), None)
        named = self._names[chain.target]
        outputs = [node.outputs[0] for node in chain.nodes]
        if moving is None or named not in outputs or ids[moving] == named:
            return ids
        if named not in [node.outputs[0] for node in chain.removed]:
            return None
        if not self._graph.values[chain.target].is_internal and (
            named == chain.target or moving == len(ids) - 1
        ):
            return None
        if named == chain.target:
            ids[-1] = None
        ids[moving] = named
        return ids

    def _replace(self, chain: _Chain, ids: Sequence[int | None]) -> None:
        for node in chain.removed:
            self._edit.nodes[node.index] = ()
        last, like = chain.nodes[-1], self._values[chain.target]
        current, xnodes = chain.source, []
        for step, wanted in zip(chain.steps, ids, strict=True):
            if wanted is None:
                output = self._edit.add_value(like, step.dims)
            else:
                output = wanted
                self._edit.reshape_value(output, step.dims)
            rank = len(step.dims)
            union = (
                x.XNNStaticReshape(rank, step.dims, current, output)
                if step.perm is None
                else x.XNNStaticTranspose(rank, step.perm, current, output)
            )
            xnodes.append(replace(last.xnode, xnode_union=union, output_min_max=None))
            current = output
        self._edit.nodes[last.index] = tuple(xnodes)
        if current != chain.target:
            self._edit.read_instead(chain.target, current)


def _matches(node: Node, source: Dims, target: Dims) -> bool:
    """True when the node turns one shape into the other, and nothing is asked of it beyond."""
    union = node.xnode.xnode_union
    if isinstance(union, x.XNNStaticTranspose):
        perm = union.perm or ()
        if union.flags or sorted(perm) != list(range(len(source))):
            return False
        return tuple(source[axis] for axis in perm) == target
    if isinstance(union, x.XNNStaticReshape):
        shape = union.new_shape or ()
        fits = len(shape) == len(target) and shape.count(0) <= 1
        same = all(size in (0, wanted) for size, wanted in zip(shape, target, strict=False))
        return not union.flags and fits and same
    return isinstance(union, x.XNNCopy) and not union.flags and source == target


def _merged_transposes(dims: Dims, nodes: Sequence[Node]) -> tuple[Step, ...]:
    perm = tuple(range(len(dims)))
    for node in nodes:
        union = node.xnode.xnode_union
        assert isinstance(union, x.XNNStaticTranspose)
        perm = tuple(perm[axis] for axis in union.perm or ())
    if perm == tuple(range(len(dims))):
        return ()
    return (Step(tuple(dims[axis] for axis in perm), perm),)


def _saved(chain: _Chain) -> Saved:
    before = sum(node.kind is x.XNNStaticTranspose for node in chain.removed)
    after = sum(step.perm is not None for step in chain.steps)
    others = len(chain.removed) - before
    return Saved(before - after, others - (len(chain.steps) - after))


def _key(saved: Saved) -> tuple[int, int]:
    return saved.transposes, saved.reshapes
