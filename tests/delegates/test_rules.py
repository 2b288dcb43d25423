"""Which values stay inside XNNPACK, and how long operands live: one test per row of the design."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from math import inf
from typing import Any

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.rules import Link, closed_reason, effective_order, kept_internal
from tests.delegates.nets import (
    BF16,
    FP16,
    FP32,
    QCINT8,
    QDINT8,
    QINT8,
    QUINT8,
    RELU,
    RELU6,
    Bounds,
    Net,
)

IMAGE = (1, 8, 8, 4)


def _kept(net: Net, value: int) -> Link | None:
    graph = net.index()
    assert closed_reason(graph) is None
    return kept_internal(graph).get(value)


# -- padding ------------------------------------------------------------------------------


def _padded(
    before: tuple[int, ...] = (0, 1, 1, 0),
    kind: Any = x.XNNConv2d,
    size: int = 3,
    dims: tuple[int, ...] = IMAGE,
    **fields: Any,
) -> tuple[Net, int]:
    net = Net()
    source, padded, target = net.input(*IMAGE), net.inner(*dims), net.output(*IMAGE)
    net.pad(source, padded, before, (0,) * len(before))
    net.conv(padded, target, kind, size, **fields)
    return net, padded


@pytest.mark.parametrize(
    ("case", "link"),
    [
        (_padded(), Link.PAD),
        (_padded((0, 0, 0, 0)), Link.PAD),
        (_padded(kind=x.XNNDepthwiseConv2d), Link.PAD),
        (_padded(kind=x.XNNDepthwiseConv2d, size=1), Link.PAD),
        (_padded(size=1, subsampling_height=2), Link.PAD),
        (_padded(size=1, groups=2), Link.PAD),
        (_padded(size=1, padding_left=1), Link.PAD),
        (_padded(size=1), None),
        (_padded(kind=x.XNNConvTranspose2d), None),
        (_padded((1, 0, 0, 0)), None),
        (_padded((0, 1, 1, 2)), None),
        (_padded((1, 1, 0), dims=(8, 8, 4)), None),
        (_padded(flags=0x4), None),
    ],
)
def test_padding_stays_where_it_merges_into_a_convolution(
    case: tuple[Net, int], link: Link | None
) -> None:
    assert _kept(*case) == link


def test_padding_with_two_readers_or_another_reader_is_opened() -> None:
    net, padded = _padded()
    net.unary(x.XNNAbs, padded, net.output(*IMAGE))
    assert _kept(net, padded) is None
    net = Net()
    source, padded = net.input(*IMAGE), net.inner(*IMAGE)
    net.pad(source, padded, (0, 1, 1, 0), (0, 0, 0, 0))
    net.pool(x.XNNMaxPooling2d, padded, net.output(*IMAGE))
    assert _kept(net, padded) is None


def test_padding_of_a_filter_is_opened() -> None:
    net = Net()
    source, padded = net.input(*IMAGE), net.inner(4, 3, 3, 4)
    net.pad(net.input(4, 3, 3, 4), padded, (0, 1, 1, 0), (0, 0, 0, 0))
    net.conv(source, net.output(*IMAGE), filter_id=padded)
    assert _kept(net, padded) is None


# -- clamps -------------------------------------------------------------------------------


def _before_clamp(net: Net, kind: str, target: int) -> None:
    source = net.input(*IMAGE)
    if kind in ("Conv2d", "DepthwiseConv2d", "ConvTranspose2d"):
        net.conv(source, target, getattr(x, f"XNN{kind}"))
    elif kind in ("MaxPooling2d", "AvgPooling2d"):
        net.pool(getattr(x, f"XNN{kind}"), source, target)
    elif kind == "FullyConnected":
        net.linear(source, target)
    elif kind == "Clamp":
        net.clamp(source, target)
    elif kind == "BatchMatrixMultiply":
        net.matmul(source, net.input(*IMAGE), target)
    elif kind in ("Add", "Multiply", "Maximum"):
        net.binary(getattr(x, f"XNN{kind}"), source, net.input(*IMAGE), target)
    else:
        net.unary(getattr(x, f"XNN{kind}"), source, target)


_MERGING = ("Conv2d", "DepthwiseConv2d", "ConvTranspose2d", "FullyConnected")
_ALSO_MERGING = ("MaxPooling2d", "AvgPooling2d", "Clamp")
_NOT_MERGING = (
    "Add",
    "Multiply",
    "Maximum",
    "GlobalAvgPooling2d",
    "Sigmoid",
    "BatchMatrixMultiply",
)


@pytest.mark.parametrize("kind", [*_MERGING, *_ALSO_MERGING, *_NOT_MERGING])
def test_clamps_stay_behind_what_they_merge_into(kind: str) -> None:
    net = Net()
    value, target = net.inner(*IMAGE), net.output(*IMAGE)
    _before_clamp(net, kind, value)
    net.clamp(value, target)
    assert _kept(net, value) == (None if kind in _NOT_MERGING else Link.CLAMP)
    net.unary(x.XNNAbs, value, net.output(*IMAGE))
    assert _kept(net, value) is None, "another reader"


@pytest.mark.parametrize("kind", [x.XNNMinimum, x.XNNMaximum])
@pytest.mark.parametrize("swapped", [False, True])
def test_a_limit_by_one_number_is_a_clamp(kind: Any, swapped: bool) -> None:
    net = Net()
    value = net.inner(*IMAGE)
    net.conv(net.input(*IMAGE), value)
    operands = (value, net.scalar(3.0))
    first, second = operands[::-1] if swapped else operands
    net.binary(kind, first, second, net.output(*IMAGE))
    assert _kept(net, value) == Link.CLAMP


def test_a_limit_by_a_tensor_is_no_clamp() -> None:
    for is_constant in (True, False):
        net = Net()
        value = net.inner(*IMAGE)
        other = net.constant(4) if is_constant else net.input(*IMAGE)
        net.conv(net.input(*IMAGE), value)
        net.binary(x.XNNMinimum, value, other, net.output(*IMAGE))
        assert _kept(net, value) is None


@pytest.mark.parametrize("kind", ["limit", "add", "multiply", "mean"])
def test_clamps_stay_behind_hidden_clamps(kind: str) -> None:
    net, value, _ = _hidden_clamp(kind)
    assert kept_internal(net.index()).get(value) == Link.CLAMP


@pytest.mark.parametrize("kind", ["limit", "add", "multiply", "mean"])
def test_a_clamp_behind_a_hidden_clamp_is_written_early(kind: str) -> None:
    """Run on the real runtime: the final output is written by the first node."""
    net, value, last = _hidden_clamp(kind)
    graph = net.index()
    order = effective_order(graph, {value: kept_internal(graph).get(value, Link.LIMIT)})
    assert order.write_from[last] == 0


def _hidden_clamp(kind: str) -> tuple[Net, int, int]:
    net = Net()
    source, other, value = net.input(*IMAGE), net.input(*IMAGE), net.inner(*IMAGE)
    if kind == "limit":
        net.binary(x.XNNMaximum, source, net.scalar(-1.0), value)
    elif kind == "mean":
        net.node(x.XNNGlobalAvgPooling2d(source, value), RELU6)
    else:
        kinds = {"add": x.XNNAdd, "multiply": x.XNNMultiply}
        net.binary(kinds[kind], source, net.scalar(2.0), value, RELU6)
    net.unary(x.XNNSigmoid, other, net.output(*IMAGE))
    return net, value, net.clamp(value, net.output(*IMAGE))


# -- transposed right operands ------------------------------------------------------------

_SWAP, _MIX, _HEADS = (0, 1, 3, 2), (0, 3, 1, 2), (0, 2, 1, 3)


@pytest.mark.parametrize("product", ["matmul", "linear"])
@pytest.mark.parametrize("flags", [0, 1])
@pytest.mark.parametrize("perm", [_SWAP, _MIX, _HEADS])
@pytest.mark.parametrize("operand", [0, 1])
def test_transposes_stay_in_front_of_the_right_operand(
    product: str, flags: int, perm: tuple[int, ...], operand: int
) -> None:
    """Swapping the last two dimensions is dropped in both layouts; any other permutation is
    only changed where packing is slow: FC with the transpose flag, matmul without."""
    net = Net()
    value, other = net.inner(1, 4, 4, 4), net.input(1, 4, 4, 4)
    net.transpose(net.input(1, 4, 4, 4), value, *perm)
    left, right = (value, other) if operand == 0 else (other, value)
    if product == "matmul":
        net.matmul(left, right, net.output(1, 4, 4, 4), flags)
    else:
        net.linear(left, net.output(1, 4, 4, 4), right, flags)
    slow = flags == (0 if product == "matmul" else 1)
    stays = operand == 1 and (perm == _SWAP or slow)
    assert _kept(net, value) == (Link.TRANSPOSE if stays else None)


def test_a_transpose_with_two_readers_or_no_product_behind_it_is_opened() -> None:
    net = Net()
    value = net.inner(1, 4, 4, 4)
    net.transpose(net.input(1, 4, 4, 4), value, *_SWAP)
    net.matmul(net.input(1, 4, 4, 4), value, net.output(1, 4, 4, 4))
    net.unary(x.XNNAbs, value, net.output(1, 4, 4, 4))
    assert _kept(net, value) is None
    net = Net()
    value = net.inner(1, 4, 4, 4)
    net.transpose(net.input(1, 4, 4, 4), value, *_SWAP)
    net.binary(x.XNNAdd, net.input(1, 4, 4, 4), value, net.output(1, 4, 4, 4))
    assert _kept(net, value) is None


# -- squares ------------------------------------------------------------------------------


def _square(net: Net, source: int, target: int, kind: str) -> None:
    if kind == "square":
        net.unary(x.XNNSquare, source, target)
    else:
        net.binary(x.XNNMultiply, source, source, target)


@pytest.mark.parametrize("kind", ["square", "product"])
def test_a_square_stays_in_front_of_a_mean(kind: str) -> None:
    net = Net()
    value = net.inner(*IMAGE)
    _square(net, net.input(*IMAGE), value, kind)
    net.unary(x.XNNGlobalAvgPooling2d, value, net.output(1, 1, 1, 4))
    assert _kept(net, value) == Link.SQUARE


def test_a_product_of_two_tensors_is_no_square() -> None:
    net = Net()
    value = net.inner(*IMAGE)
    net.binary(x.XNNMultiply, net.input(*IMAGE), net.input(*IMAGE), value)
    net.unary(x.XNNGlobalAvgPooling2d, value, net.output(1, 1, 1, 4))
    assert _kept(net, value) is None


@pytest.mark.parametrize("kind", ["square", "product"])
def test_a_mean_reads_what_was_squared_even_when_the_square_is_an_argument(kind: str) -> None:
    net = Net()
    source, squared = net.input(*IMAGE), net.output(*IMAGE)
    _square(net, source, squared, kind)
    net.unary(x.XNNAbs, squared, net.output(*IMAGE))
    net.unary(x.XNNGlobalAvgPooling2d, squared, net.output(1, 1, 1, 4))
    order = effective_order(net.index(), {})
    assert order.read_until == (2, 1, 2)
    assert order.write_from == (0, 1, 2)


# -- 8-bit tables -------------------------------------------------------------------------


def _chain(*datatypes: int, kinds: tuple[Any, ...] = ()) -> tuple[Net, list[int]]:
    """Element-wise nodes from value to value of these types; the last value is the output."""
    net = Net()
    values = [net.input(*IMAGE, datatype=datatypes[0])]
    values += [net.inner(*IMAGE, datatype=t) for t in datatypes[1:-1]]
    values.append(net.output(*IMAGE, datatype=datatypes[-1]))
    for k, (source, target) in enumerate(pairwise(values)):
        kind = kinds[k] if kinds else x.XNNConvert
        if kind in (x.XNNAdd, x.XNNMultiply):
            net.binary(kind, source, net.scalar(2.0), target)
        else:
            net.unary(kind, source, target)
    return net, values


@pytest.mark.parametrize("eight", [QINT8, QUINT8])
def test_all_links_of_a_table_stay(eight: int) -> None:
    for datatypes in (
        (eight, eight, eight),
        (eight, FP32, eight),
        (eight, FP32, FP32, FP32, eight),
        (eight, eight, FP32, eight, eight),
    ):
        net, values = _chain(*datatypes)
        assert [_kept(net, v) for v in values[1:-1]] == [Link.LOOKUP] * (len(values) - 2)


def test_a_binary_with_one_number_is_part_of_a_table() -> None:
    kinds = (x.XNNConvert, x.XNNAdd, x.XNNMultiply, x.XNNConvert)
    net, values = _chain(QINT8, FP32, FP32, FP32, QINT8, kinds=kinds)
    assert [_kept(net, v) for v in values[1:-1]] == [Link.LOOKUP] * 3


def test_only_what_ends_in_eight_bits_is_a_table() -> None:
    net, values = _chain(QINT8, QINT8, FP32, FP32)
    assert [_kept(net, v) for v in values[1:-1]] == [None, None]
    net, values = _chain(FP32, FP32, QINT8)
    assert _kept(net, values[1]) is None


def test_a_second_reader_ends_a_table() -> None:
    net, values = _chain(QINT8, FP32, FP32, QINT8)
    net.unary(x.XNNAbs, values[1], net.output(*IMAGE))
    assert [_kept(net, v) for v in values[1:-1]] == [None, None]


def test_a_table_may_use_its_input_twice() -> None:
    """softsign: x / (1 + |x|)."""
    net = Net()
    source = net.input(*IMAGE, datatype=QINT8)
    size, more = net.inner(*IMAGE, datatype=QINT8), net.inner(*IMAGE, datatype=QINT8)
    target = net.output(*IMAGE, datatype=QINT8)
    net.unary(x.XNNAbs, source, size)
    net.binary(x.XNNAdd, size, net.scalar(1.0, QINT8), more)
    net.binary(x.XNNDiv, source, more, target)
    assert _kept(net, size) == Link.LOOKUP


def test_a_binary_with_another_tensor_ends_a_table() -> None:
    net = Net()
    source, other = net.input(*IMAGE, datatype=QINT8), net.input(*IMAGE, datatype=QINT8)
    value, target = net.inner(*IMAGE, datatype=QINT8), net.output(*IMAGE, datatype=QINT8)
    net.unary(x.XNNAbs, source, value)
    net.binary(x.XNNAdd, value, other, target)
    assert _kept(net, value) is None


def test_a_table_reads_at_its_last_node() -> None:
    net, values = _chain(QINT8, FP32, FP32, QINT8)
    order = effective_order(net.index(), dict.fromkeys(values[1:-1], Link.LOOKUP))
    assert order.read_until == (2, 2, 2)


# -- types and shapes ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("datatype", "quant"),
    [
        (QDINT8, x.PerTokenDynamicQuant(1)),
        (QCINT8, x.PerChannelQuant((1.0,), 0)),
        (x.Datatype.QPINT8, None),
        (x.Datatype.PFP32, None),
        (x.Datatype.QINT32, x.PerTensorQuant(1.0, 0)),
        (x.Datatype.INT32, None),
        (QINT8, x.PerChannelQuant((1.0,), 0)),
    ],
)
def test_types_without_a_plain_tensor_stay(datatype: int, quant: Any) -> None:
    net = Net()
    value = net.inner(1, 4, datatype=datatype, quant=quant)
    net.unary(x.XNNConvert, net.input(1, 4), value)
    net.linear(value, net.output(1, 4))
    assert _kept(net, value) == Link.DATATYPE


@pytest.mark.parametrize("datatype", [FP32, QINT8, QUINT8])
def test_plain_types_are_opened(datatype: int) -> None:
    net = Net()
    value = net.inner(1, 4, datatype=datatype)
    net.unary(x.XNNSigmoid, net.input(1, 4), value)
    net.linear(value, net.output(1, 4))
    assert _kept(net, value) is None


@pytest.mark.parametrize(
    ("dims", "link"),
    [
        ((1,) * 6, None),
        ((1,) * 7, Link.SHAPE),
        ((), Link.SHAPE),
        ((2, 0, 3), Link.SHAPE),
    ],
)
def test_shapes_that_no_argument_has_stay(dims: tuple[int, ...], link: Link | None) -> None:
    net = Net()
    value = net.inner(*dims)
    net.unary(x.XNNSigmoid, net.input(*dims), value)
    net.unary(x.XNNTanh, value, net.output(*dims))
    assert _kept(net, value) == link


def test_dead_values_stay() -> None:
    net = Net()
    source = net.input(4)
    no_reader, read_by_dead, read_by_dead_only = net.inner(4), net.inner(4), net.inner(4)
    net.unary(x.XNNAbs, source, no_reader)
    net.unary(x.XNNAbs, source, read_by_dead)
    net.unary(x.XNNAbs, read_by_dead, read_by_dead_only)
    net.unary(x.XNNAbs, source, net.output(4))
    assert [_kept(net, v) for v in (no_reader, read_by_dead, read_by_dead_only)] == [Link.DEAD] * 3


def test_arguments_and_constants_are_not_asked_about() -> None:
    net = Net()
    source, target = net.input(*IMAGE), net.output(*IMAGE)
    net.conv(source, target)
    assert kept_internal(net.index()) == {}


# -- payloads that stay closed ------------------------------------------------------------


def _plain() -> Net:
    net = Net()
    net.unary(x.XNNSigmoid, net.input(4), net.output(4))
    return net


def _half(datatype: int) -> Net:
    net = _plain()
    net.unary(x.XNNSigmoid, net.input(4), net.output(4, datatype=datatype))
    return net


def _old_dynamic() -> Net:
    net = _plain()
    net.input(4, dq_datatype=int(QDINT8))
    return net


def _attention() -> Net:
    net = _plain()
    a = net.input(4)
    net.node(x.XNNScaledDotProductAttention(a, a, a, a, a, net.output(4)))
    return net


def _dequantized_product() -> Net:
    net = _plain()
    left, right = net.input(1, 4, 4), net.inner(1, 4, 4)
    net.unary(x.XNNConvert, net.input(1, 4, 4, datatype=QINT8), right)
    net.matmul(left, right, net.output(1, 4, 4))
    return net


def _unbounded(bounds: Bounds | None) -> Net:
    net = _plain()
    net.node(x.XNNClamp(net.input(4), net.output(4)), bounds)
    return net


def _written_twice() -> Net:
    net = _plain()
    target = net.output(4)
    net.unary(x.XNNSigmoid, net.input(4), target)
    net.unary(x.XNNSigmoid, net.input(4), target)
    return net


def _writes_a_constant() -> Net:
    net = _plain()
    net.unary(x.XNNSigmoid, net.input(4), net.constant(4))
    return net


def _read_before_written() -> Net:
    net = _plain()
    value = net.inner(4)
    net.unary(x.XNNSigmoid, value, net.output(4))
    net.unary(x.XNNSigmoid, net.input(4), value)
    return net


def _reads_itself() -> Net:
    net = _plain()
    value = net.inner(4)
    net.unary(x.XNNSigmoid, value, value)
    return net


def _constant_argument() -> Net:
    net = _plain()
    net.input(4, constant_buffer_idx=1)
    return net


def _unknown_type() -> Net:
    net = _plain()
    net.input(4, datatype=99)
    return net


@pytest.mark.parametrize(
    ("build", "reason"),
    [
        (lambda: _half(FP16), "fp16"),
        (lambda: _half(BF16), "bf16"),
        (_old_dynamic, "dynamically quantized input"),
        (_attention, "attention"),
        (_dequantized_product, "dequantized"),
        (lambda: _unbounded(None), "clamp without bounds"),
        (lambda: _unbounded((-inf, inf)), "clamp without bounds"),
        (_written_twice, "two nodes write"),
        (_writes_a_constant, "writes a constant"),
        (_read_before_written, "before it is written"),
        (_reads_itself, "before it is written"),
        (_constant_argument, "constant that is also an argument"),
        (_unknown_type, "unknown type 99"),
    ],
)
def test_closed_payloads_say_why(build: Callable[[], Net], reason: str) -> None:
    found = closed_reason(build().index())
    assert found is not None
    assert reason in found


def test_most_payloads_are_not_closed() -> None:
    assert closed_reason(_plain().index()) is None
    assert closed_reason(_unbounded(RELU).index()) is None
    net = _half(FP32)
    net.constant(4, datatype=FP16)
    assert closed_reason(net.index()) is None, "weights may be half precision"


# -- effective order ----------------------------------------------------------------------


def test_without_links_every_node_reads_and_writes_in_its_place() -> None:
    net = Net()
    a, b, c = net.input(4), net.output(4), net.output(4)
    net.unary(x.XNNSigmoid, a, b)
    net.unary(x.XNNSigmoid, b, c)
    order = effective_order(net.index(), {})
    assert (order.read_until, order.write_from) == ((0, 1), (0, 1))


@pytest.mark.parametrize("link", list(Link))
def test_operands_of_a_kept_value_live_until_its_last_reader(link: Link) -> None:
    """0: a → t, 1: other, 2: t → u, 3: other, 4: t, u → b."""
    net = Net()
    a, t, u, b = net.input(4), net.inner(4), net.inner(4), net.output(4)
    net.unary(x.XNNSigmoid, a, t)
    net.unary(x.XNNSigmoid, a, net.output(4))
    net.unary(x.XNNSigmoid, t, u)
    net.unary(x.XNNSigmoid, a, net.output(4))
    net.binary(x.XNNAdd, t, u, b)
    graph = net.index()
    assert effective_order(graph, {t: link}).read_until == (4, 1, 2, 3, 4)
    assert effective_order(graph, {t: link, u: link}).read_until == (4, 1, 4, 3, 4)


def test_links_pass_on_lateness() -> None:
    net = Net()
    a, t, u, b = net.input(4), net.inner(4), net.inner(4), net.output(4)
    net.unary(x.XNNSigmoid, a, t)
    net.unary(x.XNNSigmoid, t, u)
    net.unary(x.XNNSigmoid, u, b)
    order = effective_order(net.index(), {t: Link.LIMIT, u: Link.LIMIT})
    assert order.read_until == (2, 2, 2)


@pytest.mark.parametrize("link", list(Link))
def test_clamps_and_tables_are_born_at_their_producer(link: Link) -> None:
    """A clamp behind any value that stays internal may be merged upwards; other nodes only
    along the links that XNNPACK merges."""
    early = link in (Link.CLAMP, Link.LOOKUP)
    for is_clamp in (True, False):
        net = Net()
        a, t, b = net.input(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
        net.conv(a, t)
        net.unary(x.XNNSigmoid, a, net.output(*IMAGE))
        if is_clamp:
            net.clamp(t, b)
        else:
            net.unary(x.XNNTanh, t, b)
        first = 0 if early or is_clamp else 2
        assert effective_order(net.index(), {t: link}).write_from == (0, 1, first)


def test_clamps_behind_clamps_are_all_born_at_the_first_producer() -> None:
    net = Net()
    a, t, u, b = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(a, t)
    net.clamp(t, u)
    net.clamp(u, b, RELU6)
    order = effective_order(net.index(), {t: Link.CLAMP, u: Link.CLAMP})
    assert order.write_from == (0, 0, 0)


@pytest.mark.parametrize("link", list(Link))
def test_a_copy_of_a_kept_value_is_written_by_its_producer(link: Link) -> None:
    net = Net()
    a, t, b = net.input(4), net.inner(4), net.output(4)
    net.unary(x.XNNSigmoid, a, t)
    net.unary(x.XNNAbs, a, net.output(4))
    net.unary(x.XNNCopy, t, b)
    assert effective_order(net.index(), {t: link}).write_from == (0, 1, 0)
    assert effective_order(net.index(), {}).write_from == (0, 1, 2)


def test_a_dynamically_quantized_input_is_read_by_every_product() -> None:
    net = Net()
    a, q = net.input(1, 4), net.inner(1, 4, datatype=QDINT8, quant=x.PerTokenDynamicQuant(1))
    net.unary(x.XNNConvert, a, q)
    net.linear(q, net.output(1, 4))
    net.unary(x.XNNAbs, a, net.output(1, 4))
    net.linear(q, net.output(1, 4))
    graph = net.index()
    assert effective_order(graph, kept_internal(graph)).read_until == (3, 1, 2, 3)
