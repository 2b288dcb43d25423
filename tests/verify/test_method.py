"""Faults in a method, found in the file alone; and no alarm where there is no fault."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.errors import AnalysisError
from onearena.verification.method import verify_method
from tests.delegates.nets import FP16, QDINT8, Net
from tests.pte.build import BOOL, CHAR, DOUBLE, LONG, Method
from tests.timeline.build import opened_method, program, steps_of, xnnpack
from tests.timeline.test_storage import cond

RELU = "aten::relu.out"


def faults(method: Method, *nets: Net) -> set[str]:
    return {violation.kind for violation in verify_method(steps_of(method, *nets))}


def messages(method: Method, *nets: Net) -> str:
    return "\n".join(map(str, verify_method(steps_of(method, *nets))))


def _tensors(method: Method, *offsets: int, **fields: Any) -> list[int]:
    return [method.tensor(4, offset=offset, **fields) for offset in offsets]


# -- places -------------------------------------------------------------------------------


def test_values_must_end_inside_their_arena() -> None:
    method = Method()
    _tensors(method, 0, 16)
    assert faults(method) == set()
    method.arenas[1] = 31
    assert faults(method) == {"bounds"}
    assert "value 1 ends at byte 32 of arena 1, which has 31" in messages(method)


@pytest.mark.parametrize("arena", [0, 2, 9])
def test_arenas_must_exist(arena: int) -> None:
    method = Method()
    method.tensor(4, offset=0, memory_id=arena)
    method.arenas = {0: 64, 1: 64}
    assert faults(method) == {"bounds"}


def test_empty_values_may_lie_anywhere_in_their_arena() -> None:
    method = Method()
    method.tensor(0, 4, offset=16)
    method.tensor(0, offset=0, memory_id=7)
    method.arenas = {0: 0, 1: 16}
    assert faults(method) == set()


def test_values_must_have_a_known_size() -> None:
    for fields in ({"scalar_type": 77}, {}):
        method = Method()
        sizes = (4,) if fields else (-4,)
        method.value(_tensor(sizes, **fields))
        assert faults(method) == {"bounds"}


def _tensor(sizes: tuple[int, ...], scalar_type: int = 6) -> Any:
    from onearena.pte.schema import AllocationDetails, Tensor

    return Tensor(scalar_type, 0, sizes, allocation_info=AllocationDetails(1))


@pytest.mark.parametrize(
    ("scalar_type", "offset", "aligned"),
    [
        (6, 4, True),
        (6, 2, False),
        (LONG, 8, True),
        (LONG, 4, False),
        (CHAR, 1, True),
        (DOUBLE, 12, False),
    ],
)
def test_values_must_be_aligned_to_their_elements(
    scalar_type: int, offset: int, aligned: bool
) -> None:
    method = Method()
    method.tensor(4, scalar_type=scalar_type, offset=offset)
    assert faults(method) == (set() if aligned else {"alignment"})


# -- values that are overwritten ----------------------------------------------------------


def _chain(*offsets: int) -> Method:
    """a → b → c → d, then e = b + d."""
    method = Method()
    a, b, c, d, e = _tensors(method, *offsets)
    method.input(a).output(e)
    method.call(RELU, a, b, b)
    method.call(RELU, b, c, c)
    method.call(RELU, c, d, d)
    method.call("aten::add.out", b, d, method.integer(1), e, e)
    return method


@pytest.mark.parametrize(
    ("offsets", "kinds"),
    [
        ((0, 16, 32, 48, 64), set()),
        ((0, 16, 0, 32, 0), set()),
        ((0, 0, 16, 32, 48), set()),
        ((0, 16, 32, 16, 48), {"overlap"}),
        ((0, 16, 16, 48, 64), {"overlap"}),
        ((0, 16, 20, 48, 64), {"overlap", "order"}),
        ((0, 16, 32, 20, 64), {"overlap", "order"}),
        ((0, 16, 32, 44, 64), {"order"}),
        ((0, 4, 32, 48, 64), {"order"}),
        ((0, 16, 32, 48, 16), set()),
        ((0, 16, 32, 48, 28), {"order"}),
    ],
)
def test_collisions_in_a_chain(offsets: tuple[int, ...], kinds: set[str]) -> None:
    assert faults(_chain(*offsets)) == kinds


def test_messages_name_the_reader_and_the_culprit() -> None:
    found = messages(_chain(0, 16, 32, 16, 48))
    assert "value 1, read at instruction 3 (aten::add.out), is overwritten by value 3" in found
    assert "(written at instruction 2)" in found


def test_an_input_that_is_overwritten_before_it_is_read() -> None:
    method = Method()
    a, b, c, d = _tensors(method, 0, 16, 32, 0)
    method.input(a, b).output(c, d)
    method.call(RELU, b, d, d)
    method.call(RELU, a, c, c)
    assert "overlap" in faults(method)


def test_an_output_that_is_overwritten_before_the_end() -> None:
    method = Method()
    a, b, c = _tensors(method, 0, 16, 16)
    method.input(a).output(b)
    method.call(RELU, a, b, b)
    method.call(RELU, a, c, c)
    assert faults(method) == {"overlap"}
    assert "read at the end" in messages(method)


def test_two_outputs_of_one_instruction_must_not_overlap() -> None:
    for offset, kinds in ((32, set()), (28, {"order"})):
        method = Method()
        a, y, mean = _tensors(method, 0, 16, offset)
        method.input(a)
        outs = method.tensor_list(y, mean)
        method.call("test::two.out", a, y, mean, outs)
        assert faults(method) == kinds


def test_arenas_are_apart() -> None:
    method = Method()
    a, b = method.tensor(4, offset=0), method.tensor(4, offset=0, memory_id=2)
    c = method.tensor(4, offset=16)
    method.input(a).output(c)
    method.call(RELU, a, b, b)
    method.call("aten::add.out", a, b, method.integer(1), c, c)
    assert faults(method) == set()


def test_a_value_may_be_written_more_than_once() -> None:
    method = Method()
    a, b, c = _tensors(method, 0, 16, 32)
    method.input(a).output(c)
    method.call(RELU, a, b, b)
    method.call(RELU, b, c, c)
    method.call(RELU, c, b, b)
    method.call(RELU, b, c, c)
    assert faults(method) == set()


# -- views --------------------------------------------------------------------------------


def _viewed(view_offset: int, *, overwrite: bool = False) -> Method:
    method = Method()
    a, b, c = method.tensor(4, offset=0), method.tensor(8, offset=16), method.tensor(4, offset=48)
    view = method.tensor(4, offset=view_offset)
    method.input(a).output(c)
    method.call(RELU, a, b, b)
    if overwrite:
        part = method.tensor(2, offset=40)
        method.call(RELU, a, part, part)
    method.call(RELU, view, c, c)
    return method


@pytest.mark.parametrize(
    ("offset", "kinds"),
    [(16, set()), (32, set()), (24, set()), (8, {"overlap"}), (40, {"overlap", "order", "state"})],
)
def test_a_view_must_lie_inside_one_memory(offset: int, kinds: set[str]) -> None:
    """At 8 it is half input, half b; at 40 half of it was never written."""
    assert faults(_viewed(offset)) == kinds


def test_a_view_whose_base_is_overwritten_in_part() -> None:
    assert faults(_viewed(16, overwrite=True)) == set()
    assert faults(_viewed(32, overwrite=True)) == {"overlap"}
    assert "is a view of bytes that come from" in messages(_viewed(32, overwrite=True))


def test_parts_of_a_whole_must_lie_in_order() -> None:
    """One value written twice as a whole and read as one: its own bytes, in their order."""
    method = Method()
    a, b = method.tensor(8, offset=0), method.tensor(8, offset=16)
    c = method.tensor(8, offset=64)
    method.input(a).output(c)
    method.call(RELU, a, b, b)
    method.call(RELU, b, c, c)
    assert "order" in faults(method)


def test_a_view_across_two_outputs_of_one_payload() -> None:
    """Both calls write what the payload calls the same value; it is not one memory."""
    net = Net()
    net.unary(x.XNNAbs, net.input(4), net.output(4))
    for offset, kinds in ((16, set()), (24, {"overlap"}), (32, set())):
        method = Method()
        a, first, second, out = _tensors(method, 0, 16, 32, 64)
        view = method.tensor(4, offset=offset)
        method.input(a).output(out)
        xnnpack(method, a, first)
        xnnpack(method, a, second)
        method.call(RELU, view, out, out)
        assert faults(method, net) == kinds


# -- state --------------------------------------------------------------------------------


def _cached(temporary: int, **fields: Any) -> Method:
    """A cache at 32, updated in place; a temporary that is gone before and after."""
    method = Method()
    a, t, out = _tensors(method, 0, temporary, 64)
    cache = method.tensor(4, offset=32, **fields)
    method.input(a).output(out)
    method.call("aten::add_.Tensor", cache, a, method.integer(1), cache)
    method.call(RELU, cache, out, out)
    method.call(RELU, a, t, t)
    return method


@pytest.mark.parametrize("fields", [{}, {"data_buffer_idx": 1}])
def test_state_must_survive_the_run(fields: dict[str, Any]) -> None:
    assert faults(_cached(16, **fields)) == set()
    assert "state" in faults(_cached(32, **fields))
    assert "state" in faults(_cached(44, **fields))
    assert "state in value 3 is overwritten by value 1" in messages(_cached(32, **fields))


def test_state_that_is_only_read_must_survive_too() -> None:
    for offset, kinds in ((16, set()), (36, {"state"})):
        method = Method()
        a, t, out = _tensors(method, 0, offset, 64)
        state = method.tensor(4, offset=32, data_buffer_idx=1)
        method.input(a).output(out)
        method.call("aten::add.out", a, state, method.integer(1), out, out)
        method.call(RELU, a, t, t)
        assert faults(method) == kinds


def test_state_overwritten_before_it_is_read() -> None:
    method = Method()
    a, t, out = _tensors(method, 0, 32, 64)
    state = method.tensor(4, offset=32, data_buffer_idx=1)
    method.input(a).output(out)
    method.call(RELU, a, t, t)
    method.call("aten::add.out", a, state, method.integer(1), out, out)
    assert {"overlap", "state"} <= faults(method)


def test_two_names_of_one_state_may_both_write_it() -> None:
    method = Method()
    a, out = _tensors(method, 0, 64)
    state, flat = method.tensor(4, offset=32), method.tensor(2, 2, offset=32)
    method.input(a).output(out)
    method.call("aten::add_.Tensor", state, a, method.integer(1), state)
    method.call("aten::add_.Tensor", flat, flat, method.integer(1), flat)
    method.call(RELU, flat, out, out)
    assert faults(method) == set()


def _copied(state: int, other: int, copy: int, **fields: Any) -> Method:
    """The bytes of one state are copied before the input is read; both are read at the end, and
    so is another state."""
    method = Method()
    a, out, last = _tensors(method, 0, 128, 144)
    states = method.tensor(4, offset=state), method.tensor(4, offset=other)
    held = method.tensor(4, offset=copy, **fields)
    method.input(a).output(out)
    method.call("aten::clone.out", states[0], method.none(), held, held)
    method.call("aten::add.out", a, held, method.integer(1), out, out)
    method.call("aten::add.out", out, states[1], method.integer(1), last, last)
    return method


def test_a_copy_of_state_overwrites_like_anything_else() -> None:
    """What is there before the run has no writer, and neither has a copy of it."""
    past = "is overwritten by a copy of what was there before the run"
    assert faults(_copied(32, 48, 64)) == set()
    for copy in (0, 8):  # over the input
        found = messages(_copied(32, 48, copy))
        assert f"value 0, read at instruction 1 (aten::add.out), {past}" in found
    for copy in (40, 56):  # over other state, or over a part of the state itself
        assert "state" in faults(_copied(32, 48, copy))
        assert "is overwritten by a copy of other state" in messages(_copied(32, 48, copy))


def test_state_that_is_replaced_by_other_state() -> None:
    """That is the program's will; the neighbour is not meant."""
    for offset, kinds in ((48, set()), (40, {"state"}), (24, {"state"})):
        method = Method()
        source, target = method.tensor(4, offset=0), method.tensor(4, offset=offset)
        other, out = method.tensor(4, offset=32), method.tensor(4, offset=96)
        method.output(out)
        method.call("aten::copy_", target, source, method.boolean(False), target)
        method.call("aten::add.out", target, other, method.integer(1), out, out)
        method.call(RELU, source, out, out)
        assert faults(method) >= kinds
        assert bool(faults(method)) == bool(kinds)


