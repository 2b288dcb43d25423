"""Shapes that a payload declares, and those that its nodes give its values."""

from __future__ import annotations

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.rules import closed_reason
from onearena.delegates.xnnpack.shapes import values_of_other_shape, with_real_order
from tests.delegates.nets import Net

STORED, BEFORE = (1, 5, 6, 4), (1, 4, 5, 6)
"""The dimensions of an image as it is stored, and as it was before a transpose."""


def _dims(graph: Graph) -> list[tuple[int, ...]]:
    return [graph.values[value].dims for value in sorted(graph.values)]


def _wrongly_declared() -> Net:
    """input → clamp → sum with the input → copy → output, those between in another order."""
    net = Net()
    source, clamped, total = net.input(*STORED), net.inner(*BEFORE), net.inner(*BEFORE)
    net.unary(x.XNNClamp, source, clamped)
    net.binary(x.XNNAdd, clamped, source, total)
    net.unary(x.XNNCopy, total, net.output(*STORED))
    return net


def test_dimensions_are_in_the_order_of_the_bytes() -> None:
    graph = with_real_order(_wrongly_declared().index(), "net")
    assert _dims(graph) == [STORED] * 4
    assert all(len(v.tensor.dims or ()) == v.tensor.num_dims for v in graph.values.values())
    assert values_of_other_shape(graph, {}) == frozenset()
    assert with_real_order(graph, "net") is graph


def test_they_are_not_as_declared_until_then() -> None:
    graph = _wrongly_declared().index()
    assert values_of_other_shape(graph, {}) == {1, 2}


def test_another_number_of_elements_is_not_corrected() -> None:
    net = Net()
    source, between = net.input(*STORED), net.inner(1, 5, 6, 3)
    net.unary(x.XNNClamp, source, between)
    net.unary(x.XNNAbs, between, net.output(*STORED))
    graph = net.index()
    assert with_real_order(graph, "net") is graph
    assert values_of_other_shape(graph, {}) == {between}


def test_sums_are_as_wide_as_both_operands() -> None:
    net = Net()
    image, channels = net.input(*STORED), net.input(4)
    total = net.inner(*BEFORE)
    net.binary(x.XNNMultiply, channels, image, total)
    net.unary(x.XNNAbs, total, net.output(*STORED))
    assert with_real_order(net.index(), "net").values[total].dims == STORED


def test_transposes_and_pads_are_followed() -> None:
    net = Net()
    source, stored, padded = net.input(*BEFORE), net.inner(*BEFORE), net.inner(1, 4, 7, 6)
    net.transpose(source, stored, 0, 2, 3, 1)
    net.pad(stored, padded, (0, 1, 0, 0), (0, 0, 1, 0))
    net.unary(x.XNNAbs, padded, net.output(1, 6, 7, 4))
    graph = with_real_order(net.index(), "net")
    assert graph.values[stored].dims == STORED
    assert graph.values[padded].dims == (1, 6, 7, 4)


def test_an_image_with_other_channels_than_its_convolution_is_not_understood() -> None:
    net = Net()
    net.conv(net.input(*STORED), net.output(*STORED))
    assert closed_reason(net.index()) is None
    net = Net()
    image, target = net.input(*BEFORE), net.output(*STORED)
    net.conv(image, target, group_input_channels=4)
    assert closed_reason(net.index()) == "a convolution of what is declared with other channels"
