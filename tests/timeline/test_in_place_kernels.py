"""Which kernel calls may be written over an operand."""

from __future__ import annotations

import pytest

from tests.pte.build import BOOL, CHAR, FLOAT, INT, LONG
from tests.timeline.in_place_methods import CHANNELS_LAST, IMAGE, Case, copy, layer_norm, scatter


def _unary(case: Case, name: str = "aten::sigmoid.out") -> tuple[int, int]:
    """x → y by the operator, y is returned."""
    x = case.input(*IMAGE)
    y = case.call(name, x, out=case.tensor(*IMAGE))
    case.method.output(y)
    return x, y


def test_a_kernel_of_the_table() -> None:
    case = Case()
    x, y = _unary(case)
    assert case.pairs() == {(x, y)}
    assert case.pairs(in_place_kernels=False) == set()


@pytest.mark.parametrize("name", ["test::sigmoid.out", "aten::sigmoid.other", "aten::flip.out"])
def test_no_other_kernel(name: str) -> None:
    case = Case()
    _unary(case, name)
    assert case.pairs() == set()


def test_not_when_the_operand_is_read_again() -> None:
    case = Case()
    x, _ = _unary(case)
    z = case.call("aten::tanh.out", x, out=case.tensor(*IMAGE))
    case.method.output(z)
    assert case.pairs() == {(x, z)}


def test_not_when_the_operand_is_returned() -> None:
    case = Case()
    x, _ = _unary(case)
    case.method.output(x)
    assert case.pairs() == set()


def test_not_on_state() -> None:
    case = Case()
    cache = case.tensor(*IMAGE, data_buffer_idx=1)
    case.method.output(case.call("aten::sigmoid.out", cache, out=case.tensor(*IMAGE)))
    assert case.pairs() == set()


def test_not_on_pinned_values() -> None:
    case = Case()
    x, _ = _unary(case)
    case.method.call("test::odd", x)
    assert case.pairs() == set()


def test_not_across_arenas() -> None:
    case = Case()
    x = case.input(*IMAGE)
    y = case.method.tensor(*IMAGE, offset=0, memory_id=2)
    case.method.output(case.call("aten::sigmoid.out", x, out=y))
    assert case.pairs() == set()


def test_not_through_a_handle() -> None:
    case = Case()
    x, handle = case.input(*IMAGE), case.method.tensor(*IMAGE)
    case.method.move(x, handle)
    case.method.output(case.call("aten::sigmoid.out", handle, out=case.tensor(*IMAGE)))
    assert case.pairs() == set()


def test_not_in_a_loop_that_reads_the_operand_again() -> None:
    case = Case()
    method = case.method
    x = case.input(*IMAGE)
    y = case.tensor(*IMAGE)
    condition = method.boolean(False)
    start = method.call("aten::sigmoid.out", x, y, y)
    method.jump_if_false(condition, start)
    method.output(y)
    assert case.pairs() == set()


def test_not_with_arguments_that_the_schema_does_not_have() -> None:
    case = Case()
    x, y = case.input(*IMAGE), case.tensor(*IMAGE)
    case.method.output(case.call("aten::sigmoid.out", x, case.method.integer(1), out=y))
    assert case.pairs() == set()


# -- types and shapes ---------------------------------------------------------------------


def _binary(
    case: Case,
    first: tuple[int, ...],
    second: tuple[int, ...],
    out: tuple[int, ...] = IMAGE,
    kinds: tuple[int, int, int] = (FLOAT, FLOAT, FLOAT),
    dynamic: tuple[bool, bool, bool] = (False, False, False),
) -> tuple[int, int, int]:
    a = case.input(*first, kind=kinds[0], is_dynamic=dynamic[0])
    b = case.input(*second, kind=kinds[1], is_dynamic=dynamic[1])
    y = case.tensor(*out, kind=kinds[2], is_dynamic=dynamic[2])
    case.method.output(case.call("aten::add.out", a, b, case.method.integer(1), out=y))
    return a, b, y


def test_either_operand_of_a_binary() -> None:
    case = Case()
    a, b, y = _binary(case, IMAGE, IMAGE)
    assert case.pairs() == {(a, y), (b, y)}


@pytest.mark.parametrize("small", [(2,), (1, 1, 1, 2), (1, 4, 1, 1), (), (1, 4, 4, 1)])
def test_never_a_broadcast_operand(small: tuple[int, ...]) -> None:
    case = Case()
    a, _, y = _binary(case, IMAGE, small)
    assert case.pairs() == {(a, y)}


def test_not_when_both_are_broadcast() -> None:
    case = Case()
    _binary(case, (1, 4, 1, 2), (1, 1, 4, 2))
    assert case.pairs() == set()


def test_one_value_as_both_operands() -> None:
    case = Case()
    a, y = case.input(*IMAGE), case.tensor(*IMAGE)
    case.method.output(case.call("aten::add.out", a, a, case.method.integer(1), out=y))
    assert case.pairs() == {(a, y)}


def test_only_the_types_that_were_proven() -> None:
    case = Case()
    _binary(case, IMAGE, IMAGE, kinds=(INT, FLOAT, FLOAT))
    assert case.pairs() == set()
    case = Case()
    a, b, y = _binary(case, IMAGE, IMAGE, kinds=(LONG, LONG, LONG))
    assert case.pairs() == {(a, y), (b, y)}


