"""Every operator's rule against PyTorch's own shape functions, on random arguments."""

from __future__ import annotations

from collections.abc import Sequence
from random import Random
from typing import Any

import pytest
import torch

from onearena.shapes.rules.call import (
    Call,
    Cause,
    ContradictionError,
    Dims,
    NotDerivableError,
    Number,
    Sized,
)
from onearena.shapes.rules.table import SHAPE_RULES, number_rule
from tests.shapes.operator_cases import CASES
from tests.shapes.oracle import T, index, ours, t, theirs

_ROUNDS = 25
_STATISTICS_ARE_DROPPED = "aten::_native_batch_norm_legit_no_training.out"


@pytest.mark.parametrize("operator", CASES)
def test_shapes_are_those_of_torch(operator: str) -> None:
    random = Random(operator)
    for _ in range(_ROUNDS):
        args = CASES[operator](random)
        expected = theirs(operator, args)
        if operator == _STATISTICS_ARE_DROPPED:  # ExecuTorch's kernel leaves them empty
            expected = (expected[0], (0,), (0,))
        found: tuple[Dims, ...] = ours(operator, args, len(expected))
        assert found == expected, f"{operator}{args}"


def test_every_rule_is_tested() -> None:
    tested = {name for case in CASES for name in (case, case.split(".")[0])}
    assert {name for name in SHAPE_RULES if name.startswith("aten::")} <= tested


def test_operators_that_torch_does_not_have() -> None:
    """Shapes as the operators' Python definitions in ExecuTorch give them."""
    x, codes = t(2, 5, 8), T((2, 5, 8), torch.int8)
    scales = [t(8), index(8), 2, -128, 127, torch.int8]
    for operator in ("quantize", "dequantize"):
        per_tensor = f"quantized_decomposed::{operator}_per_tensor.out"
        per_channel = f"quantized_decomposed::{operator}_per_channel.out"
        assert ours(per_tensor, [x, 0.1, 0, -128, 127, torch.int8], 1) == ((2, 5, 8),)
        assert ours(per_channel, [x, *scales], 1) == ((2, 5, 8),)
    added = [codes, 0.1, 0, -128, 127, T((8,), torch.int8), 0.1, 0, -128, 127, 0.1, 0, -128, 127]
    assert ours("quantized_decomposed::add.out", added, 1) == ((2, 5, 8),)
    per_token = "quantized_decomposed::choose_qparams_per_token_asymmetric.out"
    assert ours(per_token, [x, torch.int8], 2) == ((2, 5, 1), (2, 5, 1))
    table = [T((100, 32), torch.uint8), t(100), None, -8, 7, index(2, 3)]
    assert ours("quantized_decomposed::embedding_byte.out", table, 1) == ((2, 3, 32),)
    assert ours("quantized_decomposed::embedding_4bit.out", table, 1) == ((2, 3, 64),)
    assert ours("quantized_decomposed::embedding_2bit.out", table, 1) == ((2, 3, 128),)
    weight = T((16, 8), torch.int8)
    assert ours("quantized_decomposed::mixed_linear.out", [x, weight, t(16)], 1) == ((2, 5, 16),)
    query = t(1, 3, 4, 8)
    assert ours("llama::custom_sdpa.out", [query, t(1, 9, 4, 8), t(1, 9, 4, 8), 0], 1) == (
        query.dims,
    )
    assert ours("dim_order_ops::_clone_dim_order.out", [x, False, [0, 1, 2]], 1) == (x.dims,)
    assert ours("dim_order_ops::_empty_dim_order.out", [[4, 5], [0, 1]], 1) == ((4, 5),)