def test_a_copy_of_state_that_another_copy_overwrites() -> None:
    for offset, kinds in ((96, set()), (64, {"overlap"}), (72, {"overlap"})):
        method = Method()
        first, second = method.tensor(4, offset=0), method.tensor(4, offset=32)
        one, two = method.tensor(4, offset=64), method.tensor(4, offset=offset)
        out = method.tensor(4, offset=128)
        method.output(out)
        method.call("aten::clone.out", first, method.none(), one, one)
        method.call("aten::clone.out", second, method.none(), two, two)
        method.call("aten::add.out", one, two, method.integer(1), out, out)
        assert faults(method) == kinds


def test_a_copy_that_another_copy_of_the_same_overwrites() -> None:
    """Both have the same content, at other places."""
    for offset, kinds in ((48, set()), (32, set()), (40, {"overlap"}), (44, {"overlap"})):
        method = Method()
        a, t = _tensors(method, 0, 16)
        one, two = method.tensor(4, offset=32), method.tensor(4, offset=offset)
        out = method.tensor(4, offset=96)
        method.input(a).output(out)
        method.call(RELU, a, t, t)
        method.call("aten::clone.out", t, method.none(), one, one)
        method.call("aten::clone.out", t, method.none(), two, two)
        method.call("aten::add.out", one, two, method.integer(1), out, out)
        assert faults(method) == kinds


