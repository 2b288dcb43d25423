"""Each pass by itself: what it takes out, and what it must leave alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.normalise import normalise
from onearena.delegates.xnnpack.simplify import Simplified, simplify
from onearena.delegates.xnnpack.simplify_names import content_names
from onearena.delegates.xnnpack.simplify_switches import NO_SIMPLIFICATIONS, Simplifications
from tests.delegates.nets import QINT8, Net

IMAGE = (1, 6, 8, 4)
TO_PYTORCH, TO_XNNPACK = (0, 3, 1, 2), (0, 2, 3, 1)
TURNED = (1, 4, 6, 8)
OFF = NO_SIMPLIFICATIONS


def simplified(net: Net, is_static: bool = True, **switches: bool) -> tuple[Graph, Simplified]:
    """After the passes that are named, or all of them."""
    chosen = replace(OFF, **switches) if switches else Simplifications()
    return simplify(net.index(), "net", chosen, is_static)


def nodes(graph: Graph) -> list[tuple[str, tuple[int, ...], tuple[int, ...]]]:
    return [(node.name, node.inputs, node.outputs) for node in graph.nodes]


def names(graph: Graph) -> list[str]:
    return [node.name for node in graph.nodes]


def unchanged(net: Net, is_static: bool = True, **switches: bool) -> bool:
    graph, counts = simplified(net, is_static, **switches)
    return graph.source == net.graph() and counts == Simplified()


# -- dead nodes ---------------------------------------------------------------------------


def test_dead_nodes_go_with_their_values_and_weights() -> None:
    net = Net()
    a, dead, deader = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE)
    net.conv(a, dead)
    net.unary(x.XNNAbs, dead, deader)
    net.unary(x.XNNAbs, a, net.output(*IMAGE))
    graph, counts = simplified(net, dead_nodes=True)
    assert counts == Simplified(dead_nodes=2)
    assert names(graph) == ["Abs"]
    assert sorted(graph.values) == [a, graph.source.output_ids[0]]  # type: ignore[index]
    assert graph.source.constant_data == net.graph().constant_data


def test_a_node_with_one_needed_output_is_not_dead() -> None:
    net = Net()
    a, best, index = net.input(*IMAGE), net.output(1, 3, 4, 4), net.inner(1, 3, 4, 4)
    net.node(x.XNNArgMaxPooling2d(input_id=a, output_value_id=best, output_index_id=index))
    assert unchanged(net, dead_nodes=True)


def test_an_unused_input_stays() -> None:
    net = Net()
    net.input(*IMAGE)
    net.unary(x.XNNAbs, net.input(*IMAGE), net.output(*IMAGE))
    assert unchanged(net)


# -- chains of layouts --------------------------------------------------------------------


def turned_and_back(middle_read: bool = False, kind: Any = x.XNNSoftmax) -> tuple[Net, list[int]]:
    net = Net()
    a, t = net.input(*IMAGE), net.inner(*IMAGE)
    m, u, y = net.inner(*TURNED), net.inner(*IMAGE), net.output(*IMAGE)
    net.unary(x.XNNSoftmax, a, t)
    net.transpose(t, m, *TO_PYTORCH)
    net.transpose(m, u, *TO_XNNPACK)
    net.unary(kind, u, y)
    if middle_read:
        net.unary(x.XNNSoftmax, m, net.output(*TURNED))
    return net, [a, t, m, u, y]


@pytest.mark.parametrize("is_static", [True, False])
def test_a_transpose_and_its_inverse_go(is_static: bool) -> None:
    net, (a, t, _, _, y) = turned_and_back()
    graph, counts = simplified(net, is_static, layout_chains=True)
    assert counts == Simplified(transposes=2)
    assert nodes(graph) == [("Softmax", (a,), (t,)), ("Softmax", (t,), (y,))]


def test_what_others_read_stays() -> None:
    net, (a, t, m, _, y) = turned_and_back(middle_read=True)
    graph, counts = simplified(net, layout_chains=True)
    assert counts == Simplified(transposes=1)
    assert nodes(graph)[:3] == [
        ("Softmax", (a,), (t,)),
        ("StaticTranspose", (t,), (m,)),
        ("Softmax", (t,), (y,)),
    ]


def test_nothing_lives_longer_for_a_chain_that_others_need() -> None:
    net = Net()
    a, t, m = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*TURNED)
    n, u = net.inner(*TURNED), net.inner(*IMAGE)
    net.unary(x.XNNSoftmax, a, t)
    net.transpose(t, m, *TO_PYTORCH)
    net.conv(m, n)  # t would have to stay while this runs
    net.transpose(m, u, *TO_XNNPACK)
    net.unary(x.XNNSoftmax, u, net.output(*IMAGE))
    net.unary(x.XNNSoftmax, n, net.output(*TURNED))
    assert unchanged(net, layout_chains=True)


def test_two_transposes_become_one() -> None:
    net = Net()
    a, m, y = net.input(2, 3, 4), net.inner(3, 2, 4), net.output(4, 3, 2)
    net.transpose(a, m, 1, 0, 2)
    net.transpose(m, y, 2, 0, 1)
    for is_static in (True, False):
        graph, counts = simplified(net, is_static, layout_chains=True)
        assert counts == Simplified(transposes=1)
        (node,) = graph.nodes
        assert node.xnode.xnode_union == x.XNNStaticTranspose(3, (2, 1, 0), a, y)


def test_a_transpose_of_single_axes_becomes_a_reshape_where_shapes_are_known() -> None:
    net = Net()
    a, y = net.input(1, 6, 8, 1), net.output(1, 1, 6, 8)
    net.transpose(a, y, *TO_PYTORCH)
    graph, counts = simplified(net, layout_chains=True)
    assert counts == Simplified(transposes=1, reshapes=-1)
    assert graph.nodes[0].xnode.xnode_union == x.XNNStaticReshape(4, (1, 1, 6, 8), a, y)
    assert unchanged(net, is_static=False, layout_chains=True)


def test_an_order_that_ends_in_an_argument_as_it_began_is_a_reshape() -> None:
    net = Net()
    a, m, y = net.input(*IMAGE), net.inner(*TURNED), net.output(*IMAGE)
    net.transpose(a, m, *TO_PYTORCH)
    net.transpose(m, y, *TO_XNNPACK)
    graph, counts = simplified(net, layout_chains=True)
    assert counts == Simplified(transposes=2, reshapes=-1)
    assert nodes(graph) == [("StaticReshape", (a,), (y,))]
    assert unchanged(net, is_static=False, layout_chains=True)


def test_reshapes_in_a_row_become_one_or_none() -> None:
    net = Net()
    a, m, n, o = net.input(2, 12), net.inner(24), net.inner(4, 6), net.inner(2, 12)
    net.reshape(a, m)
    net.reshape(m, n)
    net.unary(x.XNNSoftmax, n, net.output(4, 6))
    net.reshape(n, o)
    net.unary(x.XNNSoftmax, o, net.output(2, 12))
    graph, counts = simplified(net, layout_chains=True)
    assert counts.transposes == 0
    assert counts.reshapes == 2
    assert names(graph).count("StaticReshape") == 1
    assert (a,) in [node.inputs for node in graph.nodes if node.name == "Softmax"]
    assert unchanged(net, is_static=False, layout_chains=True)


def test_an_inferred_dimension_is_what_is_left() -> None:
    net = Net()
    a, m, y = net.input(2, 12), net.inner(24), net.output(4, 6)
    net.node(x.XNNStaticReshape(1, (0,), a, m))
    net.node(x.XNNStaticReshape(2, (4, 0), m, y))
    graph, _ = simplified(net, layout_chains=True)
    assert [node.xnode.xnode_union for node in graph.nodes] == [x.XNNStaticReshape(2, (4, 6), a, y)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ({"datatype": QINT8}, {"datatype": QINT8, "quant": x.PerTensorQuant(0.25, 3)}),
        ({"datatype": QINT8}, {}),
    ],
)
def test_other_types_or_parameters_are_no_layout(before: Any, after: Any) -> None:
    net = Net()
    a, m, y = net.input(2, 3, **before), net.inner(3, 2, **after), net.output(2, 3, **after)
    net.transpose(a, m, 1, 0)
    net.transpose(m, y, 1, 0)
    assert unchanged(net, layout_chains=True)


@pytest.mark.parametrize("perm", [(0, 0), (0, 1, 2), (1, 2)])
def test_transposes_that_are_none_stay(perm: tuple[int, ...]) -> None:
    net = Net()
    a, m = net.input(1, 6), net.inner(6, 1)
    net.transpose(a, m, *perm)
    net.unary(x.XNNSoftmax, m, net.output(6, 1))
    assert unchanged(net)


def test_constants_keep_their_nodes() -> None:
    net = Net()
    w, m = net.constant(1, 6), net.inner(6, 1)
    net.transpose(w, m, 1, 0)
    net.binary(x.XNNAdd, net.input(6, 1), m, net.output(6, 1))
    assert unchanged(net)


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (x.XNNAbs, x.XNNTanh),  # may become a table
        (x.XNNSquare, x.XNNGlobalAvgPooling2d),
        (x.XNNMaxPooling2d, x.XNNClamp),
    ],
)
def test_nodes_that_xnnpack_may_merge_do_not_become_neighbours(first: Any, second: Any) -> None:
    net = Net()
    a, t, m, y = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    if first is x.XNNMaxPooling2d:
        net.pool(first, a, t)
    else:
        net.unary(first, a, t)
    net.unary(x.XNNCopy, t, m)
    net.node(second(m, y), (0.0, 6.0) if second is x.XNNClamp else None)
    assert unchanged(net, layout_chains=True)


def test_mixed_chains_become_one_transpose() -> None:
    """The heads of an attention layer."""
    net = Net()
    values = [net.input(1, 10, 12), *(net.inner(*d) for d in ((1, 10, 3, 4), (1, 3, 10, 4)))]
    values += [net.inner(10, 1, 3, 4), net.inner(1, 3, 10, 4), net.output(3, 10, 4)]
    net.reshape(values[0], values[1])
    net.transpose(values[1], values[2], 0, 2, 1, 3)
    net.transpose(values[2], values[3], 2, 0, 1, 3)
    net.transpose(values[3], values[4], 1, 2, 0, 3)
    net.reshape(values[4], values[5])
    graph, counts = simplified(net, layout_chains=True)
    assert counts == Simplified(transposes=2)
    assert [node.xnode.xnode_union for node in graph.nodes] == [
        x.XNNStaticReshape(4, (1, 10, 3, 4), values[0], values[1]),
        x.XNNStaticTranspose(4, (0, 2, 1, 3), values[1], values[2]),
        x.XNNStaticReshape(3, (3, 10, 4), values[2], values[5]),
    ]


def test_the_transpose_that_is_left_writes_what_had_the_order_before() -> None:
    """Else the verifier would take the argument for something else."""
    net = Net()
    a, m, n = net.input(2, 3, 4), net.inner(3, 2, 4), net.inner(4, 3, 2)
    o, y = net.inner(12, 2), net.output(12, 2)
    net.transpose(a, m, 1, 0, 2)
    net.transpose(m, n, 2, 0, 1)
    net.reshape(n, o)
    net.unary(x.XNNCopy, o, y)
    graph, counts = simplified(net, layout_chains=True)
    assert counts == Simplified(transposes=1, reshapes=1)
    assert nodes(graph) == [("StaticTranspose", (a,), (n,)), ("StaticReshape", (n,), (y,))]
    assert graph.values[n].dims == (4, 3, 2)


def test_an_order_that_cannot_be_followed_stays() -> None:
    net = Net()
    a, m, n, y = net.input(2, 3), net.inner(3, 2), net.inner(2, 3), net.output(3, 2)
    net.transpose(a, m, 1, 0)
    net.reshape(m, n)
    net.transpose(n, y, 1, 0)
    assert unchanged(net)


# -- names --------------------------------------------------------------------------------


def test_names_do_not_tell_the_way() -> None:
    net, (_, t, m, u, y) = turned_and_back(middle_read=True)
    for is_static in (True, False):
        found = content_names(net.index(), is_static)
        assert found[t] == found[u] == t
        assert found[m] == m
        assert found[y] == y


def test_reshapes_end_what_is_known_of_dynamic_shapes() -> None:
    net = Net()
    a, m, n, y = net.input(2, 3), net.inner(3, 2), net.inner(3, 1, 2), net.output(2, 1, 3)
    net.transpose(a, m, 1, 0)
    net.reshape(m, n)
    net.transpose(n, y, 2, 1, 0)
    assert content_names(net.index(), True)[y] == a
    dynamic = content_names(net.index(), False)
    assert dynamic[n] == dynamic[m]
    assert dynamic[y] not in (a, dynamic[m])


# -- duplicates ---------------------------------------------------------------------------


def doubled(kind: Any = x.XNNSoftmax, *, apart: bool = False) -> tuple[Net, list[int]]:
    """Two nodes of a kind; the first result is read after the second is made, unless `apart`."""
    net = Net()
    values = [net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE)]
    a, first, second = values
    net.unary(kind, a, first)
    if apart:
        net.conv(first, net.output(*IMAGE))
    net.unary(kind, a, second)
    if not apart:
        net.conv(first, net.output(*IMAGE))
    net.conv(second, net.output(*IMAGE))
    return net, values


@pytest.mark.parametrize("kind", [x.XNNSoftmax, x.XNNSigmoid, x.XNNCopy])
def test_what_is_computed_twice_is_computed_once(kind: Any) -> None:
    net, (a, first, second) = doubled(kind)
    graph, counts = simplified(net, duplicates=True)
    assert counts == Simplified(duplicates=1)
    assert second not in graph.values
    assert [n.inputs[0] for n in graph.nodes] == [a, first, first]


def test_a_result_does_not_wait_to_be_used_again() -> None:
    assert unchanged(doubled(apart=True)[0], duplicates=True)


def test_results_that_share_their_operands_memory_may_wait() -> None:
    _, counts = simplified(doubled(x.XNNCopy, apart=True)[0], duplicates=True)
    assert counts == Simplified(duplicates=1)


@pytest.mark.parametrize("kind", [x.XNNConvert, x.XNNSquare, x.XNNClamp])
def test_what_xnnpack_may_merge_stays_double(kind: Any) -> None:
    assert unchanged(doubled(kind)[0], duplicates=True)


def test_eight_bit_payloads_keep_their_duplicates() -> None:
    """A value that loses a reader could become part of a table."""
    net, _ = doubled()
    net.unary(x.XNNTanh, net.input(4, datatype=QINT8), net.output(4, datatype=QINT8))
    assert unchanged(net, duplicates=True)


def test_other_attributes_are_no_duplicates() -> None:
    net = Net()
    a, p, q = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE)
    net.node(x.XNNLeakyReLU(0.0, a, p))
    net.node(x.XNNLeakyReLU(-0.0, a, q))
    net.conv(p, net.output(*IMAGE))
    net.conv(q, net.output(*IMAGE))
    assert unchanged(net, duplicates=True)


# -- padding ------------------------------------------------------------------------------


def padded(
    readers: int = 1, value: float = 0.0, size: int = 3, kind: Any = x.XNNConv2d, **fields: Any
) -> tuple[Net, list[int]]:
    net = Net()
    values = [net.input(1, 6, 8, 4), net.inner(1, 8, 11, 4)]
    net.node(x.XNNStaticConstantPad((0, 1, 2, 0), (0, 1, 1, 0), value, *values))
    for _ in range(readers):
        net.conv(values[1], net.output(1, 8, 11, 4), kind, size, **fields)
    return net, values


@pytest.mark.parametrize("readers", [1, 2])
@pytest.mark.parametrize("kind", [x.XNNConv2d, x.XNNDepthwiseConv2d])
def test_padding_goes_into_convolutions(readers: int, kind: Any) -> None:
    net, (a, p) = padded(readers, kind=kind)
    graph, counts = simplified(net, padding=True)
    assert counts == Simplified(merged_pads=1)
    assert p not in graph.values
    for node in graph.nodes:
        union = node.xnode.xnode_union
        assert isinstance(union, x.Convolution)
        sides = (union.padding_top, union.padding_bottom, union.padding_left, union.padding_right)
        assert sides == (2, 2, 3, 2)
        assert union.input1_id == a


@pytest.mark.parametrize(
    "options",
    [
        {"value": 1.0},
        {"value": -0.0},
        {"flags": 0x4},
        {"size": 1},  # runs as a fully connected layer
        {"size": 1, "readers": 2, "kind": x.XNNDepthwiseConv2d},
    ],
)
def test_padding_that_cannot_be_merged_stays(options: dict[str, Any]) -> None:
    assert unchanged(padded(**options)[0], padding=True)


def test_padding_that_others_read_stays() -> None:
    net, values = padded()
    net.unary(x.XNNSoftmax, values[1], net.output(1, 8, 11, 4))
    assert unchanged(net, padding=True)


def test_padding_of_channels_stays() -> None:
    net = Net()
    p = net.inner(1, 6, 8, 6)
    net.pad(net.input(*IMAGE), p, (0, 0, 0, 1), (0, 0, 0, 1))
    net.conv(p, net.output(1, 6, 8, 6))
    assert unchanged(net, padding=True)


def test_padding_with_other_parameters_stays() -> None:
    net = Net()
    a = net.input(*IMAGE, datatype=QINT8)
    p = net.inner(1, 7, 8, 4, datatype=QINT8, quant=x.PerTensorQuant(0.5, 4))
    net.pad(a, p, (0, 1, 0, 0), (0, 0, 0, 0))
    net.conv(p, net.output(1, 7, 8, 4, datatype=QINT8))
    assert unchanged(net, padding=True)


# -- transposed operands ------------------------------------------------------------------


def product(readers: int = 2, perm: tuple[int, ...] = (0, 2, 1)) -> tuple[Net, list[int]]:
    net = Net()
    values = [net.input(2, 5, 5), net.input(2, 5, 5), net.inner(2, 5, 5)]
    net.transpose(values[1], values[2], *perm)
    for flags in range(readers):
        net.matmul(values[0], values[2], net.output(2, 5, 5), flags)
    return net, values


def test_products_read_operands_before_they_are_transposed() -> None:
    net, (a, b, t) = product()
    graph, counts = simplified(net, is_static=False, transposed_operands=True)
    assert counts == Simplified(flagged_transposes=1)
    assert t not in graph.values
    unions = [node.xnode.xnode_union for node in graph.nodes]
    assert [getattr(union, "flags", None) for union in unions] == [1, 0]
    assert [node.inputs for node in graph.nodes] == [(a, b), (a, b)]


def test_other_transposes_and_other_readers_stay() -> None:
    assert unchanged(product(perm=(1, 0, 2))[0], transposed_operands=True)
    net, (_, _, t) = product()
    net.unary(x.XNNSoftmax, t, net.output(2, 5, 5))
    assert unchanged(net, transposed_operands=True)
    net, (_, b, t) = product()
    net.matmul(t, b, net.output(2, 5, 5))
    assert unchanged(net, transposed_operands=True)


# -- all together -------------------------------------------------------------------------


def test_every_pass_can_be_switched_off() -> None:
    net, _ = turned_and_back()
    net.unary(x.XNNAbs, 0, net.inner(*IMAGE))
    graph, counts = simplify(net.index(), "net", OFF, is_static=True)
    assert graph.source == net.graph()
    assert counts == Simplified()


def test_normalising_says_what_was_taken_out() -> None:
    net, _ = turned_and_back()
    _, changes = normalise(net.index(), "net", is_static=True)
    assert changes.simplified == Simplified(transposes=2)
    _, changes = normalise(net.index(), "net", OFF, is_static=True)
    assert changes.simplified == Simplified()


def test_a_second_time_changes_nothing() -> None:
    net, _ = padded(2)
    net.unary(x.XNNAbs, 0, net.inner(1, 6, 8, 4))
    once, _ = simplified(net)
    again, counts = simplify(once, "net", is_static=True)
    assert again.source == once.source
    assert counts == Simplified()
