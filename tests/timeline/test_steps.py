"""A method as a list of steps: one per kernel, one per node of a call that is understood."""

from __future__ import annotations

from onearena.delegates.xnnpack import schema as x
from onearena.timeline.roles import Roles
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import analyse_storage
from tests.delegates.nets import FP16, QDINT8, Net
from tests.pte.build import LONG, Method
from tests.timeline.build import alive, opened_method, steps_of, xnnpack

IMAGE = (1, 4, 4, 2)
FLOATS = 32


def _called(net: Net, *types: int) -> tuple[Method, list[int]]:
    """A method that is one call of the net, its arguments one behind the other."""
    method = Method()
    graph = net.index()
    args = []
    for position in sorted(graph.externals):
        value = graph.values[graph.externals[position]]
        scalar = types[position] if position < len(types) else 6
        args.append(method.tensor(*value.dims, scalar_type=scalar, offset=256 * position))
    count = len(net.graph().input_ids or ())
    method.input(*args[:count]).output(*args[count:])
    xnnpack(method, *args)
    return method, args


def _shape(steps: MethodSteps) -> list[tuple[int, str]]:
    return [(step.instruction, step.label) for step in steps.steps]


def test_entry_and_exit() -> None:
    method = Method()
    a = method.tensor(4, offset=0)
    method.input(a, method.integer(5)).output(a)
    steps = steps_of(method)
    assert _shape(steps) == [(-1, "inputs"), (0, "outputs")]
    assert steps.steps[0].roles == Roles((), (a,))
    assert steps.steps[1].roles == Roles((a,), ())
    assert steps.first_step == (1,)


def test_kernels_are_one_step_each() -> None:
    method = Method()
    a, b = method.tensor(4, offset=0), method.tensor(4, offset=16)
    method.call("aten::relu.out", a, b, b)
    method.move(a, b)
    steps = steps_of(method)
    assert _shape(steps)[1:-1] == [(0, "aten::relu.out"), (1, "move")]


def test_a_call_has_a_step_per_node() -> None:
    net = Net()
    a, t, y = net.input(4), net.inner(4), net.output(4)
    net.unary(x.XNNSigmoid, a, t)
    net.unary(x.XNNTanh, t, y)
    method, (source, target) = _called(net)
    method.call("aten::relu.out", target, source, source)
    steps = steps_of(method, net)
    assert _shape(steps) == [
        (-1, "inputs"),
        (0, "XNNPACK Sigmoid"),
        (0, "XNNPACK Tanh"),
        (1, "aten::relu.out"),
        (2, "outputs"),
    ]
    assert steps.first_step == (1, 3, 4)
    assert [step.roles for step in steps.steps[1:3]] == [
        Roles((source,), ()),
        Roles((), (target,)),
    ]


def test_operands_live_on_while_a_value_stays_inside() -> None:
    """As it stands, t is inside XNNPACK: whatever it does, a may be read by the last node."""
    net = Net()
    a, b, t, y = net.input(4), net.input(4), net.inner(4), net.output(4)
    net.unary(x.XNNSigmoid, a, t)
    net.unary(x.XNNAbs, b, net.output(4))
    net.unary(x.XNNTanh, t, y)
    method, args = _called(net)
    steps = steps_of(method, net)
    assert steps.steps[1].late_reads == ((args[0], 3),)
    assert alive(analyse_storage(steps, frozenset()), args[0]) == [0, 1, 2, 3]
    assert alive(analyse_storage(steps, frozenset()), args[1]) == [0, 1, 2]
    opened, steps = opened_method(method, net)
    assert steps.steps[1].late_reads == ()
    assert alive(analyse_storage(steps, opened.added), args[0]) == [0, 1]