# -- jumps --------------------------------------------------------------------------------


def _branches(first: int, second: int, behind: int) -> Method:
    """out = cond(relu(x), relu(x)) by moves; a temporary is written before it is read."""
    method = Method()
    a, b, c, t, out = _tensors(method, 0, first, second, behind, 64)
    handle = method.tensor(4)
    method.input(a).output(out)
    cond(method, [(RELU, a, b), ("move", b, handle)], [(RELU, a, c), ("move", c, handle)])
    method.call(RELU, a, t, t)
    method.call("aten::add.out", handle, t, method.integer(1), out, out)
    return method


def test_results_of_two_branches_may_share() -> None:
    assert faults(_branches(16, 32, 48)) == set()
    assert faults(_branches(16, 16, 48)) == set()


@pytest.mark.parametrize("offsets", [(16, 32, 16), (16, 32, 32), (16, 16, 16), (16, 32, 28)])
def test_the_result_of_a_branch_that_is_overwritten(offsets: tuple[int, int, int]) -> None:
    assert "overlap" in faults(_branches(*offsets))


def test_the_condition_that_is_overwritten() -> None:
    for offset, kinds in ((32, set()), (16, {"overlap"})):
        method = Method()
        a, b = _tensors(method, 0, offset)
        condition = method.tensor(1, scalar_type=BOOL, offset=16)
        method.input(a, condition).output(b)
        method.call(RELU, a, b, b)
        method.jump_if_false(condition, 3)
        method.call(RELU, a, b, b)
        assert faults(method) == kinds


