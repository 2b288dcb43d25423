"""Which pairs of values may have one address although both are alive."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.timeline.sharing import sharing_pairs
from onearena.timeline.storage import analyse_storage
from tests.delegates.nets import FP32, INT32, QINT8, RELU6, Net
from tests.pte.build import BOOL, CHAR, DYNAMIC_BOUND, Method
from tests.timeline.build import opened_method, xnnpack

IMAGE = (1, 4, 4, 2)
_TYPES = {FP32: 6, QINT8: CHAR}


class Case:
    """One opened call of a net; the program's tensors follow from the net's arguments."""

    def __init__(self, dynamic: bool = False) -> None:
        self.method = Method()
        self.net = Net()
        self.dynamic = dynamic

    def arguments(self, **fields: Any) -> list[int]:
        """A tensor for each argument, one behind the other, the inputs as method inputs."""
        graph = self.net.index()
        made = []
        offset = max(self.method.arenas.get(1, 0), 0)
        for position in sorted(graph.externals):
            value = graph.values[graph.externals[position]]
            dynamism = {"shape_dynamism": DYNAMIC_BOUND} if self.dynamic else {}
            tensor = self.method.tensor(
                *value.dims,
                scalar_type=_TYPES[x.Datatype(value.tensor.datatype)],
                offset=offset,
                **{**dynamism, **fields},
            )
            offset += -(-(value.size_bytes or 0) // 16) * 16
            made.append(tensor)
        return made

    def call(self, args: list[int]) -> list[int]:
        xnnpack(self.method, *args)
        return args

    def run(self) -> list[int]:
        """Calls the net on its own tensors; inputs and outputs are those of the method."""
        args = self.call(self.arguments())
        count = len(self.net.graph().input_ids or ())
        self.method.input(*args[:count]).output(*args[count:])
        return args

    def pairs(self) -> set[tuple[int, int]]:
        """The pairs as values of the net."""
        opened, steps = opened_method(self.method, self.net)
        call = next(iter(opened.calls.values()))
        named = {call.args[p]: v for p, v in call.graph.externals.items()}
        storage = analyse_storage(steps, opened.added)
        return {
            (named[a], named[b])
            for a, b in sharing_pairs(steps, storage)
            if a in named and b in named
        }


# -- in place -----------------------------------------------------------------------------


def _unary(case: Case, kind: Any = x.XNNSigmoid) -> tuple[int, int]:
    """conv → t → kind → u → conv."""
    net = case.net
    a, t, u, y = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(a, t)
    net.unary(kind, t, u)
    net.conv(u, y)
    return t, u


@pytest.mark.parametrize("kind", [x.XNNSigmoid, x.XNNAbs, x.XNNSoftmax, x.XNNTanh, x.XNNELU])
@pytest.mark.parametrize("dynamic", [False, True])
def test_elementwise_nodes_and_softmax_work_in_place(kind: Any, dynamic: bool) -> None:
    case = Case(dynamic)
    t, u = _unary(case, kind)
    case.run()
    assert case.pairs() == {(t, u)}


def _two_nodes(case: Case, add: Callable[[Net, int, int], Any]) -> tuple[int, int]:
    net = case.net
    a, t, u, y = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(a, t)
    add(net, t, u)
    net.conv(u, y)
    case.run()
    return t, u


@pytest.mark.parametrize(
    "add",
    [
        lambda net, t, u: net.conv(t, u),
        lambda net, t, u: net.conv(t, u, x.XNNDepthwiseConv2d),
        lambda net, t, u: net.pool(x.XNNMaxPooling2d, t, u),
        lambda net, t, u: net.pad(t, u, (0, 0, 0, 1), (0, 0, 0, 0)),
        lambda net, t, u: net.transpose(t, u, 0, 2, 1, 3),
        lambda net, t, u: net.linear(t, u),
        lambda net, t, u: net.matmul(t, t, u),
        lambda net, t, u: net.unary(x.XNNGlobalAvgPooling2d, t, u),
        lambda net, t, u: net.node(x.XNNStaticResizeBilinear2D(4, 4, t, u)),
        lambda net, t, u: net.node(x.XNNStaticSlice(4, (0,) * 4, IMAGE, t, u)),
    ],
)
def test_other_nodes_never_work_in_place(add: Callable[[Net, int, int], Any]) -> None:
    case = Case()
    _two_nodes(case, add)
    assert case.pairs() == set()


def test_not_when_the_operand_is_read_again_in_the_call() -> None:
    case = Case()
    t, _ = _unary(case)
    case.net.conv(t, case.net.output(*IMAGE))
    case.run()
    assert case.pairs() == set()


def test_not_when_the_operand_is_read_again_behind_the_call() -> None:
    case = Case()
    net = case.net
    a, y = net.input(*IMAGE), net.output(*IMAGE)
    net.unary(x.XNNSigmoid, a, y)
    args = case.run()
    assert case.pairs() == {(a, y)}
    out = case.method.tensor(*IMAGE, offset=4096)
    case.method.call("aten::relu.out", args[0], out, out)
    assert case.pairs() == set()


def test_not_when_the_operand_is_an_output_of_the_method() -> None:
    case = Case()
    case.net.unary(x.XNNSigmoid, case.net.input(*IMAGE), case.net.output(*IMAGE))
    args = case.run()
    case.method.output(args[0])
    assert case.pairs() == set()


def test_not_when_only_the_output_dies() -> None:
    """Nobody reads the second output; the first one is returned."""
    case = Case()
    net = case.net
    a, y, unread = net.input(*IMAGE), net.output(*IMAGE), net.output(*IMAGE)
    net.unary(x.XNNSigmoid, a, y)
    net.unary(x.XNNTanh, y, unread)
    args = case.run()
    case.method.outputs.remove(args[2])
    assert case.pairs() == {(a, y)}


def test_not_on_state() -> None:
    case = Case()
    case.net.unary(x.XNNSigmoid, case.net.input(*IMAGE), case.net.output(*IMAGE))
    args = case.call(case.arguments(data_buffer_idx=1))
    case.method.output(args[1])
    assert case.pairs() == set()


def test_not_on_pinned_values() -> None:
    case = Case()
    case.net.unary(x.XNNSigmoid, case.net.input(*IMAGE), case.net.output(*IMAGE))
    args = case.arguments()
    case.method.input(args[0]).output(args[1])
    case.method.call("test::odd", args[0])
    case.call(args)
    assert case.pairs() == set()


def test_not_across_arenas() -> None:
    case = Case()
    case.net.unary(x.XNNSigmoid, case.net.input(*IMAGE), case.net.output(*IMAGE))
    source = case.method.tensor(*IMAGE, offset=0)
    target = case.method.tensor(*IMAGE, offset=0, memory_id=2)
    case.method.input(source).output(target)
    case.call([source, target])
    assert case.pairs() == set()


def test_not_through_a_handle() -> None:
    case = Case()
    case.net.unary(x.XNNSigmoid, case.net.input(*IMAGE), case.net.output(*IMAGE))
    source, target = case.method.tensor(*IMAGE, offset=0), case.method.tensor(*IMAGE, offset=512)
    handle = case.method.tensor(*IMAGE)
    case.method.input(source).output(target)
    case.method.move(source, handle)
    case.call([handle, target])
    assert case.pairs() == set()


def test_not_when_operand_and_output_are_one_value() -> None:
    case = Case()
    case.net.unary(x.XNNSigmoid, case.net.input(*IMAGE), case.net.output(*IMAGE))
    tensor = case.method.tensor(*IMAGE, offset=0)
    case.method.input(tensor).output(tensor)
    case.call([tensor, tensor])
    assert case.pairs() == set()


def test_conversions_in_place_only_at_equal_sizes() -> None:
    net_pairs = []
    for source, target in ((FP32, QINT8), (QINT8, FP32), (QINT8, QINT8)):
        case = Case()
        a, y = case.net.input(*IMAGE, datatype=source), case.net.output(*IMAGE, datatype=target)
        case.net.unary(x.XNNConvert, a, y)
        case.run()
        net_pairs.append(case.pairs() == {(a, y)})
    assert net_pairs == [False, False, True]
    assert INT32 != FP32


def _binary(case: Case, first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
    net = case.net
    a, b, y = net.input(*first), net.input(*second), net.output(*IMAGE)
    net.binary(x.XNNAdd, a, b, y)
    case.run()
    return a, b, y


def test_a_binary_may_take_over_either_full_operand() -> None:
    case = Case()
    a, b, y = _binary(case, IMAGE, IMAGE)
    assert case.pairs() == {(a, y), (b, y)}


@pytest.mark.parametrize("small", [(2,), (1, 1, 1, 2), (1, 4, 1, 1), (1,)])
def test_a_broadcast_operand_is_never_taken_over(small: tuple[int, ...]) -> None:
    case = Case()
    a, _, y = _binary(case, IMAGE, small)
    assert case.pairs() == {(a, y)}
    case = Case()
    _, b, y = _binary(case, small, IMAGE)
    assert case.pairs() == {(b, y)}


def test_both_operands_broadcast() -> None:
    case = Case()
    _binary(case, (1, 4, 1, 2), (1, 1, 4, 2))
    assert case.pairs() == set()


def test_one_value_as_both_operands() -> None:
    case = Case()
    a, y = case.net.input(*IMAGE), case.net.output(*IMAGE)
    case.net.binary(x.XNNMultiply, a, a, y)
    case.run()
    assert case.pairs() == {(a, y)}


def test_the_clamp_of_a_bounded_binary_works_in_place() -> None:
    case = Case()
    a, b, y = case.net.input(*IMAGE), case.net.input(*IMAGE), case.net.output(*IMAGE)
    case.net.binary(x.XNNAdd, a, b, y, RELU6)
    case.run()
    hidden = y + 1
    assert case.pairs() == {(a, hidden), (b, hidden), (hidden, y)}


def test_dynamic_binaries_only_beside_one_number() -> None:
    """At run time an operand of a dynamic binary may turn out to be broadcast."""
    case = Case(dynamic=True)
    _binary(case, IMAGE, IMAGE)
    assert case.pairs() == set()
    case = Case(dynamic=True)
    a, y = case.net.input(*IMAGE), case.net.output(*IMAGE)
    case.net.binary(x.XNNAdd, a, case.net.scalar(2.0), y)
    case.run()
    assert case.pairs() == {(a, y)}
    case = Case(dynamic=True)
    case.net.binary(x.XNNAdd, case.net.input(*IMAGE), case.net.constant(2), case.net.output(*IMAGE))
    case.run()
    assert case.pairs() == set()


def test_not_when_the_operand_is_read_late() -> None:
    """square(a) → y is in place; a mean of y makes XNNPACK read a once more."""
    case = Case()
    net = case.net
    a, y, m = net.input(*IMAGE), net.output(*IMAGE), net.output(1, 1, 1, 2)
    net.unary(x.XNNSquare, a, y)
    net.unary(x.XNNGlobalAvgPooling2d, y, m)
    case.run()
    assert case.pairs() == set()


# -- reshapes and copies ------------------------------------------------------------------

FLAT = (1, 32)


def _reshapes(case: Case) -> tuple[int, ...]:
    """conv → t, t → u → v by reshape and copy, all read by two more nodes at the end."""
    net = case.net
    a, t, u, v = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*FLAT), net.inner(*FLAT)
    net.conv(a, t)
    net.reshape(t, u)
    net.unary(x.XNNCopy, u, v)
    net.linear(u, net.output(1, 3))
    net.linear(v, net.output(1, 3))
    net.conv(t, net.output(*IMAGE))
    return t, u, v


def test_all_values_with_one_content_are_one_family() -> None:
    case = Case()
    t, u, v = _reshapes(case)
    case.run()
    assert case.pairs() == {(t, u), (t, v), (u, v)}


def test_two_reshapes_of_one_value_are_one_family() -> None:
    case = Case()
    net = case.net
    a, t, u, v = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*FLAT), net.inner(32)
    net.conv(a, t)
    net.reshape(t, u)
    net.reshape(t, v)
    net.linear(u, net.output(1, 3))
    net.unary(x.XNNSoftmax, v, net.output(32))
    case.run()
    assert {(t, u), (t, v), (u, v)} <= case.pairs()


def test_no_family_when_its_source_is_written_again() -> None:
    """Another call writes the reshaped value's source while the reshape is still read."""
    case = Case()
    net = case.net
    a, y = net.input(*IMAGE), net.output(*FLAT)
    net.reshape(a, y)
    args = case.run()
    assert case.pairs() == {(a, y)}
    other = case.method.tensor(*IMAGE, offset=4096)
    case.method.input(other)
    case.method.call("aten::relu.out", other, args[0], args[0])
    assert case.pairs() == set()


