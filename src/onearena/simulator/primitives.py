"""Operators that the runtime itself has: arithmetic on numbers, sizes, and copies whose only
purpose is the order of dimensions.

What they do is from `kernels/prim_ops/register_prim_ops.cpp` and, for the `dim_order_ops`,
`exir/passes/dim_order_ops_registry.py` of ExecuTorch 1.5.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

Number = int | float | bool


def _floordiv(a: Number, b: Number) -> Number:
    return a // b


_ARITHMETIC: Mapping[str, Callable[..., Number]] = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "floordiv": _floordiv,
    "truediv": lambda a, b: a / b,
    "mod": lambda a, b: a % b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "neg": lambda a: -a,
    "ceil": math.ceil,
    "round": round,
    "trunc": math.trunc,
    "sym_float": float,
    "sym_int": int,
    "sym_max": max,
    "sym_min": min,
    "sym_not": lambda a: not a,
    "sym_ite": lambda condition, a, b: a if condition else b,
}

NUMBER_OPERATORS: Mapping[str, Callable[..., Any]] = {
    **{f"executorch_prim::{name}": rule for name, rule in _ARITHMETIC.items()},
    "aten::sym_size": lambda tensor, dim: int(tensor.shape[dim]),
    "aten::sym_numel": lambda tensor: int(tensor.numel()),
    "aten::sym_stride": lambda tensor, dim: int(tensor.stride(dim)),
    "aten::_local_scalar_dense": lambda tensor: tensor.item(),
}
"""By name, the operators that return a number: all arguments but the last go in."""

WITHOUT_EFFECT = frozenset({"aten::sym_constrain_range", "aten::sym_constrain_range_for_size"})
"""Operators that only check."""

COPIES = frozenset({"dim_order_ops::_to_dim_order_copy", "dim_order_ops::_clone_dim_order"})
"""The output is the first argument, in the output's element type and order."""
EMPTY = "dim_order_ops::_empty_dim_order"
"""The output has no content."""