def test_two_conds_in_sequence() -> None:
    """The first branch of the first and the second branch of the second may both run."""
    for offset, kinds in ((80, set()), (16, {"overlap"})):
        method = Method()
        a, b, c, d, e, out = _tensors(method, 0, 16, 16, 48, offset, 96)
        first, second = method.tensor(4), method.tensor(4)
        method.input(a).output(out)
        cond(method, [(RELU, a, b), ("move", b, first)], [(RELU, a, c), ("move", c, first)])
        cond(method, [(RELU, a, d), ("move", d, second)], [(RELU, a, e), ("move", e, second)])
        method.call("aten::add.out", first, second, method.integer(1), out, out)
        assert faults(method) == kinds


def _loop(temporary: int) -> Method:
    """carried = copy(x); repeat: t = carried · w, carried = copy(t); out = relu(carried)."""
    method = Method()
    a, weight, carried, t, out = _tensors(method, 0, 16, 32, temporary, 64)
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(a, weight, condition).output(out)
    method.call("aten::copy_", carried, a, method.boolean(False), carried)
    method.call("aten::mul.out", carried, weight, t, t)
    method.call("aten::copy_", carried, t, method.boolean(False), carried)
    method.jump_if_false(condition, 1)
    method.call(RELU, carried, out, out)
    return method