def test_no_family_when_something_inside_its_memory_is_written() -> None:
    """A mate: a slice of the source is overwritten in place behind the reshape."""
    case = Case()
    net = case.net
    a, y = net.input(*IMAGE), net.output(*FLAT)
    net.reshape(a, y)
    args = case.arguments()
    case.method.input(args[0]).output(args[1])
    case.call(args)
    part = case.method.tensor(2, offset=16)
    case.method.call("aten::add_.Tensor", part, part, case.method.integer(1), part)
    out = case.method.tensor(*IMAGE, offset=4096)
    case.method.call("aten::relu.out", args[0], out, out)
    assert case.pairs() == set()


def test_no_family_when_a_copy_is_written_twice() -> None:
    case = Case()
    net = case.net
    a, y = net.input(*IMAGE), net.output(*FLAT)
    net.reshape(a, y)
    args = case.run()
    case.method.call("aten::relu.out", args[0], args[1], args[1])
    assert case.pairs() == set()


def test_no_family_across_jumps() -> None:
    case = Case()
    net = case.net
    a, y = net.input(*IMAGE), net.output(*FLAT)
    net.reshape(a, y)
    args = case.arguments()
    condition = case.method.tensor(1, scalar_type=BOOL)
    out = case.method.tensor(*IMAGE, offset=4096)
    case.method.input(args[0], condition).output(args[1])
    case.method.jump_if_false(condition, 2)
    case.method.call("aten::relu.out", args[0], out, out)
    case.call(args)
    assert case.pairs() == set()