def test_comparisons_of_bytes_only() -> None:
    for kind, expected in ((CHAR, True), (BOOL, True), (FLOAT, False)):
        case = Case()
        a, y = case.input(*IMAGE, kind=kind), case.tensor(*IMAGE, kind=BOOL)
        case.method.output(case.call("aten::eq.Scalar_out", a, case.method.integer(1), out=y))
        assert (case.pairs() == {(a, y)}) == expected


def test_where_keeps_its_condition() -> None:
    case = Case()
    condition = case.input(*IMAGE, kind=BOOL)
    a, b, y = case.input(*IMAGE), case.input(*IMAGE), case.tensor(*IMAGE)
    case.method.output(case.call("aten::where.self_out", condition, a, b, out=y))
    assert case.pairs() == {(a, y), (b, y)}


def test_dynamic_binaries_only_beside_one_element() -> None:
    """At run time an operand may turn out to be broadcast, unless it is as large as can be."""
    every = (True, True, True)
    case = Case()
    _binary(case, IMAGE, IMAGE, dynamic=every)
    assert case.pairs() == set()
    case = Case()
    a, _, y = _binary(case, IMAGE, (1,), dynamic=(True, False, True))
    assert case.pairs() == {(a, y)}
    case = Case()
    a, _, y = _binary(case, IMAGE, IMAGE, dynamic=(False, True, True))
    assert case.pairs() == {(a, y)}


def test_dynamic_unaries() -> None:
    case = Case()
    x, y = case.input(*IMAGE, is_dynamic=True), case.tensor(*IMAGE, is_dynamic=True)
    case.method.output(case.call("aten::sigmoid.out", x, out=y))
    assert case.pairs() == {(x, y)}


def _ordered(name: str, *orders: tuple[int, ...]) -> bool:
    """Whether a call on tensors in these dim orders, the output's last, may be in place."""
    case = Case()
    method = case.method
    size = 4 * 32
    tensors = [method.tensor(*IMAGE, offset=k * size, dim_order=o) for k, o in enumerate(orders)]
    method.input(*tensors[:-1]).output(tensors[-1])
    more = {"aten::add.out": [1], "aten::_softmax.out": [1, 0]}.get(name, [])
    case.call(name, *tensors[:-1], *(method.integer(n) for n in more), out=tensors[-1])
    return bool(case.pairs())


def test_orders_of_dimensions() -> None:
    usual = (0, 1, 2, 3)
    assert _ordered("aten::relu.out", CHANNELS_LAST, CHANNELS_LAST)
    assert not _ordered("aten::relu.out", usual, CHANNELS_LAST)
    assert _ordered("aten::add.out", CHANNELS_LAST, CHANNELS_LAST, CHANNELS_LAST)
    assert not _ordered("aten::add.out", CHANNELS_LAST, usual, CHANNELS_LAST)
    assert _ordered("aten::_softmax.out", usual, usual)
    assert not _ordered("aten::_softmax.out", CHANNELS_LAST, CHANNELS_LAST)


# -- kernels with more than elements ------------------------------------------------------


def test_layer_norms_write_over_their_input_only() -> None:
    case = Case()
    x, y = layer_norm(case)
    assert case.pairs() == {(x, y)}


def test_what_is_scattered_stays() -> None:
    case = Case()
    x, _, y = scatter(case)
    assert case.pairs() == {(x, y)}


def test_not_when_the_operand_is_scattered_over_itself() -> None:
    case = Case()
    method = case.method
    x, index, y = case.input(8), case.input(8, kind=LONG), case.tensor(8)
    method.output(case.call("aten::scatter.src_out", x, method.integer(0), index, x, out=y))
    assert case.pairs() == set()


# -- copies -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "out", "expected"),
    [
        ("aten::expand_copy.out", (4, 1, 3), True),
        ("aten::expand_copy.out", (1, 4, 1, 3), True),
        ("aten::expand_copy.out", (4, 2, 3), False),
        ("aten::view_copy.out", (12,), True),
        ("aten::unsqueeze_copy.out", (4, 1, 1, 3), True),
        ("aten::squeeze_copy.dim_out", (4, 3), True),
        ("aten::permute_copy.out", (1, 4, 3), False),
    ],
)
def test_copies(name: str, out: tuple[int, ...], expected: bool) -> None:
    case = Case()
    x, y = copy(case, name, out)
    assert (case.pairs() == {(x, y)}) == expected
    case.method.output(x)  # alive behind the copy
    assert case.pairs(kernel_copies=False) == set()
    assert (case.pairs(kernel_copies=True) == {(x, y)}) == expected


def test_dynamic_copies_unless_they_may_repeat() -> None:
    for name, expected in (("aten::view_copy.out", True), ("aten::expand_copy.out", False)):
        case = Case()
        x, y = copy(case, name, (4, 1, 3), is_dynamic=True)
        assert (case.pairs() == {(x, y)}) == expected


def test_no_shared_copy_of_what_is_written_again() -> None:
    case = Case()
    x, _ = copy(case, "aten::view_copy.out", (12,))
    other = case.input(4, 1, 3)
    case.method.output(case.call("aten::relu.out", other, out=x))
    assert case.pairs(kernel_copies=True) == set()