def test_a_loop_needs_its_constants_again() -> None:
    assert faults(_loop(48)) == set()
    assert faults(_loop(0)) == set(), "the input is copied before the loop"
    assert "overlap" in faults(_loop(16)), "the weight is read in the next iteration"


def test_a_loop_with_two_carried_values() -> None:
    """a, b = b, a + b: each is copied before the other is overwritten."""
    for offset, is_safe in ((64, True), (16, False)):
        method = Method()
        x0, a, b, t, u, out = _tensors(method, 0, 16, 32, offset, 80, 96)
        condition = method.tensor(1, scalar_type=BOOL)
        method.input(x0, condition).output(out)
        method.call("aten::copy_", a, x0, method.boolean(False), a)
        method.call("aten::copy_", b, x0, method.boolean(False), b)
        method.call("aten::add.out", a, b, method.integer(1), t, t)
        method.call(RELU, b, u, u)
        method.call("aten::copy_", a, u, method.boolean(False), a)
        method.call("aten::copy_", b, t, method.boolean(False), b)
        method.jump_if_false(condition, 2)
        method.call("aten::add.out", a, b, method.integer(1), out, out)
        assert (faults(method) == set()) == is_safe


def test_state_that_a_loop_updates() -> None:
    """From the second iteration on it finds what the loop wrote."""
    for offset, kinds in ((16, set()), (32, {"state", "overlap"})):
        method = Method()
        a, state, t = _tensors(method, 0, 32, offset)
        condition = method.tensor(1, scalar_type=BOOL)
        method.input(a, condition).output(a)
        method.call("aten::add_.Tensor", state, a, method.integer(1), state)
        method.call(RELU, state, t, t)
        method.jump_if_false(condition, 0)
        method.call(RELU, a, t, t)
        assert kinds <= faults(method)
        assert bool(kinds) == bool(faults(method))


@pytest.mark.parametrize("at", [32, 40])
def test_state_that_is_first_written_in_part(at: int) -> None:
    """A row of a cache is overwritten in place, then all of it is read."""
    for offset, kinds in ((16, set()), (48, {"state"}), (36, {"state"})):
        method = Method()
        a, t = _tensors(method, 0, offset)
        cache = method.tensor(8, offset=32)
        row, out = method.tensor(2, offset=at), method.tensor(8, offset=96)
        method.input(a).output(out)
        method.call("aten::copy_", row, a, method.boolean(False), row)
        method.call(RELU, cache, out, out)
        method.call(RELU, a, t, t)
        assert faults(method) == kinds


def test_too_many_combinations_are_an_error_not_an_hour() -> None:
    method = Method()
    a, out = _tensors(method, 0, 4096)
    method.input(a).output(out)
    handles = []
    for k in range(16):
        b, c = _tensors(method, 32 + 32 * k, 48 + 32 * k)
        handles.append(method.tensor(4))
        cond(
            method,
            [(RELU, a, b), ("move", b, handles[-1])],
            [(RELU, a, c), ("move", c, handles[-1])],
        )
    method.call("test::use.out", *handles, out, out)
    with pytest.raises(AnalysisError, match="combinations"):
        faults(method)


# -- inside a call ------------------------------------------------------------------------

IMAGE = (1, 4, 4, 2)
BYTES = 128


def _call(net: Net, *offsets: int) -> Method:
    """One call of the net; the k-th argument lies at BYTES · offsets[k]."""
    method = Method()
    graph = net.index()
    args = []
    for position, offset in enumerate(offsets):
        value = graph.values[graph.externals[position]]
        args.append(method.tensor(*value.dims, offset=BYTES * offset))
    count = len(net.graph().input_ids or ())
    method.input(*args[:count]).output(*args[count:])
    xnnpack(method, *args)
    return method


