"""Opening payloads: what becomes an argument, what is rewritten, and that no bit is lost."""

from __future__ import annotations

import struct
import tracemalloc
from collections.abc import Mapping
from dataclasses import fields, replace
from itertools import pairwise
from math import inf
from typing import Any

import pytest
from hypothesis import assume, given

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, index_graph, tensor_of
from onearena.delegates.xnnpack.opening import OpenedPayload, open_payload
from onearena.delegates.xnnpack.payload import build_payload, read_payload
from onearena.delegates.xnnpack.rules import Link
from onearena.delegates.xnnpack.simplify_switches import NO_SIMPLIFICATIONS
from onearena.flatbuf.data import read_data
from tests.delegates.nets import FP16, FP32, QDINT8, QINT8, RELU6, Net
from tests.delegates.random_nets import random_nets

IMAGE = (1, 8, 8, 4)


def opened(net: Net) -> OpenedPayload:
    result = open_payload(net.graph(), "net")
    assert not isinstance(result, str), result
    return result


def tensors(graph: x.XNNGraph) -> dict[int, x.XNNTensorValue]:
    found = (tensor_of(value) for value in graph.xvalues or ())
    return {tensor.id_out: tensor for tensor in found if tensor is not None}


def bits(number: float) -> bytes:
    return struct.pack("<f", number)


# -- what becomes an argument -------------------------------------------------------------


def _chain() -> tuple[Net, list[int]]:
    net = Net()
    values = [net.input(4), net.inner(4), net.inner(4), net.output(4)]
    net.unary(x.XNNSigmoid, values[0], values[1])
    net.unary(x.XNNTanh, values[1], values[2])
    net.unary(x.XNNExp, values[2], values[3])
    return net, values


def test_inner_values_become_the_last_arguments_in_node_order() -> None:
    net, (a, t, u, b) = _chain()
    result = opened(net)
    source, graph = net.graph(), result.graph.source
    assert result.opened == (t, u)
    assert graph.num_externs == 4
    assert graph.input_ids == source.input_ids == (a,)
    assert graph.output_ids == (b, t, u)
    changed = tensors(graph)
    assert [changed[v].external_id for v in (a, b, t, u)] == [0, 1, 2, 3]
    assert [changed[v].flags for v in (a, b, t, u)] == [1, 2, 2, 2]


def test_nothing_else_changes() -> None:
    net, _ = _chain()
    source, graph = net.graph(), opened(net).graph.source
    same = ("version", "xnodes", "input_ids", "constant_buffer", "mem_buffer_sizes")
    for name in (*same, "constant_data"):
        assert getattr(source, name) == getattr(graph, name)
    before, after = tensors(source), tensors(graph)
    assert before.keys() == after.keys()
    for value, tensor in after.items():
        restored = replace(tensor, external_id=before[value].external_id, flags=before[value].flags)
        assert restored == before[value]


def test_quantization_parameters_survive() -> None:
    net = Net()
    t = net.inner(4, datatype=QINT8, quant=x.PerTensorQuant(0.1, -7))
    net.unary(x.XNNConvert, net.input(4), t)
    net.unary(x.XNNConvert, t, net.output(4))
    result = opened(net)
    assert result.opened == (t,)
    union = (result.graph.source.xvalues or ())[t].xvalue_union
    assert isinstance(union, x.XNNQuantizedTensorValue)
    assert isinstance(union.quant_params, x.PerTensorQuant)
    assert (union.quant_params.scale, union.quant_params.zero_point) == (0.1, -7)


def test_kept_values_stay_inside_with_their_reason() -> None:
    net = Net()
    a, t, u, b = (net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE))
    net.conv(a, t)
    net.clamp(t, u)
    net.unary(x.XNNSigmoid, u, b)
    result = opened(net)
    assert result.opened == (u,)
    assert dict(result.kept) == {t: Link.CLAMP}
    assert tensors(result.graph.source)[t].flags == 0


