"""The method allocator, allocation by allocation, on both pointer sizes."""

from __future__ import annotations

import pytest

from onearena.errors import AnalysisError
from onearena.pte.schema import (
    BoolList,
    CompileSpec,
    DoubleList,
    ExecutionPlan,
    ExtraTensorInfo,
)
from onearena.sizes.layout import ARM32, LP64, Abi
from onearena.sizes.method_allocator import method_allocation, resolve_temp_bytes
from tests.pte.build import DYNAMIC_BOUND, Method

AMPLE = 1 << 20


def taken(plan: ExecutionPlan, abi: Abi, temp_bytes: int | None = AMPLE) -> int:
    return method_allocation(plan, abi, temp_bytes).size_bytes


def test_an_empty_method_has_one_chain() -> None:
    plan = Method().plan()
    assert taken(plan, LP64) == 32
    assert taken(plan, ARM32) == 16


def test_static_tensors_have_strides_and_a_struct() -> None:
    method = Method()
    method.tensor(2, 3, 4, offset=0)
    # value, three strides, TensorImpl, chain; padding in front of TensorImpl, and where the
    # delegates would be
    assert taken(method.plan(), LP64) == 16 + 12 + 4 + 64 + 32
    assert taken(method.plan(), ARM32) == 16 + 12 + 32 + 4 + 16


def test_dynamic_tensors_also_have_sizes_and_an_order() -> None:
    method = Method()
    method.tensor(2, 3, 4, offset=0, shape_dynamism=DYNAMIC_BOUND)
    # value, sizes, order (padded to 4), strides, TensorImpl, chain; padding as above
    assert taken(method.plan(), LP64) == 16 + 12 + 4 + 12 + 4 + 64 + 32
    assert taken(method.plan(), ARM32) == 16 + 12 + 4 + 12 + 32 + 4 + 16


def test_inputs_have_a_flag_each() -> None:
    method = Method()
    number = method.integer(1)
    method.input(number, number, number)
    # value, three flags, padding in front of the (no) delegates, chain
    assert taken(method.plan(), LP64) == 16 + 3 + 5 + 32
    assert taken(method.plan(), ARM32) == 16 + 3 + 5 + 16


def test_lists() -> None:
    method = Method()
    number = method.integer(1)
    tensor = method.tensor(offset=0)
    method.int_list(number, number, number)
    method.tensor_list(tensor, tensor)
    method.optional_list(tensor, -1)
    method.text("four")
    method.value(DoubleList((1.0,)))
    method.value(BoolList((True,)))
    values = 8 * 16
    # per list: pointers to values, elements, the list; the integers' elements are aligned to 8
    assert taken(method.plan(), LP64) == (
        values + 64 + (24 + 24 + 24) + (16 + 16 + 24) + (16 + 32 + 24) + 3 * 16 + 32
    )
    assert taken(method.plan(), ARM32) == (
        values + 32 + (12 + 4 + 24 + 12) + (8 + 8 + 12) + (8 + 16 + 12) + 3 * 8 + 4 + 16
    )


def test_external_constants_have_an_entry() -> None:
    method = Method()
    info = ExtraTensorInfo(fully_qualified_name="weight", location=1)
    method.tensor(offset=None, extra_tensor_info=info)
    method.tensor(offset=0, extra_tensor_info=info)
    # only what has no place in the arena is a constant
    assert taken(method.plan(), LP64) == 2 * 16 + 48 + 2 * 64 + 32
    plan = method.plan()
    merged = method_allocation(plan, LP64, AMPLE, merges_data=True)
    assert merged.size_bytes == taken(plan, LP64) + 24


def test_calls_have_a_kernel_and_arguments() -> None:
    method = Method()
    number = method.integer(1)
    method.call("aten::relu.out", number, number, number)
    method.move(number, number)
    # value, chain, kernels, argument lists, three pointers
    assert taken(method.plan(), LP64) == 16 + 32 + 2 * 8 + 2 * 16 + 3 * 8
    assert taken(method.plan(), ARM32) == 16 + 16 + 2 * 4 + 2 * 8 + 3 * 4


def test_looking_up_kernels_is_paid_here_when_the_temp_allocator_is_too_small() -> None:
    method = Method()
    tensor = method.tensor(2, 3, 4, offset=0)
    method.call("aten::relu.out", tensor, tensor)
    plan = method.plan()
    assert resolve_temp_bytes(plan, LP64) == 2 * (24 + 16)
    assert resolve_temp_bytes(plan, ARM32) == 2 * (12 + 16)
    enough = taken(plan, LP64, 80)
    # two descriptions, and twice an order of three dimensions
    assert taken(plan, LP64, 79) == taken(plan, LP64, 0) == enough + 2 * 24 + 2 * 3
    assert taken(plan, LP64, None) == enough + 2 * 24 + 2 * 3 + 48


def test_delegates() -> None:
    method = Method()
    specs = [CompileSpec("a", (1,)), CompileSpec("b", (2,))]
    method.delegate("XnnpackBackend", 0, specs=specs)
    method.delegate("EthosUBackend", 1)
    assert method_allocation(method.plan(), LP64, AMPLE).unknown_backends == ()
    assert taken(method.plan(), LP64) == 2 * 56 + 2 * 24 + 272 + 32
    arm = method_allocation(method.plan(), ARM32, AMPLE)
    assert arm.unknown_backends == ("XnnpackBackend",)
    assert arm.size_bytes == 2 * 40 + 2 * 12 + 16


def test_unknown_backends_are_named_once() -> None:
    method = Method()
    for name in ("OtherBackend", "OtherBackend", "ThirdBackend"):
        method.delegate(name, 0)
    found = method_allocation(method.plan(), LP64, AMPLE)
    assert found.unknown_backends == ("OtherBackend", "ThirdBackend")


@pytest.mark.parametrize("index", [-1, 1, 1 << 30])
def test_a_call_of_a_value_that_is_not_there(index: int) -> None:
    method = Method()
    method.integer(1)
    method.call("aten::relu.out", index)
    with pytest.raises(AnalysisError, match=rf"names value {index} of 1$"):
        method_allocation(method.plan(), LP64, None)
