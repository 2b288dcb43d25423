"""Shapes inside a payload when its arguments are not as large as declared."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import index_graph
from onearena.shapes.rules.call import Cause, ContradictionError, Dims
from onearena.shapes.xnnpack import payload_shapes
from tests.delegates.nets import Net

IMAGE = (1, 32, 32, 4)


def _through(
    node: Any, *shapes: Dims, target: Dims = IMAGE, constants: tuple[Dims, ...] = ()
) -> Any:
    """The shape of the output of one node; inputs are values 0, 1, ..., the output comes next,
    then constants."""
    net = Net()
    for dims in shapes:
        net.input(*(32 if size > 4 else size for size in dims))
    output = net.output(*target)
    for dims in constants:
        net.constant(*dims)
    net.node(node)
    return payload_shapes(net.index(), dict(enumerate(shapes)), 7)[output]


def _pool(kind: Any, height: int, width: int, stride: int, padding: int = 0, **fields: int) -> Any:
    sides = {f"padding_{side}": padding for side in ("top", "right", "bottom", "left")}
    size = {"pooling_height": height, "pooling_width": width}
    steps = {"stride_height": stride, "stride_width": stride}
    spread = {"dilation_height": 1, "dilation_width": 1}
    return kind(input_id=0, output_id=1, **{**sides, **size, **steps, **spread, **fields})


def _conv(kind: Any, size: int, stride: int, dilation: int, padding: int, **fields: int) -> Any:
    sides = {f"padding_{side}": padding for side in ("top", "right", "bottom", "left")}
    both = {"kernel": size, "subsampling": stride, "dilation": dilation}
    sizes = {f"{name}_{axis}": n for name, n in both.items() for axis in ("height", "width")}
    groups = {"groups": 1, "group_input_channels": 4, "group_output_channels": 6}
    operands = {"input1_id": 0, "output_id": 1, "filter_id": 2, "bias_id": x.INVALID_ID}
    return kind(**{**sides, **sizes, **groups, **operands, **fields})


def _joined(kind: Any, count: int, axis: int) -> Any:
    operands = {f"input{k + 1}_id": k for k in range(count)}
    return kind(axis=axis, output_id=count, **operands)


FILTER = ((6, 3, 3, 4),)


@pytest.mark.parametrize(
    ("node", "image", "expected"),
    [
        # (size + padding - dilation * (kernel - 1) - 1) // stride + 1
        (_conv(x.XNNConv2d, 3, 1, 1, 1), (1, 9, 17, 4), (1, 9, 17, 6)),
        (_conv(x.XNNConv2d, 3, 2, 1, 1), (2, 9, 16, 4), (2, 5, 8, 6)),
        (_conv(x.XNNConv2d, 3, 1, 2, 0), (1, 9, 17, 4), (1, 5, 13, 6)),
        (_conv(x.XNNConv2d, 3, 2, 1, 0, flags=4), (1, 9, 17, 4), (1, 5, 9, 6)),  # SAME
        (_conv(x.XNNConv2d, 5, 1, 1, 0), (1, 3, 17, 4), (1, 1, 13, 6)),
        (
            _conv(x.XNNDepthwiseConv2d, 3, 1, 1, 1, groups=4, group_output_channels=2),
            (1, 9, 17, 4),
            (1, 9, 17, 8),
        ),
        # stride * (size - 1) + adjustment + dilation * (kernel - 1) + 1 - padding
        (_conv(x.XNNConvTranspose2d, 3, 2, 1, 1), (1, 9, 17, 4), (1, 17, 33, 6)),
        (
            _conv(x.XNNConvTranspose2d, 3, 2, 1, 1, adjustment_height=1, adjustment_width=1),
            (1, 9, 17, 4),
            (1, 18, 34, 6),
        ),
    ],
)
def test_convolutions(node: Any, image: Dims, expected: Dims) -> None:
    assert _through(node, image, constants=FILTER) == expected


@pytest.mark.parametrize(
    ("node", "expected"),
    [
        (_pool(x.XNNMaxPooling2d, 2, 2, 2), (1, 4, 8, 4)),
        (_pool(x.XNNMaxPooling2d, 3, 3, 2, 1), (1, 5, 9, 4)),
        (_pool(x.XNNMaxPooling2d, 3, 3, 2, flags=4), (1, 5, 9, 4)),
        (_pool(x.XNNMaxPooling2d, 3, 3, 1, dilation_height=2, dilation_width=2), (1, 5, 13, 4)),
        (_pool(x.XNNMaxPooling2d, 32, 1, 1), (1, 1, 17, 4)),  # the window of the bound
        (_pool(x.XNNAvgPooling2d, 2, 2, 2, dilation_height=0, dilation_width=0), (1, 4, 8, 4)),
    ],
)
def test_pools(node: Any, expected: Dims) -> None:
    assert _through(node, (1, 9, 17, 4)) == expected


def test_pools_with_two_outputs_or_one_number_per_channel() -> None:
    net = Net()
    source, best, where = net.input(*IMAGE), net.output(1, 16, 8, 4), net.output(1, 16, 8, 4)
    kept, flat = net.output(1, 1, 1, 4), net.output(1, 4)
    net.node(
        x.XNNArgMaxPooling2d(
            pooling_height=2,
            pooling_width=4,
            input_id=source,
            output_value_id=best,
            output_index_id=where,
        )
    )
    net.node(x.XNNGlobalAvgPooling2d(source, kept))
    net.node(x.XNNGlobalAvgPooling2d(source, flat))
    found = payload_shapes(net.index(), {0: (3, 9, 17, 4)}, 0)
    assert found[best] == found[where] == (3, 4, 4, 4)
    assert found[kept] == (3, 1, 1, 4)
    assert found[flat] == (3, 4)


@pytest.mark.parametrize(
    ("node", "shapes", "expected"),
    [
        (x.XNNStaticTranspose(4, (0, 3, 1, 2), 0, 1), [(1, 9, 17, 4)], (1, 4, 9, 17)),
        (x.XNNStaticResizeBilinear2D(40, 50, 0, 1), [(2, 9, 17, 4)], (2, 40, 50, 4)),
        (
            x.XNNStaticConstantPad((0, 1, 2, 0), (0, 3, 4, 0), 0.0, 0, 1),
            [(1, 9, 17, 4)],
            (1, 13, 23, 4),
        ),
        (x.XNNStaticReshape(2, (0, 4), 0, 1), [(1, 9, 17, 4)], (153, 4)),
        (x.XNNStaticReshape(1, (24,), 0, 1), [(2, 3, 4)], (24,)),
        (x.XNNStaticSlice(2, (1, 0), (2, 0), 0, 1), [(4, 9)], (2, 9)),
        (_joined(x.XNNConcatenate3, 3, 1), [(4, 9)] * 3, (4, 27)),
        (_joined(x.XNNConcatenate2, 2, (1 << 32) - 1), [(4, 9)] * 2, (4, 18)),
        (x.XNNAdd(0, 1, 2), [(4, 1, 9), (3, 1)], (4, 3, 9)),
        (x.XNNPReLU(0, 1, 2), [(1, 9, 17, 4), (4,)], (1, 9, 17, 4)),
        (x.XNNSigmoid(0, 1), [(7, 9)], (7, 9)),
        (x.XNNConvert(0, 1), [(7, 9)], (7, 9)),
        (x.XNNSoftmax(0, 1), [(7, 9)], (7, 9)),
        (x.XNNBatchMatrixMultiply(0, 1, 2), [(2, 5, 9), (1, 9, 6)], (2, 5, 6)),
        (x.XNNBatchMatrixMultiply(0, 1, 2, flags=1), [(2, 5, 9), (2, 6, 9)], (2, 5, 6)),
        (
            x.XNNScaledDotProductAttention(0, 1, 2, x.INVALID_ID, x.INVALID_ID, 3),
            [(1, 2, 5, 8), (1, 2, 9, 8), (1, 2, 9, 6)],
            (1, 2, 5, 6),
        ),
    ],
)  # fmt: skip
def test_other_nodes(node: Any, shapes: list[Dims], expected: Dims) -> None:
    assert _through(node, *shapes) == expected


def test_linear_layers() -> None:
    layer = x.XNNFullyConnected(0, 2, x.INVALID_ID, 1)
    assert _through(layer, (3, 7, 9), constants=((5, 9),)) == (3, 7, 5)
    assert _through(replace(layer, flags=1), (3, 7, 9), constants=((9, 5),)) == (3, 7, 5)
    with pytest.raises(ContradictionError, match=r"node 0 \(XNNPACK FullyConnected\) cannot"):
        _through(layer, (3, 7, 8), constants=((5, 9),))


@pytest.mark.parametrize(
    ("node", "shapes"),
    [
        (x.XNNStaticReshape(1, (24,), 0, 1), [(2, 3, 5)]),
        (x.XNNStaticSlice(2, (1, 0), (4, 0), 0, 1), [(4, 9)]),
        (_joined(x.XNNConcatenate2, 2, 0), [(4, 9), (4, 8)]),
        (_joined(x.XNNConcatenate2, 2, 5), [(4, 9), (4, 9)]),
        (x.XNNAdd(0, 1, 2), [(4, 9), (3, 9)]),
        (x.XNNBatchMatrixMultiply(0, 1, 2), [(2, 5, 9), (2, 6, 9)]),
        (x.XNNStaticTranspose(2, (0, 0), 0, 1), [(4, 9)]),
        (x.XNNStaticConstantPad((0,), (0,), 0.0, 0, 1), [(4, 9)]),
        (_pool(x.XNNMaxPooling2d, 2, 2, 0), [IMAGE]),
    ],
)
def test_nodes_that_refuse_their_inputs(node: Any, shapes: list[Dims]) -> None:
    with pytest.raises(ContradictionError, match=r"^node 0 \(XNNPACK \w+\) "):
        _through(node, *shapes)


@pytest.mark.parametrize(
    ("node", "shapes"),
    [
        (x.XNNStaticSlice(2, (1, 0), (0, 0), 0, 1), [(4, 9)]),
        (x.XNNBatchMatrixMultiply(0, 1, 2, flags=2), [(2, 5, 9), (2, 9, 6)]),
        (x.XNNScaledDotProductAttention(0, 1, 1, 0, 0, 2), [(), ()]),
        (_pool(x.XNNMaxPooling2d, 2, 2, 2), [(9, 17, 4)]),
    ],
)
def test_nodes_that_are_not_understood(node: Any, shapes: list[Dims]) -> None:
    found = _through(node, *shapes)
    assert isinstance(found, Cause)
    assert (found.instruction, found.operator.split()[0]) == (7, "XNNPACK")


def test_every_node_of_the_schema_has_a_rule() -> None:
    """Whatever a node's operands are, it has a shape, none, or a reason: never an exception."""
    for kind in x.NODE_TYPES:
        net = Net()
        net.input(2, 3)
        net.output(2, 3)
        net.node(kind())  # every operand is value 0
        graph = replace(net.graph(), xnodes=(x.XNode(kind()),))
        try:
            payload_shapes(index_graph(graph, "net"), {0: (2, 3)}, 0)
        except ContradictionError:
            continue


def test_ignorance_travels() -> None:
    net = Net()
    source, middle, target = net.input(4, 9), net.inner(4, 9), net.output(4, 9)
    net.unary(x.XNNTanh, source, middle)
    net.unary(x.XNNSigmoid, middle, target)
    unknown = Cause(3, "aten::nonzero.out", "its size depends on the data")
    found = payload_shapes(net.index(), {0: unknown}, 7)
    assert found[middle] == found[target] == unknown