def test_dead_values_are_never_opened() -> None:
    net, values = _chain()
    dead = net.inner(4)
    net.unary(x.XNNAbs, values[0], dead)
    result = opened(net)
    assert dead not in result.opened
    assert dead not in result.graph.values
    assert result.changes.simplified.dead_nodes == 1
    kept = open_payload(net.graph(), "net", switches=NO_SIMPLIFICATIONS)
    assert isinstance(kept, OpenedPayload)
    assert dead not in kept.opened
    assert kept.kept[dead] == Link.DEAD


def test_a_payload_without_inner_values_stays_as_it_is() -> None:
    net = Net()
    net.unary(x.XNNSigmoid, net.input(4), net.output(4))
    result = opened(net)
    assert result.opened == ()
    assert result.graph.source == net.graph()


@pytest.mark.parametrize("extra", [0, 1, 10])
def test_at_most_4096_arguments(extra: int) -> None:
    """The smallest values stay inside when there is no room for all."""
    net = Net()
    count = x.MAX_EXTERNALS - 2 + extra
    values = [net.inner(1 + (7 * k) % 5) for k in range(count)]
    chain = [net.input(4), *values, net.output(4)]
    for source, target in pairwise(chain):
        net.unary(x.XNNSoftmax, source, target)
    result = opened(net)
    assert result.graph.source.num_externs == x.MAX_EXTERNALS
    assert len(result.opened) == count - extra
    assert list(result.kept.values()) == [Link.LIMIT] * extra
    sizes = {v: result.graph.values[v].size_bytes or 0 for v in values}
    smallest = min(sizes[v] for v in result.opened)
    assert all(sizes[v] <= smallest for v in result.kept)
    assert list(result.opened) == [v for v in values if v not in result.kept]


# -- what stays closed --------------------------------------------------------------------


def test_closed_payloads_give_their_reason() -> None:
    net, _ = _chain()
    net.inner(4, datatype=FP16)
    result = open_payload(net.graph(), "net")
    assert isinstance(result, str)
    assert "fp16" in result


@pytest.mark.parametrize("position", [7, 0])
def test_arguments_with_gaps_or_twice_stay_closed(position: int) -> None:
    net, values = _chain()
    graph = net.graph()
    moved = [
        x.XValue(replace(tensor, external_id=position)) if k == values[-1] else x.XValue(tensor)
        for k, tensor in tensors(graph).items()
    ]
    result = open_payload(replace(graph, xvalues=tuple(moved)), "net")
    assert isinstance(result, str)
    assert "numbered with gaps" in result


def test_a_number_of_arguments_that_cannot_be_stays_closed() -> None:
    net, _ = _chain()
    graph = replace(net.graph(), num_externs=50_000_000)
    tracemalloc.start()
    result = open_payload(graph, "net")
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert isinstance(result, str)
    assert "numbered with gaps" in result
    assert peak_bytes < 1 << 20


# -- rewrites -----------------------------------------------------------------------------


def _nodes(result: OpenedPayload) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(node.name, node.inputs, node.outputs) for node in result.graph.nodes]


@pytest.mark.parametrize("kind", [x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv])
def test_bounds_of_binaries_become_clamps(kind: Any) -> None:
    net = Net()
    a, b, y = net.input(4), net.input(4), net.output(4)
    net.node(kind(a, b, y, 5), RELU6)
    result = opened(net)
    hidden = y + 1
    name = kind.__name__.removeprefix("XNN")
    assert _nodes(result) == [(name, (a, b), (hidden,)), ("Clamp", (hidden,), (y,))]
    first, second = result.graph.source.xnodes or ()
    assert (first.output_min_max, second.output_min_max) == (None, x.OutputMinMax(*RELU6))
    assert (first.debug_handle, second.debug_handle) == (0, 0)
    assert first.xnode_union == kind(a, b, hidden, 5)
    assert result.opened == (hidden,)
    assert result.changes.split_clamps == 1
    assert result.graph.values[hidden].dims == (4,)


