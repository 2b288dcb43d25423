"""What instructions do with the tensors they name."""

from __future__ import annotations

import pytest

from onearena.errors import AnalysisError
from onearena.pte.schema import ExecutionPlan, KernelCall
from onearena.timeline.roles import Roles, kernel_roles
from onearena.timeline.steps import MethodSteps, Step
from tests.pte.build import BOOL, Method
from tests.timeline.build import steps_of


def roles_of(method: Method) -> Roles:
    """The roles of the last instruction, a kernel call."""
    plan: ExecutionPlan = method.plan()
    call = method.instructions[-1].instr_args
    assert isinstance(call, KernelCall)
    return kernel_roles(plan, call)


def _tensors(method: Method, count: int) -> list[int]:
    return [method.tensor(4, offset=16 * k) for k in range(count)]


# -- out variants -------------------------------------------------------------------------


def test_inputs_then_the_output_twice() -> None:
    method = Method()
    a, b, c = _tensors(method, 3)
    method.call("aten::add.out", a, b, method.integer(1), c, c)
    assert roles_of(method) == Roles((a, b), (c,))


def test_a_tensor_twice_is_read_once() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("aten::mul.out", a, a, b, b)
    assert roles_of(method) == Roles((a,), (b,))


def test_an_output_that_is_also_an_operand() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("aten::add.out", a, b, method.integer(1), b, b)
    assert roles_of(method) == Roles((a, b), (b,))


def test_several_outputs_come_back_as_a_list() -> None:
    """native_layer_norm: out0, out1, out2, [out0, out1, out2]."""
    method = Method()
    x, w, b, y, mean, deviation = _tensors(method, 6)
    outs = method.tensor_list(y, mean, deviation)
    shape = method.int_list(method.integer(4))
    args = (x, shape, w, b, method.double(1e-5))
    method.call("aten::native_layer_norm.out", *args, y, mean, deviation, outs)
    assert roles_of(method) == Roles((x, w, b), (y, mean, deviation))


def test_optional_arguments_that_are_absent() -> None:
    method = Method()
    x, y, mean, deviation = _tensors(method, 4)
    outs = method.tensor_list(y, mean, deviation)
    nothing = method.none()
    method.call(
        "aten::native_layer_norm.out", x, nothing, nothing, nothing, y, mean, deviation, outs
    )
    assert roles_of(method) == Roles((x,), (y, mean, deviation))


def test_a_list_of_tensors_is_read() -> None:
    method = Method()
    a, b, c = _tensors(method, 3)
    method.call("aten::cat.out", method.tensor_list(a, b, a), method.integer(0), c, c)
    assert roles_of(method) == Roles((a, b), (c,))


def test_a_list_of_tensors_is_written() -> None:
    """split_copy.Tensor_out takes and returns one list."""
    method = Method()
    a, b, c = _tensors(method, 3)
    outs = method.tensor_list(b, c)
    method.call("aten::split_copy.Tensor_out", a, method.integer(2), method.integer(0), outs, outs)
    assert roles_of(method) == Roles((a,), (b, c))


def test_two_lists_with_the_same_tensors_are_one_output() -> None:
    method = Method()
    a, b, c = _tensors(method, 3)
    outs, again = method.tensor_list(b, c), method.tensor_list(b, c)
    method.call("aten::unbind_copy.int_out", a, method.integer(0), outs, again)
    assert roles_of(method) == Roles((a,), (b, c))


def test_optional_lists_skip_none() -> None:
    """index.Tensor with [None, indices]."""
    method = Method()
    a, indices, b = _tensors(method, 3)
    method.call("aten::index.Tensor_out", a, method.optional_list(-1, indices), b, b)
    assert roles_of(method) == Roles((a, indices), (b,))


def test_a_kernel_without_tensors_does_nothing() -> None:
    method = Method()
    method.call("aten::something.out", method.integer(1), method.integer(2))
    assert roles_of(method) == Roles((), ())


def test_a_single_element_list_of_outputs() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("test::one.out", a, b, method.tensor_list(b))
    assert roles_of(method) == Roles((a,), (b,))


# -- in place -----------------------------------------------------------------------------


def test_in_place_operators_read_and_write_their_first_argument() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("aten::add_.Tensor", a, b, method.integer(1), a)
    assert roles_of(method) == Roles((a, b), (a,), in_place=(a,))


def test_an_in_place_operator_may_return_another_name_for_its_argument() -> None:
    method = Method()
    a, b, c = _tensors(method, 3)
    method.call("aten::index_put_", a, method.optional_list(b), b, method.boolean(False), c)
    assert roles_of(method) == Roles((a, b), (a,), ((a, c),), (a,))


def test_copy_reads_its_source_only() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("aten::copy_", a, b, method.boolean(False), a)
    assert roles_of(method) == Roles((b,), (a,), in_place=(a,))


def test_copy_onto_itself_reads_it() -> None:
    method = Method()
    (a,) = _tensors(method, 1)
    method.call("aten::copy_", a, a, method.boolean(False), a)
    assert roles_of(method) == Roles((a,), (a,), in_place=(a,))


def test_copy_may_return_another_name() -> None:
    method = Method()
    a, b, c = _tensors(method, 3)
    method.call("aten::copy_", a, b, method.boolean(False), c)
    assert roles_of(method) == Roles((b,), (a,), ((a, c),), (a,))


def test_double_underscores_are_not_in_place() -> None:
    method = Method()
    a, b, c = _tensors(method, 3)
    method.call("aten::__and__.Tensor_out", a, b, c, c)
    assert roles_of(method) == Roles((a, b), (c,))


