"""Primitive operators: numbers that programs compute from sizes.

Source: `kernels/prim_ops/register_prim_ops.cpp` of ExecuTorch 1.5.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from math import prod

from onearena.shapes.rules.call import (
    Call,
    ContradictionError,
    NotDerivableError,
    Number,
    NumberRule,
    axis_of,
)


def _size(call: Call) -> Number:
    dims = call.dims(0)
    if not dims:
        raise ContradictionError("asks for a size of a tensor without dimensions")
    return dims[axis_of(call.integer(1), len(dims))]


def _count(call: Call) -> Number:
    return prod(call.dims(0))


def _in_range(number: Number) -> Number:
    """The runtime's integers have 64 bits."""
    if isinstance(number, int) and not -(1 << 63) <= number < 1 << 63:
        raise OverflowError
    return number


def _binary(function: Callable[[Number, Number], Number]) -> NumberRule:
    def rule(call: Call) -> Number:
        try:
            return _in_range(function(call.number(0), call.number(1)))
        except ZeroDivisionError:
            raise ContradictionError("divides by zero") from None
        except OverflowError:
            raise NotDerivableError("the number is too large") from None

    return rule


def _unary(function: Callable[[Number], Number]) -> NumberRule:
    def rule(call: Call) -> Number:
        try:
            return _in_range(function(call.number(0)))
        except (OverflowError, ValueError):
            raise NotDerivableError("the number is too large") from None

    return rule


def _divide_towards_zero(first: Number, second: Number) -> Number:
    if not (isinstance(first, int) and isinstance(second, int)):
        raise NotDerivableError("divides numbers that are not integers")
    quotient = abs(first) // abs(second)
    return quotient if (first < 0) == (second < 0) else -quotient


def _choose(call: Call) -> Number:
    return call.number(1) if call.flag(0) else call.number(2)


RULES: Mapping[str, NumberRule] = {
    "aten::sym_size": _size,
    "aten::sym_numel": _count,
    "executorch_prim::add": _binary(operator.add),
    "executorch_prim::sub": _binary(operator.sub),
    "executorch_prim::mul": _binary(operator.mul),
    "executorch_prim::floordiv": _binary(operator.floordiv),
    "executorch_prim::floordiv.int": _binary(_divide_towards_zero),
    "executorch_prim::truediv": _binary(operator.truediv),
    "executorch_prim::mod": _binary(operator.mod),
    "executorch_prim::eq": _binary(operator.eq),
    "executorch_prim::gt": _binary(operator.gt),
    "executorch_prim::lt": _binary(operator.lt),
    "executorch_prim::ge": _binary(operator.ge),
    "executorch_prim::le": _binary(operator.le),
    "executorch_prim::sym_max": _binary(max),
    "executorch_prim::sym_min": _binary(min),
    "executorch_prim::neg": _unary(operator.neg),
    "executorch_prim::ceil": _unary(math.ceil),
    "executorch_prim::round": _unary(round),
    "executorch_prim::trunc": _unary(math.trunc),
    "executorch_prim::sym_float": _unary(float),
    "executorch_prim::sym_int": _unary(int),
    "executorch_prim::sym_not": _unary(operator.not_),
    "executorch_prim::sym_ite": _choose,
}