def _padded_convolution() -> Net:
    net = Net()
    a, p = net.input(*IMAGE), net.inner(1, 5, 4, 2)
    net.pad(a, p, (0, 1, 0, 0), (0, 0, 0, 0))
    net.conv(p, net.output(*IMAGE))
    return net


def _dynamic_product() -> Net:
    net = Net()
    a, q = net.input(*IMAGE), net.inner(*IMAGE, datatype=QDINT8, quant=x.PerTokenDynamicQuant(1))
    net.unary(x.XNNConvert, a, q)
    net.linear(q, net.output(*IMAGE))
    return net


def _squared_mean() -> Net:
    net = Net()
    a, s = net.input(*IMAGE), net.inner(*IMAGE)
    net.unary(x.XNNSquare, a, s)
    net.unary(x.XNNGlobalAvgPooling2d, s, net.output(*IMAGE))
    return net


def _transposed_product() -> Net:
    net = Net()
    a, t = net.input(*IMAGE), net.inner(1, 4, 2, 4)
    net.transpose(a, t, 0, 1, 3, 2)
    net.matmul(net.constant(1, 4, 4, 2), t, net.output(*IMAGE))
    return net


def _clamped_convolution() -> Net:
    net = Net()
    a, t = net.input(*IMAGE), net.inner(*IMAGE)
    net.conv(a, t)
    net.clamp(t, net.output(*IMAGE))
    return net


_MERGED = [
    _padded_convolution,
    _dynamic_product,
    _squared_mean,
    _transposed_product,
    _clamped_convolution,
]


@pytest.mark.parametrize("build", _MERGED)
def test_the_output_of_merged_nodes_must_not_lie_over_their_input(build: Callable[[], Net]) -> None:
    """Node by node the input is dead when the output is written; merged, both are in use."""
    assert faults(_call(build(), 0, 1), build()) == set()
    assert "order" in faults(_call(build(), 0, 0), build())
    method = _call(build(), 0, 1)
    method.tensor(4, offset=0)
    assert faults(method, build()) == set()


def test_a_value_written_early_must_not_lie_over_what_is_still_read() -> None:
    """conv(a) → t, sigmoid(q) → z, clamp(t) → y: the convolution may write y."""
    net = Net()
    a, q, t = net.input(*IMAGE), net.input(*IMAGE), net.inner(*IMAGE)
    z, y = net.output(*IMAGE), net.output(*IMAGE)
    net.conv(a, t)
    net.unary(x.XNNSigmoid, q, z)
    net.clamp(t, y)
    assert faults(_call(net, 0, 1, 2, 3), net) == set()
    assert "overlap" in faults(_call(net, 0, 1, 2, 1), net), "y over q"
    assert "order" in faults(_call(net, 0, 1, 2, 0), net), "y over a"


def test_a_value_written_early_must_not_be_overwritten_before_its_own_node() -> None:
    """conv(a) → t, sigmoid(q) → z, abs(z) → w, clamp(t) → y, with z over y."""
    net = Net()
    a, q, t = net.input(*IMAGE), net.input(*IMAGE), net.inner(*IMAGE)
    z, w, y = net.output(*IMAGE), net.output(*IMAGE), net.output(*IMAGE)
    net.conv(a, t)
    net.unary(x.XNNSigmoid, q, z)
    net.unary(x.XNNAbs, z, w)
    net.clamp(t, y)
    method = _call(net, 0, 1, 2, 3, 4)
    method.outputs.remove(2)
    assert faults(method, net) == set()
    method = _call(net, 0, 1, 4, 3, 4)
    method.outputs.remove(2)
    assert faults(method, net) == {"overlap"}


def test_merged_nodes_are_not_relied_upon_to_work_in_place() -> None:
    """clamp(a) → t, clamp(t) → y: merged or not, no plan of ours puts y over a."""
    net = Net()
    a, t = net.input(*IMAGE), net.inner(*IMAGE)
    net.clamp(a, t)
    net.clamp(t, net.output(*IMAGE), (0.0, 1.0))
    assert faults(_call(net, 0, 1), net) == set()
    assert "order" in faults(_call(net, 0, 0), net)