def test_an_in_place_operator_without_a_tensor_in_front_is_unknown() -> None:
    for first in ("number", "list"):
        method = Method()
        a, b = _tensors(method, 2)
        target = method.integer(1) if first == "number" else method.tensor_list(a, b)
        method.call("test::strange_", target, a, b)
        assert roles_of(method).understood is False, first


def test_an_in_place_operator_that_returns_nothing_is_unknown() -> None:
    method = Method()
    (a,) = _tensors(method, 1)
    method.call("test::strange_", a, method.integer(1))
    roles = roles_of(method)
    assert roles == Roles((a,), (a,), understood=False)


# -- primitive operators ------------------------------------------------------------------


def test_a_view_renames_memory_and_touches_no_byte_of_its_output() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("executorch_prim::et_view.default", a, method.int_list(), b)
    assert roles_of(method) == Roles((a,), (), ((a, b),))


@pytest.mark.parametrize("count", [1, 2, 4])
def test_a_view_with_other_arguments_is_unknown(count: int) -> None:
    method = Method()
    tensors = _tensors(method, count)
    method.call("executorch_prim::et_view.default", *tensors)
    assert roles_of(method) == Roles(tuple(tensors), tuple(tensors), understood=False)


def test_copy_index_fills_its_first_argument_row_by_row() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("executorch_prim::et_copy_index.tensor", a, b, method.integer(0))
    roles = roles_of(method)
    assert roles.reads == (b,)
    assert roles.writes == (a,)
    assert roles.understood


@pytest.mark.parametrize(
    "name",
    ["aten::sym_size.int", "aten::sym_numel", "aten::_local_scalar_dense", "executorch_prim::add"],
)
def test_operators_that_return_numbers_only_read(name: str) -> None:
    method = Method()
    (a,) = _tensors(method, 1)
    method.call(name, a, method.integer(0), method.integer(0))
    assert roles_of(method) == Roles((a,), ())


# -- what the convention does not explain -------------------------------------------------


def test_without_a_tensor_at_the_end_an_operator_is_unknown() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("test::odd", a, b, method.integer(1))
    assert roles_of(method) == Roles((a, b), (a, b), understood=False)


def test_an_output_that_is_named_once_is_unknown() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.call("test::odd", a, b)
    assert roles_of(method) == Roles((a, b), (a, b), understood=False)


def test_a_list_that_does_not_repeat_the_outputs_in_order_is_unknown() -> None:
    method = Method()
    a, b, c = _tensors(method, 3)
    method.call("test::odd.out", a, b, c, method.tensor_list(c, b))
    assert roles_of(method).understood is False


def test_a_lone_tensor_is_unknown() -> None:
    method = Method()
    (a,) = _tensors(method, 1)
    method.call("test::odd.out", a)
    assert roles_of(method) == Roles((a,), (a,), understood=False)


# -- other instructions -------------------------------------------------------------------


def _step(method: Method, position: int = 0) -> Step:
    steps: MethodSteps = steps_of(method)
    return steps.steps[steps.first_step[position]]


def test_a_jump_reads_its_condition_when_that_is_a_tensor() -> None:
    """`cond` jumps on a bool tensor; the runtime reads all of its elements at the jump."""
    method = Method()
    condition = method.tensor(1, scalar_type=BOOL, offset=0)
    method.jump_if_false(condition, 1)
    assert _step(method).roles == Roles((condition,), ())
    method = Method()
    method.jump_if_false(method.boolean(True), 1)
    assert _step(method).roles == Roles((), ())


def test_a_move_renames_memory() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.move(a, b)
    assert _step(method).roles == Roles((a,), (), ((a, b),))


def test_a_move_of_numbers_touches_nothing() -> None:
    method = Method()
    method.move(method.integer(1), method.integer(2))
    assert _step(method).roles == Roles((), ())


def test_a_move_of_a_list_is_unknown() -> None:
    method = Method()
    a, b = _tensors(method, 2)
    method.move(method.tensor_list(a, b), method.none())
    assert _step(method).roles.understood is False


def test_freeing_a_planned_tensor_is_unknown() -> None:
    method = Method()
    (a,) = _tensors(method, 1)
    method.free(a)
    assert _step(method).roles.understood is False


def test_a_list_that_names_no_tensor_is_an_error() -> None:
    for item in (99, 0):
        method = Method()
        method.integer(1)
        method.tensor_list(item)
        with pytest.raises(AnalysisError, match=f"names {item}, not a tensor"):
            steps_of(method)


def test_inputs_and_outputs_must_exist() -> None:
    with pytest.raises(AnalysisError, match="input names value 5"):
        steps_of(Method().input(5))
    with pytest.raises(AnalysisError, match="output names value 5"):
        steps_of(Method().output(5))


# -- delegate calls that are not understood -----------------------------------------------


def test_an_unknown_call_reads_what_was_touched_and_may_write_what_was_not() -> None:
    method = Method()
    x, hidden, maybe, out = _tensors(method, 4)
    method.input(x)
    method.call("aten::relu.out", x, hidden, hidden)
    method.call_delegate(method.delegate("Other", 0), x, hidden, maybe, out)
    roles = _step(method, 1).roles
    assert roles.reads == (x, hidden, maybe)
    assert roles.writes == (maybe, out)
    assert roles.maybe_reads == (maybe,)
    assert roles.understood


def test_the_last_argument_of_an_unknown_call_is_an_output_only_when_it_is_fresh() -> None:
    method = Method()
    x, y = _tensors(method, 2)
    method.input(x, y)
    method.call_delegate(method.delegate("Other", 0), x, y)
    assert _step(method).roles == Roles((x, y), ())