def test_a_family_inside_one_call_of_a_loop() -> None:
    """Everything happens inside one instruction, whichever way control flows around it."""
    case = Case()
    net = case.net
    a, t, u = net.input(*IMAGE), net.inner(*IMAGE), net.inner(*FLAT)
    net.conv(a, t)
    net.reshape(t, u)
    net.conv(t, net.output(*IMAGE))
    net.linear(u, net.output(1, 3))
    args = case.arguments()
    condition = case.method.tensor(1, scalar_type=BOOL)
    case.method.input(args[0], condition).output(*args[1:])
    case.call(args)
    case.method.jump_if_false(condition, 0)
    assert case.pairs() == {(t, u)}


def test_no_family_with_state() -> None:
    case = Case()
    net = case.net
    net.reshape(net.input(*IMAGE), net.output(*FLAT))
    source = case.method.tensor(*IMAGE, offset=0, data_buffer_idx=1)
    target = case.method.tensor(*FLAT, offset=512)
    case.method.output(target)
    case.call([source, target])
    assert case.pairs() == set()


def test_a_family_may_be_dynamic() -> None:
    case = Case(dynamic=True)
    a, y = case.net.input(*IMAGE), case.net.output(*FLAT)
    case.net.reshape(a, y)
    case.run()
    assert case.pairs() == {(a, y)}