def test_in_place_inside_a_call() -> None:
    for kind, kinds in ((x.XNNSigmoid, set()), (x.XNNSoftmax, set())):
        net = Net()
        net.unary(kind, net.input(*IMAGE), net.output(*IMAGE))
        assert faults(_call(net, 0, 0), net) == kinds
    net = Net()
    net.conv(net.input(*IMAGE), net.output(*IMAGE))
    assert faults(_call(net, 0, 0), net) == {"order"}


def test_broadcast_operands_are_not_taken_over() -> None:
    net = Net()
    net.binary(x.XNNAdd, net.input(*IMAGE), net.input(1, 1, 1, 2), net.output(*IMAGE))
    assert faults(_call(net, 0, 1, 0), net) == set()
    assert faults(_call(net, 1, 0, 0), net) == {"order"}


def test_a_reshape_may_keep_its_place() -> None:
    net = Net()
    a, r, y = net.input(*IMAGE), net.output(1, 32), net.output(*IMAGE)
    net.reshape(a, r)
    net.conv(a, y)
    assert faults(_call(net, 0, 0, 1), net) == set()
    assert faults(_call(net, 0, 0, 0), net) == {"overlap", "order"}


def test_a_64_bit_output_is_still_touched_behind_the_last_node() -> None:
    """The delegate widens it in place at the end of the call."""
    for offset, kinds in ((512, set()), (0, {"order"})):
        net = Net()
        net.unary(x.XNNAbs, net.input(4), net.output(4))
        net.unary(x.XNNAbs, net.input(4), net.output(4))
        method = Method()
        a, b = method.tensor(4, offset=64), method.tensor(4, offset=128)
        wide = method.tensor(4, scalar_type=LONG, offset=0)
        other = method.tensor(4, offset=offset)
        method.input(a, b).output(other)
        xnnpack(method, a, b, wide, other)
        assert faults(method, net) == kinds


def test_opened_values_inside_a_call() -> None:
    """a → s → t → y, s over y while t is made: the opened file is checked node by node."""
    net = Net()
    a, s, t, y = (net.input(*IMAGE), net.inner(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE))
    net.conv(a, s)
    net.conv(s, t)
    net.binary(x.XNNAdd, s, t, y)
    method = _call(net, 0, 1)
    opened, _ = opened_method(method, net)
    assert len(opened.added) == 2
    assert program(method, net).program.execution_plan


# -- no false alarms ----------------------------------------------------------------------


def test_calls_that_are_not_understood_raise_no_alarm() -> None:
    """Whether the third argument is a view or an output is not known."""
    method = Method()
    a, b, out = _tensors(method, 0, 16, 32)
    view = method.tensor(2, 2, offset=16)
    method.input(a).output(out)
    method.call(RELU, a, b, b)
    method.call_delegate(method.delegate("Other", 0), view, out)
    method.output(b)
    assert faults(method) == set()


def test_operators_that_are_not_understood_raise_no_alarm() -> None:
    method = Method()
    a, b, out = _tensors(method, 0, 16, 32)
    view = method.tensor(2, 2, offset=16)
    method.input(a).output(out)
    method.call(RELU, a, b, b)
    method.call("test::odd", b, view)
    method.call(RELU, b, out, out)
    assert faults(method) == set()


def test_a_closed_call_raises_no_alarm() -> None:
    net = Net()
    a, t = net.input(4), net.inner(4, datatype=FP16)
    net.unary(x.XNNConvert, a, t)
    net.unary(x.XNNConvert, t, net.output(4))
    method = Method()
    source, target = _tensors(method, 0, 16)
    method.input(source).output(target)
    xnnpack(method, source, target)
    assert faults(method, net) == set()


def test_unplanned_values_are_nobodys_business() -> None:
    method = Method()
    a, b = method.tensor(4), method.tensor(4)
    method.input(a).output(b)
    method.call(RELU, a, b, b)
    assert faults(method) == set()
