"""Rewrites of a payload that change no bit of its results and make it cheaper to plan.

All of them are local, and each has an exact argument: dropping a padding by nothing, padding
after a conversion instead of before it, and writing the clamp that XNNPACK would add itself.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from onearena.delegates.xnnpack.graph import Graph, Node, index_graph, tensor_of
from onearena.delegates.xnnpack.operators import CLAMPED_BINARY, EIGHT_BIT_TYPES, has_bounds
from onearena.delegates.xnnpack.schema import (
    INVALID_ID,
    Datatype,
    Node2x1,
    XNNClamp,
    XNNConvert,
    XNNStaticConstantPad,
    XNode,
    XValue,
)
from onearena.delegates.xnnpack.simplify import Simplified, simplify
from onearena.delegates.xnnpack.simplify_edit import renamed, values_by_id, with_tensor
from onearena.delegates.xnnpack.simplify_switches import ALL_SIMPLIFICATIONS, Simplifications


@dataclass(frozen=True)
class Normalisation:
    """What was rewritten.

    Attributes:
        useless_pads: pads by nothing that were dropped.
        moved_pads: pads that were moved behind a conversion to 8 bit.
        split_clamps: hidden tensors that were made visible.
        simplified: what was taken out since it was not needed.
    """

    useless_pads: int
    moved_pads: int
    split_clamps: int
    simplified: Simplified = field(default_factory=Simplified)


def normalise(
    graph: Graph,
    what: str,
    switches: Simplifications = ALL_SIMPLIFICATIONS,
    is_static: bool = False,
) -> tuple[Graph, Normalisation]:
    """Applies all rewrites.

    Args:
        switches: which of the passes run that only take something out.
        is_static: shapes are at run time exactly what the payload declares.

    Raises:
        FormatError: the graph contradicts itself.
    """
    graph, useless_pads = _without_useless_pads(graph, what)
    graph, moved_pads = _pads_behind_conversions(graph, what)
    graph, simplified = simplify(graph, what, switches, is_static)
    graph, split_clamps = _split_clamps(graph, what)
    return graph, Normalisation(useless_pads, moved_pads, split_clamps, simplified)


def _pads_behind_conversions(graph: Graph, what: str) -> tuple[Graph, int]:
    """convert(pad(x)) to 8 bit becomes pad(convert(x)), with a quarter of the bytes.

    Converting works element by element and zero converts to the zero point exactly, so both
    give the same bits. Exporters that quantize around a padding write the former.
    """
    behind: dict[int, tuple[Node, Node]] = {}
    for pad in graph.nodes:
        conversion = _conversion_behind(graph, pad)
        if conversion is not None:
            behind[pad.index] = (pad, conversion)
    if not behind:
        return graph, 0
    dropped = {conversion.index for _, conversion in behind.values()}
    nodes: list[XNode] = []
    values = values_by_id(graph)
    for node in graph.nodes:
        if node.index in behind:
            pad, conversion = behind[node.index]
            nodes += _swapped(pad, conversion)
            between, target = pad.outputs[0], values[conversion.outputs[0]]
            values[between] = _converted_value(graph, pad, target)
        elif node.index not in dropped:
            nodes.append(node.xnode)
    source = replace(graph.source, xnodes=tuple(nodes), xvalues=tuple(values.values()))
    return index_graph(source, what), len(behind)


def _conversion_behind(graph: Graph, pad: Node) -> Node | None:
    """The conversion to 8 bit that is the only reader of a padding with zeros, if that is so."""
    union = pad.xnode.xnode_union
    if not isinstance(union, XNNStaticConstantPad) or union.padding_value != 0.0:
        return None
    source, between = graph.values[pad.inputs[0]], graph.values[pad.outputs[0]]
    readers = graph.consumers.get(between.id, ())
    if not between.is_internal or len(readers) != 1 or readers[0].kind is not XNNConvert:
        return None
    target = graph.values[readers[0].outputs[0]]
    plain = source.tensor.datatype == between.tensor.datatype == Datatype.FP32
    quantized = target.tensor.datatype in EIGHT_BIT_TYPES and target.per_tensor_quantized
    return readers[0] if plain and quantized and not source.is_constant else None


def _swapped(pad: Node, conversion: Node) -> tuple[XNode, XNode]:
    union, convert = pad.xnode.xnode_union, conversion.xnode.xnode_union
    assert isinstance(union, XNNStaticConstantPad)
    assert isinstance(convert, XNNConvert)
    between = union.output_id
    first = replace(convert, input_id=union.input_id, output_id=between)
    second = replace(union, input_id=between, output_id=convert.output_id)
    return (
        replace(conversion.xnode, xnode_union=first),
        replace(pad.xnode, xnode_union=second),
    )


def _converted_value(graph: Graph, pad: Node, target: XValue) -> XValue:
    """The padding's input in the type of the conversion, under the id of the padding's output."""
    between = graph.values[pad.outputs[0]].tensor
    tensor = tensor_of(target)
    assert tensor is not None
    dims = graph.values[pad.inputs[0]].tensor.dims
    return with_tensor(target, replace(between, datatype=tensor.datatype, dims=dims))


def _without_useless_pads(graph: Graph, what: str) -> tuple[Graph, int]:
    """Drops pads by zero everywhere; their readers read what was padded.

    Some exporters write one before every 1x1 convolution, and XNNPACK really copies the
    bytes. A pad whose output is an argument of the call stays.
    """
    instead: dict[int, int] = {}
    for node in graph.nodes:
        if _is_useless_pad(node) and graph.values[node.outputs[0]].is_internal:
            instead[node.outputs[0]] = instead.get(node.inputs[0], node.inputs[0])
    if not instead:
        return graph, 0
    nodes = tuple(
        renamed(node.xnode, instead) for node in graph.nodes if node.outputs[0] not in instead
    )
    values = tuple(
        v for v in graph.source.xvalues or () if (t := tensor_of(v)) and t.id_out not in instead
    )
    return index_graph(replace(graph.source, xnodes=nodes, xvalues=values), what), len(instead)


def _is_useless_pad(node: Node) -> bool:
    union = node.xnode.xnode_union
    return isinstance(union, XNNStaticConstantPad) and not (
        any(union.pre_paddings or ()) or any(union.post_paddings or ())
    )


def _split_clamps(graph: Graph, what: str) -> tuple[Graph, int]:
    """Writes op + clamp for binaries with bounds: XNNPACK would do the same with a tensor of
    its own, which nobody else could plan (`xnn_insert_clamp_node`)."""
    hidden = [n for n in graph.nodes if n.kind in CLAMPED_BINARY and has_bounds(n)]
    if not hidden:
        return graph, 0
    fresh = {node.index: max(graph.values) + 1 + i for i, node in enumerate(hidden)}
    by_id = values_by_id(graph)
    nodes: list[XNode] = []
    for node in graph.nodes:
        nodes.extend(_split(node, fresh[node.index]) if node.index in fresh else (node.xnode,))
    values = list(graph.source.xvalues or ())
    values += [_hidden_value(by_id[n.outputs[0]], fresh[n.index]) for n in hidden]
    source = replace(graph.source, xnodes=tuple(nodes), xvalues=tuple(values))
    return index_graph(source, what), len(hidden)


def _split(node: Node, hidden: int) -> tuple[XNode, XNode]:
    union = node.xnode.xnode_union
    assert isinstance(union, Node2x1)
    unbounded = replace(
        node.xnode, xnode_union=replace(union, output_id=hidden), output_min_max=None
    )
    clamp = replace(node.xnode, xnode_union=XNNClamp(hidden, union.output_id, 0))
    return unbounded, clamp


def _hidden_value(output: XValue, identifier: int) -> XValue:
    tensor = tensor_of(output)
    assert tensor is not None
    return with_tensor(output, replace(tensor, external_id=INVALID_ID, flags=0, id_out=identifier))
