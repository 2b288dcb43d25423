"""Shapes as they will be at run time, which are not always those that a payload declares.

The delegate gives every external input the shape of the argument (`XNNExecutor::prepare_args`)
and XNNPACK derives all others from it. An exporter may declare a number without dimensions as
a vector of one element; a value behind it then has no dimensions either, and a tensor declared
with one could not take its place. And what an exporter inserts between a transpose and a
convolution may be declared as it was before the transpose, so that its dimensions are not in the
order of the bytes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod

from onearena.delegates.xnnpack.graph import Graph, Node, index_graph
from onearena.delegates.xnnpack.operators import BINARY, UNARY
from onearena.delegates.xnnpack.schema import (
    XNNCopy,
    XNNSoftmax,
    XNNStaticConstantPad,
    XNNStaticReshape,
    XNNStaticTranspose,
)
from onearena.delegates.xnnpack.simplify_edit import reshaped

Dims = tuple[int, ...]
_SAME_SHAPE = UNARY | {XNNCopy, XNNSoftmax}
_DERIVED = _SAME_SHAPE | BINARY | {XNNStaticTranspose, XNNStaticConstantPad}


def with_real_order(graph: Graph, what: str) -> Graph:
    """The graph with the dimensions of values in the order that their nodes give them.

    Only what is a permutation of the declared dimensions is corrected: as many bytes, which
    XNNPACK finds out when it runs, whatever the payload says. (ExecuTorch 1.5.1 declares the
    operands of dynamically quantized convolutions so.)

    Raises:
        FormatError: the graph contradicts itself.
    """
    found: dict[int, Dims] = {}
    for node in graph.nodes:
        if node.kind not in _DERIVED:
            continue
        derived = _derived(node, [found.get(v) or graph.values[v].dims for v in node.inputs])
        if derived is not None:
            (output,) = node.outputs
            declared = graph.values[output].dims
            if derived != declared and sorted(derived) == sorted(declared):
                found[output] = derived
    if not found:
        return graph
    values = tuple(reshaped(value, found) for value in graph.source.xvalues or ())
    return index_graph(replace(graph.source, xvalues=values), what)


def values_of_other_shape(graph: Graph, argument_dims: Mapping[int, Dims]) -> frozenset[int]:
    """Values whose shape at run time differs from the declared one, or is not known.

    Args:
        argument_dims: by external id, the shape of the argument in storage order.
    """
    shapes: dict[int, Dims | None] = {}
    for value in graph.values.values():
        if value.id not in graph.producer:
            position = value.tensor.external_id
            shapes[value.id] = (
                argument_dims.get(position, value.dims) if value.is_external else value.dims
            )
    for node in graph.nodes:
        found = _output_shape(graph, node, shapes)
        for output in node.outputs:
            shapes[output] = found if len(node.outputs) == 1 else graph.values[output].dims
    return frozenset(v for v, dims in shapes.items() if dims != graph.values[v].dims)


def _output_shape(graph: Graph, node: Node, shapes: Mapping[int, Dims | None]) -> Dims | None:
    declared = graph.values[node.outputs[0]].dims
    inputs = [dims for value in node.inputs if (dims := shapes.get(value)) is not None]
    if len(inputs) < len(node.inputs):
        return None
    derived = _derived(node, inputs)
    if derived is not None or node.kind in BINARY:
        return derived
    if inputs == [graph.values[value].dims for value in node.inputs]:
        return declared
    union = node.xnode.xnode_union
    if isinstance(union, XNNStaticReshape) and 0 not in (union.new_shape or ()):
        same = prod(inputs[0] or ()) == prod(declared)
        return declared if same and union.new_shape == declared else None
    return None


def _derived(node: Node, inputs: Sequence[Dims]) -> Dims | None:
    """What a node makes of operands with these shapes; None if they do not fit, and for kinds that
    are not known here."""
    if node.kind in _SAME_SHAPE:
        return inputs[0]
    if node.kind in BINARY:
        return inputs[0] if inputs[0] == inputs[1] else _broadcast(inputs[0], inputs[1])
    union = node.xnode.xnode_union
    if isinstance(union, XNNStaticTranspose):
        perm, dims = union.perm or (), inputs[0]
        is_one = sorted(perm) == list(range(len(dims)))
        return tuple(dims[axis] for axis in perm) if is_one else None
    if isinstance(union, XNNStaticConstantPad):
        padded = (inputs[0], union.pre_paddings or (), union.post_paddings or ())
        fits = len({len(dims) for dims in padded}) == 1
        return tuple(sum(sizes) for sizes in zip(*padded, strict=True)) if fits else None
    return None


def _broadcast(first: Dims, second: Dims) -> Dims | None:
    rank = max(len(first), len(second))
    a = (1,) * (rank - len(first)) + first
    b = (1,) * (rank - len(second)) + second
    if any(x != y and 1 not in (x, y) for x, y in zip(a, b, strict=True)):
        return None
    return tuple(max(x, y) for x, y in zip(a, b, strict=True))