def test_a_clamp_that_merges_is_born_with_its_producer() -> None:
    net = Net()
    a, q, t, y = net.input(*IMAGE), net.input(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(a, t)
    net.unary(x.XNNSigmoid, q, net.output(*IMAGE))
    net.clamp(t, y)
    method, args = _called(net)
    _, steps = opened_method(method, net)
    assert steps.steps[3].early_writes == ((args[2], 1),)
    assert steps.steps[1].late_reads == ((args[0], 3),)
    storage = analyse_storage(steps, frozenset())
    assert alive(storage, args[2]) == [1, 2, 3, 4]


def test_a_padded_input_lives_until_the_convolution() -> None:
    net = Net()
    a, p = net.input(*IMAGE), net.inner(1, 5, 4, 2)
    net.pad(a, p, (0, 1, 0, 0), (0, 0, 0, 0))
    net.unary(x.XNNSigmoid, a, net.output(*IMAGE))
    net.conv(p, net.output(*IMAGE))
    method, args = _called(net)
    _, steps = opened_method(method, net)
    assert steps.steps[1].late_reads == ((args[0], 3),)


def test_a_dynamically_quantized_input_lives_until_every_product() -> None:
    net = Net()
    a, q = net.input(1, 4), net.inner(1, 4, datatype=QDINT8, quant=x.PerTokenDynamicQuant(1))
    net.unary(x.XNNConvert, a, q)
    net.linear(q, net.output(1, 4))
    net.linear(q, net.output(1, 4))
    method, args = _called(net)
    _, steps = opened_method(method, net)
    assert steps.steps[1].late_reads == ((args[0], 3),)


def test_a_64_bit_output_is_touched_again_behind_the_last_node() -> None:
    """The delegate widens it in place when all nodes have run."""
    net = Net()
    net.unary(x.XNNAbs, net.input(4), net.output(4))
    net.unary(x.XNNAbs, net.input(4), net.output(4))
    method, args = _called(net, 6, 6, LONG)
    storage = analyse_storage(steps_of(method, net), frozenset())
    assert method.outputs[0] == args[2]
    method.outputs.remove(args[2])
    storage = analyse_storage(steps_of(method, net), frozenset())
    assert alive(storage, args[2]) == [1, 2]
    assert alive(storage, args[3]) == [2, 3]


def test_a_payload_without_nodes_is_one_step() -> None:
    net = Net()
    net.input(4)
    method, _ = _called(net)
    assert _shape(steps_of(method, net))[1] == (0, "XNNPACK (empty)")


def test_a_closed_call_is_one_step_with_the_roles_of_its_payload() -> None:
    """A half-precision payload stays closed, but says what it reads and writes."""
    net = Net()
    a, b = net.input(4), net.input(4)
    y = net.output(4)
    t = net.inner(4, datatype=FP16)
    net.unary(x.XNNConvert, a, t)
    net.binary(x.XNNAdd, t, b, y)
    method, (first, second, target) = _called(net)
    steps = steps_of(method, net)
    assert _shape(steps)[1] == (0, "XnnpackBackend")
    assert steps.steps[1].roles == Roles((first, second), (target,))


def test_arguments_that_do_not_fit_make_a_call_opaque() -> None:
    net = Net()
    net.unary(x.XNNAbs, net.input(4), net.output(4))
    method = Method()
    a, b, c = (method.tensor(4, offset=16 * k) for k in range(3))
    method.input(a).output(c)
    xnnpack(method, a, b, c)
    roles = steps_of(method, net).steps[1].roles
    assert roles == Roles((a, b), (b, c), maybe_reads=(b,))


def test_a_call_with_one_tensor_twice() -> None:
    net = Net()
    net.binary(x.XNNAdd, net.input(4), net.input(4), net.output(4))
    method = Method()
    a, c = method.tensor(4, offset=0), method.tensor(4, offset=16)
    method.input(a).output(c)
    xnnpack(method, a, a, c)
    assert steps_of(method, net).steps[1].roles == Roles((a,), (c,))


def test_one_payload_in_two_calls() -> None:
    net = Net()
    net.unary(x.XNNAbs, net.input(4), net.output(4))
    method = Method()
    a, b, c = (method.tensor(4, offset=16 * k) for k in range(3))
    method.input(a).output(c)
    xnnpack(method, a, b)
    xnnpack(method, b, c)
    steps = steps_of(method, net)
    assert [step.roles for step in steps.steps[1:3]] == [Roles((a,), (b,)), Roles((b,), (c,))]
    assert sorted(steps.calls) == [0, 1]


def test_an_unknown_backend_between_two_calls() -> None:
    net = Net()
    net.unary(x.XNNAbs, net.input(4), net.output(4))
    method = Method()
    a, b, c, d = (method.tensor(4, offset=16 * k) for k in range(4))
    method.input(a).output(d)
    xnnpack(method, a, b)
    method.call_delegate(method.delegate("Other", 9), b, c)
    xnnpack(method, c, d)
    steps = steps_of(method, net)
    assert steps.steps[2].roles == Roles((b,), (c,))
    assert sorted(steps.calls) == [0, 2]