def test_the_hidden_tensor_of_a_quantized_binary_has_its_parameters() -> None:
    net = Net()
    quant = x.PerTensorQuant(0.3, 11)
    a = net.input(4, datatype=QINT8)
    y = net.output(4, datatype=QINT8, quant=quant)
    net.binary(x.XNNAdd, a, a, y, RELU6)
    result = opened(net)
    values = {v.tensor_value.id_out: v for v in _quantized(result.graph.source)}  # type: ignore[union-attr]
    assert values[y + 1].quant_params == quant
    hidden = values[y + 1].tensor_value
    assert hidden is not None
    assert hidden.datatype == QINT8


def _quantized(graph: x.XNNGraph) -> list[x.XNNQuantizedTensorValue]:
    unions = (value.xvalue_union for value in graph.xvalues or ())
    return [union for union in unions if isinstance(union, x.XNNQuantizedTensorValue)]


@pytest.mark.parametrize("bounds", [None, (-inf, inf)])
def test_binaries_without_bounds_stay(bounds: tuple[float, float] | None) -> None:
    net = Net()
    a, b, y = net.input(4), net.input(4), net.output(4)
    net.binary(x.XNNAdd, a, b, y, bounds)
    assert opened(net).graph.source == net.graph()


def test_one_sided_bounds_are_bounds() -> None:
    for bounds in ((0.0, inf), (-inf, 0.0)):
        net = Net()
        a = net.input(4)
        net.binary(x.XNNAdd, a, a, net.output(4), bounds)
        assert opened(net).changes.split_clamps == 1


def test_bounds_of_other_nodes_stay_with_them() -> None:
    net = Net()
    a, t = net.input(*IMAGE), net.inner(*IMAGE)
    net.node(x.XNNGlobalAvgPooling2d(a, t), RELU6)
    net.unary(x.XNNAbs, t, net.output(*IMAGE))
    result = opened(net)
    assert result.changes.split_clamps == 0
    assert result.graph.nodes[0].xnode.output_min_max == x.OutputMinMax(*RELU6)


def test_pads_by_nothing_are_dropped_one_behind_the_other() -> None:
    net = Net()
    a, p, q, y = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    nothing = (0, 0, 0, 0)
    net.pad(a, p, nothing, nothing)
    net.pad(p, q, nothing, nothing)
    net.binary(x.XNNAdd, q, p, y)
    result = opened(net)
    assert _nodes(result) == [("Add", (a, a), (y,))]
    assert p not in result.graph.values
    assert q not in result.graph.values
    assert result.changes.useless_pads == 2
    assert result.opened == ()


def test_a_pad_by_nothing_into_an_argument_stays() -> None:
    net = Net()
    net.pad(net.input(*IMAGE), net.output(*IMAGE), (0, 0, 0, 0), (0, 0, 0, 0))
    assert opened(net).graph.source == net.graph()


@pytest.mark.parametrize("after", [(0, 0, 0, 1), (1, 0, 0, 0)])
def test_a_pad_by_something_stays(after: tuple[int, ...]) -> None:
    net = Net()
    t = net.inner(*IMAGE)
    net.pad(net.input(*IMAGE), t, (0, 0, 0, 0), after)
    net.unary(x.XNNAbs, t, net.output(*IMAGE))
    assert opened(net).changes.useless_pads == 0


def _padded_conversion(value: float = 0.0, target: int = QINT8) -> tuple[Net, list[int]]:
    net = Net()
    values = [net.input(1, 4, 4, 2), net.inner(1, 6, 6, 2), net.inner(1, 6, 6, 2, datatype=target)]
    pad = x.XNNStaticConstantPad((0, 1, 1, 0), (0, 1, 1, 0), value, values[0], values[1])
    net.node(pad)
    net.unary(x.XNNConvert, values[1], values[2])
    values.append(net.output(1, 6, 6, 2, datatype=target))
    net.pool(x.XNNMaxPooling2d, values[2], values[3])
    return net, values