@pytest.mark.parametrize(
    ("operator", "args", "outputs"),
    [
        ("aten::add.out", [t(3, 2), t(4, 2), 1], 1),
        ("aten::view_copy.out", [t(3, 4), [5, -1]], 1),
        ("aten::view_copy.out", [t(3, 4), [13]], 1),
        ("aten::view_copy.out", [t(0, 4), [-1, 0]], 1),
        ("aten::cat.out", [[t(2, 3), t(2, 4)], 0], 1),
        ("aten::cat.out", [[t(2, 3), t(2)], 1], 1),
        ("aten::stack.out", [[t(2, 3), t(2, 4)], 0], 1),
        ("aten::mm.out", [t(2, 3), t(4, 5)], 1),
        ("aten::linear.out", [t(2, 3), t(5, 4), None], 1),
        ("aten::expand_copy.out", [t(3, 2), [4, 2], False], 1),
        ("aten::split_with_sizes_copy.out", [t(5), [2, 2], 0], 2),
        ("aten::split_copy.Tensor_out", [t(9), 2, 0], 2),
        ("aten::unbind_copy.int_out", [t(9, 2), 0], 3),
        ("aten::native_layer_norm.out", [t(2, 3), [4], None, None, 1e-5], 3),
        (
            "aten::convolution.out",
            [t(1, 3, 2, 2), t(4, 3, 3, 3), None, [1], [0], [1], 0, [0], 1],
            1,
        ),
        (
            "aten::convolution.out",
            [t(1, 2, 9, 9), t(4, 3, 3, 3), None, [1], [0], [1], 0, [0], 1],
            1,
        ),
        ("aten::max_pool2d_with_indices.out", [t(1, 2, 2), [3], [1], [0], [1], False], 2),
        ("aten::permute_copy.out", [t(2, 3), [0, 0]], 1),
        ("aten::transpose_copy.int_out", [t(2, 3), 0, 5], 1),
        ("aten::pixel_shuffle.out", [t(3, 2, 2), 2], 1),
        ("aten::constant_pad_nd.out", [t(2), [-2, -1], 0], 1),
        ("aten::topk.values", [t(3), 4, 0, True, True], 2),
        ("aten::full.out", [[-1], 0], 1),
        ("aten::arange.start_out", [5, 0, 1], 1),
    ],
)
def test_arguments_that_no_kernel_accepts(operator: str, args: Sequence[Any], outputs: int) -> None:
    with pytest.raises(ContradictionError):
        ours(operator, args, outputs)


@pytest.mark.parametrize(
    ("operator", "args"),
    [
        ("aten::add.out", [t(2), Cause(3, "aten::nonzero.out", "data"), 1]),
        ("aten::view_copy.out", [t(2), [Cause(3, "aten::nonzero.out", "data"), -1]]),
        ("aten::cat.out", [[t(2), Cause(3, "aten::nonzero.out", "data")], 0]),
        ("aten::full.out", [Cause(3, "aten::nonzero.out", "data"), 0]),
    ],
)
def test_ignorance_keeps_its_cause(operator: str, args: Sequence[Any]) -> None:
    with pytest.raises(NotDerivableError) as caught:
        ours(operator, args, 1)
    assert caught.value.cause == Cause(3, "aten::nonzero.out", "data")


@pytest.mark.parametrize(
    ("operator", "args"),
    [
        ("aten::index.Tensor_out", [t(4), [T((4,), torch.bool)]]),  # depends on the data
        ("aten::repeat_interleave.Tensor_out", [index(4), None]),
        ("aten::view_copy.out", [t(2), 3.5]),  # another schema than the one known
        ("aten::mean.out", [t(2), [0]]),
        ("aten::cat.out", [t(2), 0]),
    ],
)
def test_what_cannot_be_derived(operator: str, args: Sequence[Any]) -> None:
    with pytest.raises(NotDerivableError):
        ours(operator, args, 1)


def _number(operator: str, *args: Any) -> Number:
    name, overload = operator.split(".")
    rule = number_rule(name, overload)
    assert rule is not None
    return rule(Call(args))


def test_numbers() -> None:
    assert _number("aten::sym_size.int", Sized((3, 4)), -1) == 4
    assert _number("aten::sym_numel.", Sized((3, 4))) == 12
    assert _number("executorch_prim::floordiv.Scalar", -7, 2) == -4
    assert _number("executorch_prim::floordiv.int", -7, 2) == -3
    assert _number("executorch_prim::truediv.Scalar", 7, 2) == 3.5
    assert _number("executorch_prim::mod.Scalar", 7, 4) == 3
    assert _number("executorch_prim::sym_max.Scalar", 7, 9) == 9
    assert _number("executorch_prim::ceil.Scalar", 3.2) == 4
    assert _number("executorch_prim::trunc.Scalar", -3.2) == -3
    assert _number("executorch_prim::sym_ite.Scalar", False, 1, 2) == 2
    assert _number("executorch_prim::ge.Scalar", 2, 2) is True
    for divide in ("floordiv", "truediv", "mod"):
        with pytest.raises(ContradictionError):
            _number(f"executorch_prim::{divide}.Scalar", 1, 0)
    with pytest.raises(NotDerivableError):
        _number("executorch_prim::trunc.Scalar", float("inf"))
    with pytest.raises(NotDerivableError):
        _number("executorch_prim::mul.Scalar", 1 << 62, 2)
    with pytest.raises(ContradictionError):
        _number("aten::sym_size.int", Sized(()), 0)
