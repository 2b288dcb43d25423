"""The indexed view of a payload's graph."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.call import understand_call
from onearena.delegates.xnnpack.graph import Graph, index_graph, index_like, once_for_all_alike
from onearena.delegates.xnnpack.rules import effective_order
from onearena.errors import FormatError
from tests.delegates.nets import FP16, FP32, INT32, QCINT8, QDINT8, QINT8, Net


def test_values_and_their_kinds() -> None:
    net = Net()
    a, t, w, b = net.input(2, 3), net.inner(4), net.constant(5), net.output(1)
    graph = net.index()
    kinds = [
        (v.is_external, v.is_internal, v.is_constant)
        for v in map(graph.values.get, (a, t, w, b))
        if v is not None
    ]
    external, internal, constant = (True, False, False), (False, True, False), (False, False, True)
    assert kinds == [external, internal, constant, external]
    assert graph.externals == {0: a, 1: b}
    assert graph.values[a].element_count == 6


@pytest.mark.parametrize(
    ("datatype", "size_bytes"),
    [(FP32, 24), (FP16, 12), (QINT8, 6), (INT32, 24), (QDINT8, None), (QCINT8, None)],
)
def test_sizes(datatype: int, size_bytes: int | None) -> None:
    net = Net()
    value = net.inner(2, 3, datatype=datatype)
    assert net.index().values[value].size_bytes == size_bytes


def test_an_empty_shape_has_one_element_and_a_zero_has_none() -> None:
    net = Net()
    scalar, empty = net.inner(), net.inner(2, 0)
    graph = net.index()
    assert graph.values[scalar].element_count == 1
    assert graph.values[empty].element_count == 0


def test_producers_and_consumers_in_order_each_once() -> None:
    net = Net()
    a, t, b = net.input(4), net.inner(4), net.output(4)
    net.unary(x.XNNAbs, a, t)
    net.binary(x.XNNMultiply, t, t, b)
    graph = net.index()
    assert {value: node.index for value, node in graph.producer.items()} == {t: 0, b: 1}
    assert [node.index for node in graph.consumers[t]] == [1]
    assert graph.nodes[1].inputs == (t, t)
    assert graph.activations(graph.nodes[1]) == (t,)
    assert graph.nodes[1].name == "Multiply"


@pytest.mark.parametrize("count", [2, 3, 4, 5])
def test_concatenate_reads_its_first_n_only(count: int) -> None:
    """The unused fields read 0, which is a value of its own."""
    net = Net()
    net.input(9)
    sources = [net.input(1) for _ in range(count)]
    net.concatenate(sources, net.output(count))
    graph = net.index()
    assert graph.nodes[0].inputs == tuple(sources)
    assert 0 not in graph.consumers


def test_an_absent_bias_is_no_operand() -> None:
    net = Net()
    source, target = net.input(1, 4), net.output(1, 2)
    weight = net.constant(2, 4)
    net.linear(source, target, weight)
    assert net.index().nodes[0].inputs == (source, weight)


def test_both_outputs_of_argmax_pooling() -> None:
    net = Net()
    source, value, index = net.input(1, 4, 4, 1), net.output(1, 2, 2, 1), net.output(1, 2, 2, 1)
    net.node(x.XNNArgMaxPooling2d(0, 0, 0, 0, 2, 2, source, value, index))
    assert net.index().nodes[0].outputs == (value, index)


@pytest.mark.parametrize("kind", x.NODE_TYPES)
def test_every_operator_gets_its_operands_by_role(kind: type) -> None:
    """Each `*_id` field is an input or an output, and nothing else is."""
    names = [f.name for f in fields(kind) if f.name.endswith("_id")]
    net = Net()
    values = {name: net.input(1) for name in names}
    net.node(kind(**values))
    node = net.index().nodes[0]
    outputs = [values[name] for name in names if "output" in name]
    assert node.outputs == tuple(outputs)
    assert outputs
    expected = [values[name] for name in names if "output" not in name]
    if issubclass(kind, x.Concatenate):
        expected = expected[: int(kind.__name__[-1])]
    assert sorted(node.inputs) == sorted(expected)


def test_live_is_what_an_output_depends_on() -> None:
    net = Net()
    a, unused, dead, used, b = net.input(4), net.input(4), net.inner(4), net.inner(4), net.output(4)
    net.unary(x.XNNAbs, a, dead)
    net.unary(x.XNNAbs, a, used)
    net.unary(x.XNNAbs, used, b)
    graph = net.index()
    assert graph.live == {a, used, b}
    assert unused not in graph.live


def test_an_id_used_twice_is_an_error() -> None:
    net = Net()
    net.input(4)
    net.inner(4, id_out=0)
    with pytest.raises(FormatError, match="defined twice"):
        net.index()


def test_a_missing_value_is_an_error() -> None:
    net = Net()
    net.unary(x.XNNAbs, net.input(4), 77)
    with pytest.raises(FormatError, match="missing value 77"):
        net.index()


def test_a_value_or_a_node_without_a_table_is_an_error() -> None:
    net = Net()
    net.unary(x.XNNAbs, net.input(4), net.output(4))
    graph = net.graph()
    no_tensor = replace(graph, xvalues=(*(graph.xvalues or ()), x.XValue(None)))
    with pytest.raises(FormatError, match="no tensor"):
        index_graph(no_tensor, "net")
    no_node = replace(graph, xnodes=(x.XNode(None),))
    with pytest.raises(FormatError, match="no operator"):
        index_graph(no_node, "net")


# -- payloads that are alike --------------------------------------------------------------


def layer(handle: int = 0) -> Net:
    """A convolution, a clamp that is merged into it, and a quantized value."""
    net = Net()
    a, t, u, b = net.input(1, 8, 8, 4), net.inner(1, 8, 8, 4), net.inner(4), net.output(1, 8, 8, 4)
    q, r = net.inner(1, 8, 8, 4, datatype=QINT8), net.inner(1, 8, 8, 4)
    net.conv(a, t)
    net.clamp(t, r)
    net.unary(x.XNNConvert, r, q)
    net.unary(x.XNNConvert, q, b)
    net.unary(x.XNNAbs, u, u)
    net.nodes = [replace(node, debug_handle=handle + k) for k, node in enumerate(net.nodes)]
    return net


def test_layers_that_differ_in_weights_and_handles_are_alike() -> None:
    first = layer().index()
    source = layer(handle=100).graph()
    moved = tuple(replace(at, offset=at.offset + 64) for at in source.constant_data or ())
    source = replace(source, constant_data=moved)
    alike = index_like(source, first)
    assert alike is not None
    assert alike == index_graph(source, "net")
    assert alike.source is source
    assert [node.xnode.debug_handle for node in alike.nodes] == [100, 101, 102, 103, 104]
    assert alike.producer == index_graph(source, "net").producer


def test_what_is_found_out_about_one_is_known_about_all_alike() -> None:
    asked: list[Graph] = []

    @once_for_all_alike
    def count(graph: Graph) -> int:
        asked.append(graph)
        return len(graph.nodes)

    first = layer().index()
    alike, other = index_like(layer(handle=7).graph(), first), layer().index()
    assert alike is not None
    assert (count(first), count(alike), count(first), count(other)) == (5, 5, 5, 5)
    assert asked == [first, other]
    assert count(replace(first, nodes=first.nodes[:2])) == 2  # a changed graph knows nothing


def test_calls_of_payloads_that_are_alike_have_arguments_of_their_own() -> None:
    first = layer().index()
    alike = index_like(layer(handle=7).graph(), first)
    assert alike is not None
    one, other = understand_call(first, (3, 4), False), understand_call(alike, (8, 9), False)
    assert one.kept is other.kept
    assert one.order is other.order
    assert other.order == effective_order(alike, other.kept)
    assert [one.values(node.outputs) for node in first.nodes] == [(), (), (), (4,), ()]
    assert [other.values(node.outputs) for node in alike.nodes] == [(), (), (), (9,), ()]
    assert other.values(alike.nodes[0].inputs) == (8,)


def _changes(graph: x.XNNGraph) -> dict[str, x.XNNGraph]:
    """The graph with one thing changed, everything once that a node or a value says."""
    found: dict[str, x.XNNGraph] = {
        "fewer nodes": replace(graph, xnodes=(graph.xnodes or ())[:-1]),
        "fewer values": replace(graph, xvalues=(graph.xvalues or ())[:-1]),
        "version": replace(graph, version="another"),
        "externs": replace(graph, num_externs=graph.num_externs + 1),
        "inputs": replace(graph, input_ids=()),
        "outputs": replace(graph, output_ids=()),
    }
    nodes = graph.xnodes or ()
    for position, node in enumerate(nodes):
        bounds = x.OutputMinMax(-3.0, 3.0)
        others = {"bounds": replace(node, output_min_max=bounds), "kind": x.XNode(x.XNNFloor(0, 1))}
        union: Any = node.xnode_union
        for member in fields(union):
            number = getattr(union, member.name)
            changed_union = replace(union, **{member.name: number + 1})
            others[member.name] = replace(node, xnode_union=changed_union)
        for name, other in others.items():
            changed = (*nodes[:position], other, *nodes[position + 1 :])
            found[f"node {position}: {name}"] = replace(graph, xnodes=changed)
    values = graph.xvalues or ()
    for position, value in enumerate(values):
        for name, other_value in _changed_values(value).items():
            rest = values[position + 1 :]
            changed_values = (*values[:position], other_value, *rest)
            found[f"value {position}: {name}"] = replace(graph, xvalues=changed_values)
    return found


def _changed_values(value: x.XValue) -> dict[str, x.XValue]:
    union: Any = value.xvalue_union
    quantized = isinstance(union, x.XNNQuantizedTensorValue)
    tensor = union.tensor_value if quantized else union
    found: dict[str, x.XValue] = {}
    for member in fields(tensor):
        old = getattr(tensor, member.name)
        new = (*(old or ()), 2) if member.name == "dims" else (old or 0) + 1
        other = replace(tensor, **{member.name: new})
        changed = replace(union, tensor_value=other) if quantized else other
        found[member.name] = x.XValue(changed)
    if quantized:
        assert isinstance(union.quant_params, x.PerTensorQuant)
        quant = replace(union.quant_params, scale=union.quant_params.scale + 1.0)
        found["scale"] = x.XValue(replace(union, quant_params=quant))
        found["no scale"] = x.XValue(tensor)
    return found


CHANGES = _changes(layer().graph())


@pytest.mark.parametrize("change", CHANGES)
def test_what_says_something_else_is_not_alike(change: str) -> None:
    first = layer().index()
    assert index_like(layer().graph(), first) is not None
    assert index_like(CHANGES[change], first) is None
