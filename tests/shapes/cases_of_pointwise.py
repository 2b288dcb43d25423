"""Random arguments for element-wise operators, and operators that make tensors."""

from __future__ import annotations

from random import Random
from typing import Any

import torch

from tests.shapes.oracle import T, index, t
from tests.shapes.random_shapes import (
    Args,
    Maker,
    broadcastable,
    some_axes,
    some_axis,
    some_dims,
    unary_case,
)


def _pair(*rest: Any, dtype: torch.dtype = torch.float32) -> Maker:
    def make(r: Random) -> Args:
        dims = some_dims(r)
        shapes = [broadcastable(r, dims), broadcastable(r, dims)]
        return [*(T(shape, dtype) for shape in shapes), *rest]

    return make


def _where(r: Random) -> Args:
    dims = some_dims(r)
    return [
        T(broadcastable(r, dims), torch.bool),
        T(broadcastable(r, dims)),
        T(broadcastable(r, dims)),
    ]


def _clamp_tensor(r: Random) -> Args:
    dims = some_dims(r)
    return [T(dims), r.choice([None, T(broadcastable(r, dims))]), T(broadcastable(r, dims))]


def _masked_fill(r: Random) -> Args:
    dims = some_dims(r)
    return [T(dims), T(broadcastable(r, dims), torch.bool), 1.0]


def _gather(r: Random) -> Args:
    dims = some_dims(r, 1)
    axis = some_axis(r, len(dims))
    wanted = tuple(r.randint(1, size) for size in dims)
    return [T(dims), axis, T(wanted, torch.int64), False]


def _scatter(src: bool) -> Maker:
    def make(r: Random) -> Args:
        dims, axis, where, _ = _gather(r)
        return [dims, axis, where, T(where.dims) if src else 1.0]

    return make


def _arange(r: Random) -> Args:
    start, step = r.randint(-9, 9), r.choice([-3, -1, 1, 2, 0.5, 0.3])
    end = start + r.randint(0, 20) * (1 if step > 0 else -1)
    return [start, end, step]


_UNARY = [
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "bitwise_not", "ceil", "cos"),
    *("cosh", "erf", "exp", "expm1", "floor", "isinf", "isnan", "log", "log10", "log1p", "log2"),
    *("logical_not", "neg", "reciprocal", "relu", "round", "rsqrt", "sigmoid", "sign", "sin"),
    *("sinh", "sqrt", "tan", "tanh", "trunc"),
]

_BINARY = [
    *("atan2", "floor_divide", "logical_and", "logical_or", "logical_xor", "maximum"),
    *("minimum", "mul"),
]

_COMPARE = ["eq", "ge", "gt", "le", "lt", "ne"]

_BITS = [f"bitwise_{name}" for name in ("and", "or", "xor", "left_shift", "right_shift")]

_INTS = {"bitwise_not": torch.int64}


CASES: dict[str, Maker] = {
    **{
        f"aten::{name}.out": (lambda d: lambda r: [T(some_dims(r, least=0), d)])(
            _INTS.get(name, torch.float32)
        )
        for name in _UNARY
    },
    **{f"aten::{name}.out": _pair() for name in _BINARY},
    **{f"aten::{name}.Tensor_out": _pair() for name in [*_COMPARE, "fmod", "remainder"]},
    **{f"aten::{name}.Tensor_out": _pair(dtype=torch.int64) for name in _BITS},
    **{
        f"aten::{name}.Scalar_out": unary_case(2)
        for name in [*_COMPARE, "fmod", "remainder", "mul"]
    },
    "aten::add.out": _pair(1),
    "aten::sub.out": _pair(1),
    "aten::div.out": _pair(),
    "aten::div.out_mode": _pair("floor"),
    "aten::add.Scalar_out": unary_case(2, 1),
    "aten::rsub.Scalar_out": unary_case(2, 1),
    "aten::pow.Tensor_Tensor_out": _pair(),
    "aten::pow.Tensor_Scalar_out": unary_case(2.0),
    "aten::pow.Scalar_out": lambda r: [2.0, T(some_dims(r))],
    "aten::clamp.out": unary_case(0, 1),
    "aten::clamp.Tensor_out": _clamp_tensor,
    "aten::where.self_out": _where,
    "aten::masked_fill.Scalar_out": _masked_fill,
    "aten::gelu.out": unary_case("none"),
    "aten::leaky_relu.out": unary_case(0.1),
    "aten::hardtanh.out": unary_case(-1, 1),
    "aten::elu.out": unary_case(1.0, 1.0, 1.0),
    "aten::logit.out": unary_case(None),
    "aten::hardsigmoid.out": unary_case(),
    "aten::hardswish.out": unary_case(),
    "aten::silu.out": unary_case(),
    "aten::_conj_physical.out": lambda r: [T(some_dims(r), torch.complex64)],
    "aten::masked_scatter.out": lambda r: [T(d := some_dims(r)), T(d, torch.bool), t(99)],
    "aten::_to_copy.out": unary_case(False, None),
    "aten::copy.out": lambda r: [T(d := some_dims(r)), T(broadcastable(r, d)), False],
    "aten::fill.Scalar_out": unary_case(1),
    "aten::lift_fresh_copy.out": unary_case(),
    **{f"aten::{name}_like.out": unary_case(None) for name in ("empty", "ones", "rand", "zeros")},
    "aten::randn_like.out": unary_case(None),
    **{f"aten::{name}.out": lambda r: [list(some_dims(r))] for name in ("rand", "randn")},
    "aten::empty.out": lambda r: [list(some_dims(r)), None],
    "aten::clone.out": unary_case(None),
    "aten::alias_copy.out": unary_case(),
    "aten::detach_copy.out": unary_case(),
    "aten::full_like.out": unary_case(0, None),
    "aten::flip.out": lambda r: [
        T(d := some_dims(r)),
        list({a % len(d) for a in some_axes(r, len(d))}),
    ],
    "aten::roll.out": lambda r: [T(some_dims(r, 1)), [1], [0]],
    "aten::triu.out": lambda r: [T(some_dims(r, 2)), r.randint(-2, 2)],
    "aten::tril.out": lambda r: [T(some_dims(r, 2)), r.randint(-2, 2)],
    "aten::index_put.out": lambda r: [t(5, 4), [index(3)], t(3, 4), False],
    "aten::scatter.src_out": _scatter(True),
    "aten::scatter.value_out": _scatter(False),
    "aten::scatter_add.out": _scatter(True),
    "aten::select_scatter.out": lambda r: [t(4, 5, 6), t(4, 6), 1, 0],
    "aten::slice_scatter.out": lambda r: [t(4, 5), t(4, 2), 1, 1, 3, 1],
    "aten::native_dropout.out": unary_case(0.5, False),
    "aten::full.out": lambda r: [list(some_dims(r)), 0],
    "aten::zeros.out": lambda r: [list(some_dims(r))],
    "aten::ones.out": lambda r: [list(some_dims(r))],
    "aten::scalar_tensor.out": lambda r: [1.0],
    "aten::arange.out": lambda r: [r.choice([r.randint(0, 9), r.random() * 9])],
    "aten::arange.start_out": _arange,
}
