"""Operators whose output is shaped like their tensors, and operators that make tensors.

Schemas: `native_functions.yaml` of PyTorch and the operator lists of ExecuTorch 1.5.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import ceil

from onearena.shapes.rules.call import (
    Call,
    ContradictionError,
    Dims,
    ShapeRule,
    broadcast,
)

_JOINED = (
    *("abs", "acos", "acosh", "add", "asin", "asinh", "atan", "atan2", "atanh", "bitwise_and"),
    *("bitwise_left_shift", "bitwise_not", "bitwise_or", "bitwise_right_shift", "bitwise_xor"),
    *("ceil", "clamp", "cos", "cosh", "div", "elu", "eq", "erf", "exp", "expm1", "floor"),
    *("floor_divide", "fmod", "ge", "gelu", "gt", "hardsigmoid", "hardswish", "hardtanh"),
    *("isinf", "isnan", "le", "leaky_relu", "log", "log10", "log1p", "log2", "logical_and"),
    *("logical_not", "logical_or", "logical_xor", "logit", "lt", "masked_fill", "maximum"),
    *("minimum", "mul", "ne", "neg", "pow", "reciprocal", "relu", "remainder", "round"),
    *("rsqrt", "rsub", "sigmoid", "sign", "silu", "sin", "sinh", "sqrt", "sub", "tan"),
    *("tanh", "trunc", "where", "_conj_physical"),
)
_LIKE_FIRST = (
    *("_log_softmax", "_softmax", "_to_copy", "alias_copy", "clone", "copy", "cumsum"),
    *("detach_copy", "empty_like", "fill", "flip", "full_like", "index_put", "lift_fresh_copy"),
    *("native_dropout", "ones_like", "rand_like", "randn_like", "roll", "scatter"),
    *("scatter_add", "select_scatter", "slice_scatter", "tril", "triu", "zeros_like"),
)
_LIKE_FIRST_ELSEWHERE = (
    "dim_order_ops::_clone_dim_order",
    "dim_order_ops::_to_dim_order_copy",
    "llama::custom_quantized_sdpa",
    "llama::custom_sdpa",
    "llama::fast_hadamard_transform",
    "llama::sdpa_with_kv_cache",
    *(
        f"quantized_decomposed::{verb}_per_{unit}"
        for verb in ("quantize", "dequantize")
        for unit in ("channel", "channel_group", "tensor", "token")
    ),
)
"""The attention operators return a tensor shaped like the queries."""


def _joined(call: Call) -> Sequence[Dims]:
    return (broadcast(*call.all_dims()),)


def _like_first(call: Call) -> Sequence[Dims]:
    return (call.dims(0),) * call.outputs


def _masked(call: Call) -> Sequence[Dims]:
    return (broadcast(call.dims(0), call.dims(1)),)


def _sized(call: Call) -> Sequence[Dims]:
    dims = call.integers(0)
    if any(size < 0 for size in dims):
        raise ContradictionError(f"is asked for the shape {list(dims)}")
    return (dims,)


def _scalar(call: Call) -> Sequence[Dims]:
    return ((),)


def _range(start: float, end: float, step: float) -> Sequence[Dims]:
    if step == 0 or (end - start) * step < 0:
        raise ContradictionError(f"cannot count from {start:g} to {end:g} in steps of {step:g}")
    if all(isinstance(number, int) for number in (start, end, step)):
        return ((int(-((start - end) // step)),),)
    return ((ceil((end - start) / step),),)


def _arange(call: Call) -> Sequence[Dims]:
    return _range(0, call.number(0), 1)


def _arange_from(call: Call) -> Sequence[Dims]:
    return _range(call.number(0), call.number(1), call.number(2))


def _per_token_parameters(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    return ((*dims[:-1], 1),) * call.outputs


def _per_tensor_parameters(call: Call) -> Sequence[Dims]:
    return ((1,),) * call.outputs


RULES: Mapping[str, ShapeRule] = {
    **{f"aten::{name}": _joined for name in _JOINED},
    **{f"aten::{name}": _like_first for name in _LIKE_FIRST},
    **dict.fromkeys(_LIKE_FIRST_ELSEWHERE, _like_first),
    "quantized_decomposed::add": _joined,
    "quantized_decomposed::choose_qparams": _per_tensor_parameters,
    "quantized_decomposed::choose_qparams_per_token_asymmetric": _per_token_parameters,
    **{f"aten::{name}": _sized for name in ("empty", "full", "ones", "rand", "randn", "zeros")},
    "dim_order_ops::_empty_dim_order": _sized,
    "aten::masked_scatter": _masked,
    "aten::scalar_tensor": _scalar,
    "aten::arange": _arange,
    "aten::arange.start_out": _arange_from,
}
