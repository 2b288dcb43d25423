"""Concatenations, slices and views in place: what goes, what stays, and that every mistake is
seen by a second opinion."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import fields, replace
from typing import Any

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.graph import Graph, index_graph
from onearena.delegates.xnnpack.joins import Joined, PayloadJoins, join_in_place
from onearena.delegates.xnnpack.opening import OpenedPayload, open_payload
from onearena.delegates.xnnpack.strips import Piece, Region, Strips, cut_into_strips
from onearena.verification.strips import strip_fault
from tests.delegates.nets import QINT8, Net

ROW_BYTES = 8 * 4


def _joined(
    net: Net, regions: tuple[Region, ...] = (), joins: PayloadJoins | None = None
) -> Joined:
    strips = cut_into_strips(net.index(), regions, "net")
    assert strips is not None
    found = join_in_place(strips, "net", joins or PayloadJoins())
    assert strip_fault(net.index(), found.strips.graph, found.strips.pieces) is None
    return found


def _kinds(found: Joined) -> list[str]:
    return [node.name for node in found.strips.graph.nodes]


def _places(found: Joined) -> dict[int, tuple[int, int]]:
    """By value, where it lies: in what, and at which of its rows."""
    pieces = found.strips.pieces.items()
    return {value: (piece.whole, piece.offset_bytes // ROW_BYTES) for value, piece in pieces}


def _is_input(found: Joined, value: int) -> bool:
    source = found.strips.graph.source
    as_input, as_output = source.input_ids or (), source.output_ids or ()
    assert (value in as_input) != (value in as_output)
    flags = found.strips.graph.values[value].tensor.flags
    assert flags == (x.EXTERNAL_INPUT if value in as_input else x.EXTERNAL_OUTPUT)
    return value in as_input


def _numbered(found: Joined) -> bool:
    graph = found.strips.graph
    positions = sorted(v.tensor.external_id for v in graph.values.values() if v.is_external)
    return positions == list(range(graph.source.num_externs))


def _tokens(*counts: int, last: int = 2) -> tuple[Net, list[int], int]:
    """Inputs, one linear layer behind each, their concatenation, and a layer behind that."""
    net = Net()
    inputs = [net.input(1, count, 8) for count in counts]
    parts = [net.inner(1, count, 8) for count in counts]
    for source, part in zip(inputs, parts, strict=True):
        net.linear(source, part)
    whole, target = net.inner(1, sum(counts), 8), net.output(1, sum(counts), last)
    net.concatenate(parts, whole, axis=1)
    net.linear(whole, target)
    return net, parts, whole


@pytest.mark.parametrize("counts", [(3, 5), (4, 4, 1), (1, 2, 3, 4), (2, 2, 2, 2, 9)])
def test_producers_write_into_their_slots(counts: tuple[int, ...]) -> None:
    net, parts, whole = _tokens(*counts)
    found = _joined(net)
    assert found.gone == (whole,)
    assert _kinds(found) == ["FullyConnected"] * (len(counts) + 1)
    starts = [sum(counts[:k]) for k in range(len(counts))]
    assert _places(found) == {
        part: (whole, start) for part, start in zip(parts, starts, strict=True)
    }
    assert _is_input(found, whole)
    assert not any(_is_input(found, part) for part in parts)
    assert _numbered(found)


def test_an_operand_that_others_read_too() -> None:
    net, parts, whole = _tokens(3, 5)
    net.unary(x.XNNTanh, parts[0], net.output(1, 3, 8))
    found = _joined(net)
    assert _places(found) == {parts[0]: (whole, 0), parts[1]: (whole, 3)}
    assert _kinds(found) == ["FullyConnected"] * 3 + ["Tanh"]


def test_arguments_and_operands_that_come_twice_are_copied() -> None:
    """An argument lies where the program put it, and one place is not two."""
    net = Net()
    given, source = net.input(1, 2, 8), net.input(1, 3, 8)
    part, result = net.inner(1, 3, 8), net.output(1, 3, 8)
    whole, target = net.inner(1, 14, 8), net.output(1, 14, 8)
    net.linear(source, part)
    net.unary(x.XNNExp, source, result)
    net.concatenate([given, part, part, result, result], whole, axis=1)
    net.unary(x.XNNTanh, whole, target)
    found = _joined(net)
    assert _kinds(found) == ["FullyConnected", "Exp", "Copy", "Copy", "Copy", "Copy", "Tanh"]
    copies = [node for node in found.strips.graph.nodes if node.name == "Copy"]
    assert [node.inputs[0] for node in copies] == [given, part, result, result]
    places = _places(found)
    assert places.pop(part) == (whole, 2)
    assert sorted(places.values()) == [(whole, 0), (whole, 5), (whole, 8), (whole, 11)]
    assert _numbered(found)


def test_concatenations_of_concatenations() -> None:
    net = Net()
    source = net.input(1, 2, 8)
    a, b, c, d = (net.inner(1, 2, 8) for _ in range(4))
    for part, kind in ((a, x.XNNTanh), (b, x.XNNExp), (c, x.XNNSigmoid), (d, x.XNNAbs)):
        net.unary(kind, source, part)
    inner, outer, last = net.inner(1, 4, 8), net.inner(1, 6, 8), net.output(1, 8, 8)
    net.concatenate([a, b], inner, axis=1)
    net.concatenate([c, inner], outer, axis=1)
    net.unary(x.XNNFloor, outer, net.output(1, 6, 8))
    net.concatenate([outer, d], last, axis=1)
    found = _joined(net)
    assert found.gone == (inner, outer, last)
    # nobody reads the first one as a whole, so it is no argument
    assert inner not in found.strips.graph.values
    assert _places(found) == {
        c: (last, 0),
        a: (last, 2),
        b: (last, 4),
        d: (last, 6),
        outer: (last, 0),
    }
    assert _is_input(found, last)
    assert _is_input(found, outer)
    assert _numbered(found)


def test_a_part_of_two_results_is_copied_into_the_second() -> None:
    net = Net()
    source = net.input(1, 2, 8)
    a, b, c = (net.inner(1, 2, 8) for _ in range(3))
    for part, kind in ((a, x.XNNTanh), (b, x.XNNExp), (c, x.XNNSigmoid)):
        net.unary(kind, source, part)
    first, second = net.output(1, 4, 8), net.output(1, 4, 8)
    net.concatenate([a, b], first, axis=1)
    net.concatenate([c, a], second, axis=1)
    found = _joined(net)
    assert _kinds(found) == ["Tanh", "Exp", "Sigmoid", "Copy"]
    places = _places(found)
    assert places[a] == (first, 0)
    assert places[c] == (second, 0)
    assert sorted(places.values()) == [(first, 0), (first, 2), (second, 0), (second, 2)]


def test_reshapes_on_the_way_go_too() -> None:
    net = Net()
    image, given = net.input(1, 4, 2, 8), net.input(1, 1, 8)
    made, flat = net.inner(1, 4, 2, 8), net.inner(1, 8, 8)
    whole, target = net.inner(1, 9, 8), net.output(1, 9, 8)
    net.conv(image, made)
    net.reshape(made, flat)
    net.concatenate([given, flat], whole, axis=1)
    net.linear(whole, target)
    found = _joined(net)
    assert _kinds(found) == ["Conv2d", "Copy", "FullyConnected"]
    assert _places(found)[made] == (whole, 1)
    assert flat not in found.strips.graph.values


def test_slices_are_read_where_they_are() -> None:
    net = Net()
    source, whole = net.input(1, 9, 8), net.inner(1, 9, 8)
    net.unary(x.XNNTanh, source, whole)
    parts = [net.inner(1, count, 8) for count in (4, 2, 3)]
    for part, first, count in zip(parts, (0, 4, 6), (4, 2, 3), strict=True):
        net.node(x.XNNStaticSlice(3, (0, first, 0), (1, count, 8), whole, part, 0))
    inner = net.inner(1, 1, 8)
    net.node(x.XNNStaticSlice(3, (0, 2, 0), (1, 1, 8), parts[2], inner, 0))
    flat = net.inner(4, 8)
    net.reshape(parts[0], flat)
    for value, dims in ((flat, (4, 8)), (parts[1], (1, 2, 8)), (parts[2], (1, 3, 8))):
        net.unary(x.XNNExp, value, net.output(*dims))
    net.unary(x.XNNExp, inner, net.output(1, 1, 8))
    found = _joined(net)
    assert _kinds(found) == ["Tanh", *["Exp"] * 4]
    assert _places(found) == {
        flat: (whole, 0),
        parts[1]: (whole, 4),
        parts[2]: (whole, 6),
        inner: (whole, 8),
    }
    assert all(_is_input(found, value) for value in found.strips.pieces)
    assert not _is_input(found, whole)
    assert _numbered(found)


def test_a_slice_of_an_argument_and_of_a_joined_value() -> None:
    net, parts, whole = _tokens(3, 5)
    cut = net.inner(1, 4, 8)
    net.node(x.XNNStaticSlice(3, (0, 2, 0), (1, 4, 8), whole, cut, 0))
    net.unary(x.XNNTanh, cut, net.output(1, 4, 8))
    other = net.inner(1, 2, 8)
    net.node(x.XNNStaticSlice(3, (0, 1, 0), (1, 2, 8), 1, other, 0))
    net.unary(x.XNNTanh, other, net.output(1, 2, 8))
    found = _joined(net)
    assert _places(found) == {
        parts[0]: (whole, 0),
        parts[1]: (whole, 3),
        cut: (whole, 2),
        other: (1, 1),
    }
    fixed = _joined(net, joins=PayloadJoins(fixed=frozenset({1})))
    assert other not in fixed.strips.pieces
    assert "StaticSlice" in _kinds(fixed)


def test_strips_write_and_read_what_is_in_place() -> None:
    net = Net()
    source, given = net.input(1, 12, 8), net.input(1, 4, 8)
    wide, part, other = net.inner(1, 12, 32), net.inner(1, 12, 8), net.inner(1, 4, 8)
    whole, again, target = net.inner(1, 16, 8), net.inner(1, 16, 32), net.output(1, 16, 8)
    net.linear(source, wide)
    net.linear(wide, part)
    net.unary(x.XNNTanh, given, other)
    net.concatenate([other, part], whole, axis=1)
    net.linear(whole, again)
    net.linear(again, target)
    regions = (Region(frozenset({wide}), 3), Region(frozenset({again}), 2))
    found = _joined(net, regions)
    assert found.gone == (whole,)
    assert part not in found.strips.graph.values  # only its pieces are named
    in_whole = sorted(row for _, (root, row) in _places(found).items() if root == whole)
    assert in_whole == [0, 0, 4, 8, 8, 12]
    assert _numbered(found)


def test_what_stays() -> None:
    def stays(net: Net, joins: PayloadJoins | None = None) -> None:
        found = join_in_place(Strips(net.index(), arguments=99), "net", joins or PayloadJoins())
        assert found.gone == ()
        assert found.strips.graph == net.index()

    net = Net()  # not the outermost dimension
    source, a, b = net.input(1, 2, 8), net.inner(1, 2, 8), net.inner(1, 2, 8)
    net.unary(x.XNNTanh, source, a)
    net.unary(x.XNNExp, source, b)
    net.concatenate([a, b], net.output(1, 2, 16), axis=2)
    stays(net)

    net = Net()  # a constant operand
    source, a = net.input(1, 2, 8), net.inner(1, 2, 8)
    net.unary(x.XNNTanh, source, a)
    net.concatenate([a, net.constant(1, 2, 8)], net.output(1, 4, 8), axis=1)
    stays(net)

    net = Net()  # nothing but arguments: every byte would be copied all the same
    net.concatenate([net.input(1, 2, 8), net.input(1, 2, 8)], net.output(1, 4, 8), axis=1)
    stays(net)

    net = Net()  # another scale
    source = net.input(1, 2, 8, datatype=QINT8)
    a = net.inner(1, 2, 8, datatype=QINT8, quant=x.PerTensorQuant(0.25, 0))
    net.unary(x.XNNTanh, source, a)
    net.concatenate([a, source], net.output(1, 4, 8, datatype=QINT8), axis=1)
    stays(net)

    net = Net()  # the result is another's memory
    source, a, b = net.input(1, 2, 8), net.inner(1, 2, 8), net.inner(1, 2, 8)
    net.unary(x.XNNTanh, source, a)
    net.unary(x.XNNExp, source, b)
    target = net.output(1, 4, 8)
    net.concatenate([a, b], target, axis=1)
    stays(net, PayloadJoins(fixed=frozenset({1})))
    stays(net, PayloadJoins(skipped=frozenset({target})))

    for offsets, sizes in (((0, 0, 2), (1, 4, 2)), ((0, 1, 0), (1, 2, 4)), ((0, 0, 0), (1, 4, 7))):
        net = Net()  # parts that are not dense, or not all of the other dimensions
        source, whole, part = net.input(1, 4, 8), net.inner(1, 4, 8), net.inner(*sizes)
        net.unary(x.XNNTanh, source, whole)
        net.node(x.XNNStaticSlice(3, offsets, sizes, whole, part, 0))
        net.unary(x.XNNExp, part, net.output(*sizes))
        stays(net)

    net = Net()  # a slice that is a result
    source, whole = net.input(1, 4, 8), net.inner(1, 4, 8)
    net.unary(x.XNNTanh, source, whole)
    net.node(x.XNNStaticSlice(3, (0, 1, 0), (1, 2, 8), whole, net.output(1, 2, 8), 0))
    stays(net)


def test_eight_bits_of_one_scale_are_joined() -> None:
    net = Net()
    source = net.input(1, 3, 8, datatype=QINT8)
    a, b = net.inner(1, 3, 8, datatype=QINT8), net.inner(1, 3, 8, datatype=QINT8)
    net.unary(x.XNNTanh, source, a)
    net.binary(x.XNNAdd, source, a, b)
    whole = net.output(1, 6, 8, datatype=QINT8)
    net.concatenate([a, b], whole, axis=1)
    found = _joined(net)
    assert found.strips.pieces == {a: Piece(whole, 0), b: Piece(whole, 24)}


def test_opened() -> None:
    net, parts, whole = _tokens(3, 5)
    result = open_payload(net.graph(), "net", joins=PayloadJoins())
    assert isinstance(result, OpenedPayload)
    assert result.joined == (whole,)
    assert result.in_parts == {whole}
    assert set(result.pieces) == set(parts)
    assert set(result.opened) == {whole, *parts}
    assert result.strips is None
    without = open_payload(net.graph(), "net")
    assert isinstance(without, OpenedPayload)
    assert without.joined == ()
    assert without.pieces == {}


# -- the second opinion ---------------------------------------------------------------------


def _mutants(joined: Joined, rng: random.Random) -> Iterator[tuple[str, Graph, dict[int, Piece]]]:
    """A payload with one number changed."""
    graph, pieces = joined.strips.graph, joined.strips.pieces
    for index, node in enumerate(graph.source.xnodes or ()):
        union: Any = node.xnode_union
        for member in fields(union):
            if not member.name.endswith("_id") or getattr(union, member.name) == x.INVALID_ID:
                continue
            others = [v for v in graph.values if v != getattr(union, member.name)]
            nodes = list(graph.source.xnodes or ())
            changed = replace(union, **{member.name: rng.choice(others)})
            nodes[index] = replace(node, xnode_union=changed)
            source = replace(graph.source, xnodes=tuple(nodes))
            yield f"node {index} {member.name}", index_graph(source, "mutant"), dict(pieces)
    for value, piece in pieces.items():
        for offset in (piece.offset_bytes + 4, piece.offset_bytes + ROW_BYTES, -ROW_BYTES, 1 << 40):
            moved = {**pieces, value: Piece(piece.whole, offset)}
            yield f"value {value} at {offset}", graph, moved
        for whole in set(graph.values) - {piece.whole, value}:
            yield f"value {value} in {whole}", graph, {**pieces, value: Piece(whole, 0)}
        for other in set(pieces) - {value}:
            swapped = {**pieces, value: pieces[other], other: piece}
            if pieces[other] != piece:
                yield f"values {value} and {other} swapped", graph, swapped


def _nets() -> Iterator[Net]:
    net = Net()  # slots, a copy and a slice of the result
    given, source = net.input(1, 2, 8), net.input(1, 3, 8)
    a, b, whole = net.inner(1, 3, 8), net.inner(1, 3, 8), net.inner(1, 8, 8)
    net.linear(source, a)
    net.unary(x.XNNTanh, source, b)
    net.concatenate([a, given, b], whole, axis=1)
    cut = net.inner(1, 3, 8)
    net.node(x.XNNStaticSlice(3, (0, 4, 0), (1, 3, 8), whole, cut, 0))
    net.unary(x.XNNExp, cut, net.output(1, 3, 8))
    net.linear(whole, net.output(1, 8, 2))
    yield net
    net = Net()  # operands of one type, whose order matters
    source = net.input(1, 2, 8)
    a, b, c = (net.inner(1, 2, 8) for _ in range(3))
    net.unary(x.XNNTanh, source, a)
    net.unary(x.XNNExp, source, b)
    net.unary(x.XNNAbs, source, c)
    inner = net.inner(1, 4, 8)
    net.concatenate([a, b], inner, axis=1)
    net.concatenate([inner, c], net.output(1, 6, 8), axis=1)
    net.unary(x.XNNFloor, inner, net.output(1, 4, 8))
    yield net


def test_every_changed_number_is_noticed() -> None:
    count = 0
    for net in _nets():
        found = _joined(net)
        for what, graph, pieces in _mutants(found, random.Random(1)):
            count += 1
            assert strip_fault(net.index(), graph, pieces) is not None, what
    assert count > 100