def test_a_pad_moves_behind_a_conversion_to_eight_bits() -> None:
    net, (a, between, target, _) = _padded_conversion()
    result = opened(net)
    assert _nodes(result)[:2] == [
        ("Convert", (a,), (between,)),
        ("StaticConstantPad", (between,), (target,)),
    ]
    assert result.changes.moved_pads == 1
    graph = result.graph
    assert graph.values[between].tensor.datatype == QINT8
    assert graph.values[between].dims == (1, 4, 4, 2)
    assert graph.values[target].dims == (1, 6, 6, 2)
    params = [v.quant_params for v in _quantized(graph.source)]
    assert params == [x.PerTensorQuant(0.5, 3)] * 3
    assert result.opened == (between, target)


@pytest.mark.parametrize("value", [0.5, float("nan")])
def test_a_pad_with_something_else_than_zero_does_not_move(value: float) -> None:
    net, _ = _padded_conversion(value)
    assert opened(net).changes.moved_pads == 0


def test_a_pad_that_others_read_does_not_move() -> None:
    net, values = _padded_conversion()
    net.unary(x.XNNAbs, values[1], net.output(1, 6, 6, 2))
    assert opened(net).changes.moved_pads == 0


def test_a_pad_in_front_of_a_dynamic_quantization_does_not_move() -> None:
    net = Net()
    a, p = net.input(1, 4, 4, 2), net.inner(1, 6, 6, 2)
    q = net.inner(1, 6, 6, 2, datatype=QDINT8, quant=x.PerTokenDynamicQuant(1))
    net.pad(a, p, (0, 1, 1, 0), (0, 1, 1, 0))
    net.unary(x.XNNConvert, p, q)
    net.linear(q, net.output(1, 6, 6, 3))
    assert opened(net).changes.moved_pads == 0


# -- what is computed ---------------------------------------------------------------------


def _pads(pad: x.XNNStaticConstantPad) -> bool:
    return sum(pad.pre_paddings or ()) + sum(pad.post_paddings or ()) > 0


def _expression(graph: Graph, value: int, known: dict[int, Any]) -> Any:
    """What a value is, as a nested tuple, in one spelling for everything that is equal."""
    if value not in known:
        node = graph.producer.get(value)
        known[value] = ("value", value) if node is None else _spelled(graph, node, known)
    return known[value]


def _spelled(graph: Graph, node: Node, known: dict[int, Any]) -> Any:
    union, bounds = node.xnode.xnode_union, node.xnode.output_min_max
    assert union is not None
    operands = tuple(_expression(graph, v, known) for v in node.inputs)
    names = (f.name for f in fields(union) if not f.name.endswith("_id"))
    attributes = tuple(repr(getattr(union, name)) for name in names)
    if isinstance(union, x.XNNStaticConstantPad) and not _pads(union):
        return operands[0]
    target = graph.values[node.outputs[0]].tensor
    limits = (repr(bounds.output_min), repr(bounds.output_max)) if bounds else None
    if node.kind is x.XNNConvert and operands[0][0] == "StaticConstantPad":
        # zero converts to the zero point: the pad may be on either side
        _, pad_attributes, (inner,), _, pad_limits = operands[0]
        converted = ("Convert", attributes, (inner,), target.datatype, limits)
        return ("StaticConstantPad", pad_attributes, (converted,), target.datatype, pad_limits)
    plain = (node.name, attributes, operands, target.datatype)
    if node.kind in (x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv):
        return ("Clamp", limits, plain) if limits not in (None, ("-inf", "inf")) else plain
    if node.kind is x.XNNClamp:
        return ("Clamp", limits, operands[0])
    return (*plain, limits)


def _outputs(graph: Graph, wanted: Mapping[int, int]) -> dict[int, Any]:
    known: dict[int, Any] = {}
    return {p: _expression(graph, v, known) for p, v in graph.externals.items() if p in wanted}


