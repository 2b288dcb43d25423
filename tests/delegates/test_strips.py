"""Strips of rows: what is cut, what is refused, and that a second opinion sees every mistake."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from onearena.delegates.xnnpack import rows
from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, Node, index_graph, tensor_of
from onearena.delegates.xnnpack.opening import OpenedPayload, open_payload
from onearena.delegates.xnnpack.rows import Rows, StripNode, strip_node
from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.strips import Piece, Region, Strips, cut_into_strips
from onearena.verification.strips import strip_fault
from tests.delegates.nets import RELU6, Net

IMAGE = (1, 12, 6, 4)


def _chain() -> tuple[Net, int, int, int]:
    """input → conv → inside → conv → output."""
    net = Net()
    source, inside, target = net.input(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(source, inside)
    net.conv(inside, target)
    return net, source, inside, target


def _cut(net: Net, strips: int, *inside: int) -> Strips:
    found = cut_into_strips(net.index(), (Region(frozenset(inside), strips),), "net")
    assert found is not None
    return found


def _rows(strips: Strips) -> list[tuple[int, int, int]]:
    """(value of the old graph, first row, past the last) of what the nodes write, in order."""
    written = [node.outputs[0] for node in strips.graph.nodes]
    parts = [strips.parts[value] for value in written if value in strips.parts]
    return [(value, rows.start, rows.end) for value, rows in parts]


def test_strips_compute_what_the_next_convolution_needs() -> None:
    net, source, inside, target = _chain()
    strips = _cut(net, 3, inside)
    assert _rows(strips) == [
        *((inside, 0, 5), (target, 0, 4)),
        *((inside, 3, 9), (target, 4, 8)),
        *((inside, 7, 12), (target, 8, 12)),
    ]
    row_bytes = 6 * 4 * 4
    where = sorted((p.whole, p.offset_bytes) for p in strips.pieces.values())
    read = [(source, row * row_bytes) for row in (0, 2, 6)]
    assert where == sorted([*read, *((target, row * row_bytes) for row in (0, 4, 8))])
    assert inside not in strips.graph.values
    convolutions = [node.xnode.xnode_union for node in strips.graph.nodes]
    paddings = [
        (c.padding_top, c.padding_bottom) for c in convolutions if isinstance(c, x.XNNConv2d)
    ]
    assert paddings == [(1, 0), (1, 0), (0, 0), (0, 0), (0, 1), (0, 1)]
    weights = (4 * 3 * 3 * 4 + 4) * 4
    assert strips.weights_bytes == 2 * 2 * weights
    # rows 3, 4, 7 and 8 of the value between are computed twice
    assert strips.work == 4 * 6 * 4 * (3 * 3 * 4 + 4)
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None


def test_what_is_written_in_pieces_becomes_an_input() -> None:
    net, _, inside, target = _chain()
    result = open_payload(net.graph(), "net", (), (Region(frozenset({inside}), 2),))
    assert isinstance(result, OpenedPayload)
    tensor = result.graph.values[target].tensor
    assert tensor.flags == x.EXTERNAL_INPUT
    assert tensor.external_id == 1
    assert target in (result.graph.source.input_ids or ())
    assert target not in (result.graph.source.output_ids or ())
    positions = sorted(v.tensor.external_id for v in result.graph.values.values() if v.is_external)
    assert positions == list(range(result.graph.source.num_externs))
    for value, piece in result.pieces.items():
        assert value in result.opened
        assert result.graph.values[piece.whole].is_external


def test_strides_dilations_pools_and_uneven_rows() -> None:
    net = Net()
    source, a, b = net.input(1, 23, 6, 4), net.inner(1, 12, 3, 4), net.inner(1, 10, 1, 4)
    target = net.output(1, 5, 1, 4)
    strided = {"subsampling_height": 2, "subsampling_width": 2}
    net.conv(source, a, **strided)
    wide = {"padding_top": 1, "padding_bottom": 1, "padding_left": 1, "padding_right": 1}
    net.conv(a, b, **{**wide, "dilation_height": 2, "dilation_width": 2})
    net.pool(x.XNNMaxPooling2d, b, target)
    strips = _cut(net, 2, a, b)
    assert _rows(strips) == [
        *((a, 0, 7), (b, 0, 4), (target, 0, 2)),
        *((a, 3, 12), (b, 4, 10), (target, 2, 5)),
    ]
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None


def test_a_result_that_a_later_node_of_the_region_reads_is_read_where_it_lies() -> None:
    net = Net()
    source, inside, between = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE)
    other, target = net.output(*IMAGE), net.output(*IMAGE)
    net.conv(source, inside)
    net.conv(inside, other)
    net.conv(other, between)
    net.binary(x.XNNAdd, between, inside, target)
    strips = _cut(net, 3, inside, between)
    # the second convolution has to be one row ahead, and no row is computed twice
    made = [(first, end) for value, first, end in _rows(strips) if value == other]
    assert made == [(0, 5), (5, 9), (9, 12)]
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None


def _fork() -> tuple[Net, list[int]]:
    """input → a → b → c → d (output), and a → f (output) behind them."""
    net = Net()
    values = [net.input(*IMAGE), *(net.inner(*IMAGE) for _ in range(3)), net.output(*IMAGE)]
    for source, target in pairwise(values):
        net.conv(source, target)
    return net, values


def test_a_region_stands_in_front_of_those_that_read_its_pieces() -> None:
    net, (_, a, b, c, _) = _fork()
    net.conv(a, net.output(*IMAGE))
    graph = net.index()
    behind, front = Region(frozenset({c}), 2), Region(frozenset({a}), 3)
    for regions in ((behind, front), (front, behind)):
        strips = cut_into_strips(graph, regions, "net")
        assert strips is not None
        pieces = {v for v, piece in strips.pieces.items() if piece.whole == b}
        nodes = strips.graph.nodes
        last = max(node.index for node in nodes if pieces.intersection(node.outputs))
        first = min(node.index for node in nodes if pieces.intersection(node.inputs))
        assert last < first
        assert strip_fault(graph, strips.graph, strips.pieces) is None


def test_regions_that_need_each_other_are_refused() -> None:
    net, (_, a, _, c, d) = _fork()
    net.binary(x.XNNAdd, a, d, net.output(*IMAGE))
    around = Region(frozenset({a}), 3)
    assert cut_into_strips(net.index(), (around,), "net") is None
    assert cut_into_strips(net.index(), (Region(frozenset({c}), 2), around), "net") is None


def test_what_xnnpack_merges_stays_together() -> None:
    net = Net()
    source, padded, inside = net.input(*IMAGE), net.inner(1, 14, 8, 4), net.inner(*IMAGE)
    clamped, target = net.inner(*IMAGE), net.output(*IMAGE)
    net.pad(source, padded, (0, 1, 1, 0), (0, 1, 1, 0))
    none = dict.fromkeys(("padding_top", "padding_bottom", "padding_left", "padding_right"), 0)
    net.conv(padded, inside, **none)
    net.clamp(inside, clamped, RELU6)
    net.conv(clamped, target)
    strips = _cut(net, 2, clamped)
    made = {value for value, _, _ in _rows(strips)}
    assert made == {padded, inside, clamped, target}
    assert padded not in strips.outside
    pads = [n.xnode.xnode_union for n in strips.graph.nodes if n.name == "StaticConstantPad"]
    assert [
        (p.pre_paddings, p.post_paddings) for p in pads if isinstance(p, x.XNNStaticConstantPad)
    ] == [
        ((0, 1, 1, 0), (0, 0, 1, 0)),
        ((0, 0, 1, 0), (0, 1, 1, 0)),
    ]
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None


def test_rows_of_tokens_heads_and_joined_images() -> None:
    net = Net()
    tokens, wide, back = net.input(1, 10, 8), net.inner(1, 10, 32), net.output(1, 10, 8)
    net.linear(tokens, wide)
    net.linear(wide, back)
    strips = _cut(net, 2, wide)
    assert [rows for rows in _rows(strips) if rows[0] == wide] == [(wide, 0, 5), (wide, 5, 10)]
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None

    net = Net()
    left, right, scores = net.input(1, 4, 6, 8), net.input(1, 4, 8, 6), net.inner(1, 4, 6, 6)
    soft, target = net.inner(1, 4, 6, 6), net.output(1, 4, 6, 6)
    net.matmul(left, right, scores)
    net.unary(x.XNNSoftmax, scores, soft)
    net.unary(x.XNNExp, soft, target)
    strips = _cut(net, 4, scores, soft)
    assert len(strips.graph.nodes) == 12
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None

    net = Net()
    a, b, joined, target = net.input(*IMAGE), net.input(*IMAGE), net.inner(1, 12, 6, 8), 0
    target = net.output(*IMAGE)
    net.concatenate([a, b], joined, axis=3)
    net.conv(joined, target)
    strips = _cut(net, 4, joined)
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None


def _enlarging(factor: int = 2) -> tuple[Net, int, int]:
    """input → resize → inside → conv → output, 12 rows."""
    net = Net()
    source = net.input(1, 12 // factor, 6 // factor, 4)
    inside, target = net.inner(*IMAGE), net.output(*IMAGE)
    net.resize(source, inside)
    net.conv(inside, target)
    return net, inside, target


def test_an_enlarged_image_has_rows_that_nobody_reads() -> None:
    net, inside, target = _enlarging()
    strips = _cut(net, 3, inside)
    assert _rows(strips) == [
        *((inside, 0, 6), (target, 0, 4)),
        *((inside, 2, 10), (target, 4, 8)),
        *((inside, 6, 12), (target, 8, 12)),
    ]
    # the second convolution reads rows 3 to 8: 2 and 9 would need rows that the strip lacks
    pieces = sorted((p.whole, p.offset_bytes) for p in strips.pieces.values())
    assert [where for where in pieces if where[0] > target] == [
        (value, skipped * 6 * 4 * 4) for value, skipped in zip((6, 10, 14), (0, 1, 1), strict=True)
    ]
    assert strips.work == 8 * 6 * 4 * 4
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None


def _places(rows_in: int, rows_out: int) -> list[tuple[int, int, np.float32]]:
    """By output row the two input rows and the share of the second one, as XNNPACK calculates them
    in single precision (`xnn_indirection_init_resize_bilinear2d_hwc_f32`)."""
    scale = np.float32(rows_in) / np.float32(rows_out)
    offset = np.float32(0.5) * scale - np.float32(0.5)
    found = []
    for row in range(rows_out):
        place = min(max(np.float32(row) * scale + offset, np.float32(0)), np.float32(rows_in - 1))
        above = int(place)
        share = np.float32(place - np.float32(above))
        found.append((above, min(above + 1, rows_in - 1), share))
    return found


@pytest.mark.parametrize("factor", [1, 2, 4, 8, 32])
def test_rows_of_an_enlarged_image_are_those_of_the_whole(factor: int) -> None:
    for count in range(2, 8):
        net = Net()
        source, target = net.input(1, count, 2, 4), net.output(1, count * factor, 3, 4)
        net.resize(source, target)
        graph, whole = net.index(), _places(count, count * factor)
        for start in range(count * factor):
            for end in range(start + 1, count * factor + 1):
                strip = strip_node(graph, graph.nodes[0], Rows(start, end))
                assert strip is not None
                (read,), made = strip.rows, strip.made or Rows(start, end)
                assert read is not None
                assert isinstance(strip.union, x.XNNStaticResizeBilinear2D)
                assert strip.union.new_height == made.end - made.start
                places = _places(read.end - read.start, strip.union.new_height)
                there = [(a + read.start, b + read.start, share) for a, b, share in places]
                assert there[start - made.start : end - made.start] == whole[start:end]


@pytest.mark.parametrize(
    ("rows_out", "flags"),
    [(18, 0), (6, 0), (13, 0), (24, 8), (24, 4), (0, 0)],
    ids=["by three", "smaller", "by a fraction", "corners aligned", "legacy", "nothing"],
)
def test_places_that_single_precision_may_round(rows_out: int, flags: int) -> None:
    net = Net()
    rows_in = {18: 6, 0: 0}.get(rows_out, 12)
    source, target = net.input(1, rows_in, 2, 4), net.output(1, rows_out, 3, 4)
    net.resize(source, target, flags)
    assert strip_node(net.index(), net.index().nodes[0], Rows(0, 2)) is None


def test_an_enlarged_image_is_not_written_row_by_row() -> None:
    """Where rows have a place in memory there is none for those that nobody reads."""
    net = Net()
    source, inside, target = net.input(1, 6, 3, 4), net.inner(1, 6, 3, 4), net.output(*IMAGE)
    net.conv(source, inside)
    net.resize(inside, target)
    _no_strips(net, inside)


# -- what is refused ------------------------------------------------------------------------


def _no_strips(net: Net, *inside: int, strips: int = 2) -> None:
    assert cut_into_strips(net.index(), (Region(frozenset(inside), strips),), "net") is None


def test_refused() -> None:
    net, source, inside, target = _chain()
    _no_strips(net, inside, strips=1)
    _no_strips(net, source)  # an argument
    _no_strips(net, target)
    _no_strips(net, 999)
    _no_strips(net)

    net = Net()  # a mean wants all rows
    source, inside, target = net.input(*IMAGE), net.inner(*IMAGE), net.output(1, 1, 1, 4)
    net.conv(source, inside)
    net.unary(x.XNNGlobalAvgPooling2d, inside, target)
    _no_strips(net, inside)

    net = Net()  # rows of a transposed image lie apart
    source, inside, target = net.input(*IMAGE), net.inner(*IMAGE), net.output(1, 4, 12, 6)
    net.conv(source, inside)
    net.transpose(inside, target, 0, 3, 1, 2)
    _no_strips(net, inside)

    net = Net()  # the second operand of the sum depends on the whole of the first
    source, inside, mean = net.input(*IMAGE), net.inner(*IMAGE), net.inner(1, 1, 1, 4)
    other, target = net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(source, other)
    net.unary(x.XNNGlobalAvgPooling2d, other, mean)
    net.unary(x.XNNExp, other, inside)
    net.binary(x.XNNMultiply, inside, mean, target)
    assert cut_into_strips(net.index(), (Region(frozenset({inside}), 2),), "net") is not None
    _no_strips(net, inside, other)

    net = Net()  # two images
    source, inside, target = net.input(2, 6, 6, 4), net.inner(2, 6, 6, 4), net.output(2, 6, 6, 4)
    net.conv(source, inside)
    net.conv(inside, target)
    _no_strips(net, inside)


def _quantized_at_run_time(scaled_dims: int) -> tuple[Net, int, int]:
    """input → sigmoid → float → convert → 8 bits → linear → output."""
    net, quant = Net(), x.PerTokenDynamicQuant(scaled_dims)
    source, floats = net.input(*IMAGE), net.inner(*IMAGE)
    numbers = net.inner(*IMAGE, datatype=Datatype.QDINT8, quant=quant)
    net.unary(x.XNNSigmoid, source, floats)
    net.unary(x.XNNConvert, floats, numbers)
    net.linear(numbers, net.output(*IMAGE))
    return net, floats, numbers


def test_rows_that_are_scaled_together_are_not_cut_apart(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, floats, numbers = _quantized_at_run_time(scaled_dims=1)
    strips = _cut(net, 3, floats, numbers)
    assert strip_fault(net.index(), strips.graph, strips.pieces) is None
    for scaled_dims in (3, 4):
        net, floats, numbers = _quantized_at_run_time(scaled_dims)
        region = Region(frozenset((floats, numbers)), 3)
        assert cut_into_strips(net.index(), (region,), "net") is None
        with monkeypatch.context() as patch:
            patch.setattr(rows, "_rows_share_scale", lambda value: False)
            strips = _cut(net, 3, floats, numbers)
        assert strip_fault(net.index(), strips.graph, strips.pieces) is not None


@pytest.mark.parametrize("perms", [((0, 1, 2, 3),), ((0, 1, 3, 2), (0, 1, 3, 2))])
def test_a_copy_is_not_made_of_what_is_never_whole(perms: tuple[tuple[int, ...], ...]) -> None:
    net, dims = Net(), (1, 12, 6, 6)
    source, value = net.input(*dims), net.inner(*dims)
    net.unary(x.XNNSigmoid, source, value)
    inside = [value]
    for perm in perms:
        value = net.output(*dims) if perm is perms[-1] else net.inner(*dims)
        net.transpose(inside[-1], value, *perm)
        inside.append(value)
    region = Region(frozenset(inside[:-1]), 3)
    assert cut_into_strips(net.index(), (region,), "net") is None


def test_a_region_that_something_else_lies_between_is_refused() -> None:
    net = Net()
    source, a, b = net.input(*IMAGE), net.inner(*IMAGE), net.inner(1, 1, 1, 4)
    c, target = net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(source, a)
    net.unary(x.XNNGlobalAvgPooling2d, a, b)
    net.binary(x.XNNMultiply, source, b, c)
    net.binary(x.XNNAdd, a, c, target)
    _no_strips(net, c, a)


@pytest.mark.parametrize(
    "change",
    [
        {"kernel_height": 1, "kernel_width": 1},  # padded, and pointwise without
        {"flags": 4},  # padding that depends on the height
    ],
)
def test_convolutions_that_would_run_otherwise_in_strips(change: dict[str, int]) -> None:
    net, _, inside, _ = _chain()
    node = net.nodes[0]
    net.nodes[0] = replace(node, xnode_union=replace(node.xnode_union, **change))  # type: ignore[type-var]
    assert strip_node(net.index(), net.index().nodes[0], Rows(3, 6)) is None
    _no_strips(net, inside)


# -- the second opinion --------------------------------------------------------------------


def _mutants(strips: Strips, rng: random.Random) -> Iterator[tuple[str, Graph, dict[int, Piece]]]:
    """The strips with one number changed."""
    source = strips.graph.source
    for index, node in enumerate(source.xnodes or ()):
        union: Any = node.xnode_union
        for member in fields(union):
            number = getattr(union, member.name)
            if member.name.endswith("_id"):
                others = [v for v in strips.graph.values if v != number]
                number = rng.choice(others)
            elif isinstance(number, int) and member.name != "flags":
                number = number + 1
            else:
                continue
            nodes = list(source.xnodes or ())
            nodes[index] = replace(node, xnode_union=replace(union, **{member.name: number}))
            graph = _indexed(replace(source, xnodes=tuple(nodes)))
            if graph is not None:
                yield f"node {index} {member.name}", graph, dict(strips.pieces)
    for value, piece in strips.pieces.items():
        row = 6 * 4 * 4
        for offset in (piece.offset_bytes + 4, piece.offset_bytes + row, piece.offset_bytes - row):
            moved = {**strips.pieces, value: Piece(piece.whole, offset)}
            yield f"piece {value} at {offset}", strips.graph, moved
    for position, xvalue in enumerate(source.xvalues or ()):
        tensor = tensor_of(xvalue)
        if tensor is not None and tensor.id_out in strips.parts:
            batch, height, *rest = tensor.dims or ()
            values = list(source.xvalues or ())
            values[position] = x.XValue(replace(tensor, dims=(batch, height + 1, *rest)))
            graph = _indexed(replace(source, xvalues=tuple(values)))
            if graph is not None:
                yield f"value {tensor.id_out} one row more", graph, dict(strips.pieces)


def _indexed(source: x.XNNGraph) -> Graph | None:
    return index_graph(source, "mutant")


@pytest.mark.parametrize("make", [lambda: _chain()[0:3:2], lambda: _enlarging()[:2]])
def test_every_changed_number_is_noticed(make: Callable[[], tuple[Net, int]]) -> None:
    net, inside = make()
    strips = _cut(net, 3, inside)
    count = 0
    for what, graph, pieces in _mutants(strips, random.Random(1)):
        count += 1
        fault = strip_fault(net.index(), graph, pieces)
        assert fault is not None, what
    assert count > 90


@pytest.mark.parametrize("factor", [1, 2])
def test_rows_at_a_seam_are_noticed(factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A rule that forgets the neighbours of the rows: right size, wrong content at the seams."""

    def careless(graph: Graph, node: Node, axis: int, wanted: Rows) -> StripNode:
        union = node.xnode.xnode_union
        assert isinstance(union, x.XNNStaticResizeBilinear2D)
        read = Rows(wanted.start // factor, -(-wanted.end // factor))
        made = Rows(read.start * factor, read.end * factor)
        changed = replace(union, new_height=made.end - made.start)
        return StripNode((read,), changed, None if made == wanted else made)

    net, inside, _ = _enlarging(factor)
    right = _cut(net, 4, inside)
    assert strip_fault(net.index(), right.graph, right.pieces) is None
    rules = {**rows._RULES, x.XNNStaticResizeBilinear2D: careless}
    monkeypatch.setattr(rows, "_RULES", rules)
    wrong = _cut(net, 4, inside)
    fault = strip_fault(net.index(), wrong.graph, wrong.pieces)
    assert fault is not None


def test_the_second_opinion_of_whole_nodes() -> None:
    net, _, _, _ = _chain()
    graph = net.index()
    assert strip_fault(graph, graph, {}) is None
    changed = [replace(n, output_min_max=x.OutputMinMax(0.0, 1.0)) for n in net.nodes]
    other = index_graph(replace(net.graph(), xnodes=tuple(changed)), "net")
    assert strip_fault(graph, other, {}) is not None


@pytest.mark.parametrize("kind", [x.XNNAdd, x.XNNMultiply, x.XNNMaximum])
def test_broadcasts(kind: Callable[..., Any]) -> None:
    for dims in ((4,), (1, 1, 1, 4), (1, 1, 6, 4), (12, 1, 1), (12, 6, 4)):
        net = Net()
        source, inside, other = net.input(*IMAGE), net.inner(*IMAGE), net.input(*dims)
        target = net.output(*IMAGE)
        net.conv(source, inside)
        net.binary(kind, inside, other, target)
        strips = _cut(net, 3, inside)
        assert strip_fault(net.index(), strips.graph, strips.pieces) is None, dims
    net = Net()  # rows of a constant cannot be arguments
    source, inside, target = net.input(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(source, inside)
    net.binary(kind, inside, net.constant(12, 1, 1), target)
    _no_strips(net, inside)
