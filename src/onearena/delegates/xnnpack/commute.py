"""Transposes move from behind a concatenation to in front of it.

An exporter that joins images in the layout of PyTorch, for a convolution that wants them in
XNNPACK's, copies the joined image as a whole: it is there twice. Transposing the parts first
moves the same bytes, and the joined image is only needed in the layout of the convolution,
where it can be made in strips.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, index_graph, tensor_of
from onearena.delegates.xnnpack.operators import joined_axis
from onearena.delegates.xnnpack.simplify_edit import values_by_id, with_tensor


def transposes_before_concatenations(graph: Graph, what: str) -> tuple[Graph, int]:
    """The graph with such transposes moved, and how many were.

    Raises:
        FormatError: the graph contradicts itself.
    """
    found = {node.index: other for node in graph.nodes if (other := _joined_before(graph, node))}
    if not found:
        return graph, 0
    gone = {join.index for join in found.values()}
    values = values_by_id(graph)
    nodes: list[x.XNode] = []
    for node in graph.nodes:
        if node.index in found:
            nodes += _moved(graph, node, found[node.index], values)
        elif node.index not in gone:
            nodes.append(node.xnode)
    for join in found.values():
        del values[join.outputs[0]]
    source = replace(graph.source, xnodes=tuple(nodes), xvalues=tuple(values.values()))
    return index_graph(source, what), len(found)


def _joined_before(graph: Graph, node: Node) -> Node | None:
    """The concatenation that a transpose is the only reader of."""
    if node.kind is not x.XNNStaticTranspose:
        return None
    between = graph.values[node.inputs[0]]
    join = graph.producer.get(between.id)
    if join is None or not isinstance(join.xnode.xnode_union, x.Concatenate):
        return None
    if not between.is_internal or len(graph.consumers[between.id]) != 1:
        return None
    parts = [graph.values[operand] for operand in join.inputs]
    if any(part.is_constant or len(part.dims) != len(between.dims) for part in parts):
        return None
    perm = _permutation(node)
    if sorted(perm) != list(range(len(between.dims))):
        return None
    moved = [axis for axis in perm if between.dims[axis] != 1]
    return join if moved != sorted(moved) else None  # else no byte moves, and nothing is copied


def _permutation(node: Node) -> tuple[int, ...]:
    union = node.xnode.xnode_union
    assert isinstance(union, x.XNNStaticTranspose)
    return union.perm or ()


def _moved(graph: Graph, transpose: Node, join: Node, values: dict[int, x.XValue]) -> list[x.XNode]:
    union, perm = join.xnode.xnode_union, _permutation(transpose)
    turning = transpose.xnode.xnode_union
    assert isinstance(union, x.Concatenate)
    assert isinstance(turning, x.XNNStaticTranspose)
    turned: dict[int, int] = {}
    nodes: list[x.XNode] = []
    for operand in dict.fromkeys(join.inputs):
        made = turned[operand] = max(values) + 1
        values[made] = _turned_value(values, operand, made, perm)
        move = replace(turning, input_id=operand, output_id=made)
        nodes.append(replace(transpose.xnode, xnode_union=move))
    changes: Mapping[str, int] = {
        f"input{k + 1}_id": turned[operand] for k, operand in enumerate(join.inputs)
    }
    joined = replace(
        union,
        axis=perm.index(joined_axis(union, len(perm))),
        output_id=transpose.outputs[0],
        **changes,
    )
    return [*nodes, replace(join.xnode, xnode_union=joined)]


def _turned_value(
    values: Mapping[int, x.XValue], operand: int, made: int, perm: tuple[int, ...]
) -> x.XValue:
    tensor = tensor_of(values[operand])
    assert tensor is not None
    dims = tensor.dims or ()
    turned = tuple(dims[axis] for axis in perm)
    return with_tensor(
        values[operand],
        replace(tensor, dims=turned, id_out=made, external_id=x.INVALID_ID, flags=0),
    )