@given(random_nets(max_nodes=9))
def test_every_argument_is_computed_as_before(net: Net) -> None:
    before = net.index()
    # what the simplifications compute is compared by value in test_simplify_semantics.py
    result = open_payload(net.graph(), "net", switches=NO_SIMPLIFICATIONS)
    assume(not isinstance(result, str))
    assert not isinstance(result, str)
    wanted = before.externals
    assert _outputs(result.graph, wanted) == _outputs(before, wanted)


@given(random_nets(max_nodes=9))
def test_arguments_and_kept_values_add_up(net: Net) -> None:
    result = open_payload(net.graph(), "net")
    assume(not isinstance(result, str))
    assert not isinstance(result, str)
    graph, source = result.graph, net.graph()
    assert sorted(graph.externals) == list(range(source.num_externs + len(result.opened)))
    assert [graph.externals[source.num_externs + k] for k in range(len(result.opened))] == list(
        result.opened
    )
    produced = {value for node in graph.nodes for value in node.outputs}
    original = set(index_graph(source, "net").externals.values())
    assert {*result.opened, *result.kept} == produced - original
    assert not set(result.opened) & set(result.kept)
    assert all(graph.values[v].is_internal for v in result.kept)


# -- bits ---------------------------------------------------------------------------------

_ODD_FLOATS = (0.1, -0.0, 1e-45, 3.4028234663852886e38, inf, -inf, 1.0000001192092896)


def _reread(graph: x.XNNGraph, constants: bytes = b"") -> x.XNNGraph:
    net = Net()
    payload = read_payload((net.payload(),), "net")
    data = read_data(build_payload(replace(payload, graph=graph, constants=(constants,))))
    return read_payload((data,), "net").graph


@pytest.mark.parametrize("number", [struct.unpack("<f", bits(f))[0] for f in _ODD_FLOATS])
def test_floats_come_back_bit_by_bit(number: float) -> None:
    net = Net()
    a = net.input(4, datatype=QINT8, quant=x.PerTensorQuant(number, 0))
    t = net.inner(4, quant=x.PerChannelQuant((number, 1.0, number), 0))
    net.node(x.XNNStaticConstantPad((1,), (1,), number, a, t))
    net.node(x.XNNLeakyReLU(number, t, net.output(4)), (number, number))
    graph = _reread(net.graph())
    assert graph == net.graph()
    first = _quantized(graph)[0].quant_params
    pad, leaky = (node.xnode_union for node in graph.xnodes or ())
    limits = (graph.xnodes or ())[1].output_min_max
    assert isinstance(first, x.PerTensorQuant)
    assert isinstance(pad, x.XNNStaticConstantPad)
    assert isinstance(leaky, x.XNNLeakyReLU)
    assert limits is not None
    found = (first.scale, pad.padding_value, leaky.negative_slope, limits.output_max)
    assert [bits(f) for f in found] == [bits(number)] * 4


def test_a_nan_comes_back() -> None:
    net = Net()
    net.node(x.XNNStaticConstantPad((1,), (1,), float("nan"), net.input(4), net.output(6)))
    pad = (_reread(net.graph()).xnodes or ())[0].xnode_union
    assert isinstance(pad, x.XNNStaticConstantPad)
    assert pad.padding_value != pad.padding_value


@given(random_nets(max_nodes=9))
def test_an_opened_payload_survives_its_file(net: Net) -> None:
    result = open_payload(net.graph(), "net")
    graph = net.graph() if isinstance(result, str) else result.graph.source
    assert _reread(graph) == graph


def test_constants_are_handed_on() -> None:
    net = Net()
    net.binary(x.XNNAdd, net.input(4), net.constant(4, numbers=(1.5, -2.0)), net.output(4))
    payload = read_payload((net.payload(),), "net")
    assert payload.graph == net.graph()
    assert read_data(payload.constants) == struct.pack("<4f", 1.5, -2.0, 1.5, -2.0)
    assert FP32 == 1
