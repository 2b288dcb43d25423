"""Kernels that may write their output over an operand, and copies that need not be made.

A kernel is in the table when the portable and the optimized kernels that ExecuTorch 1.5.1 ships
computed, over the operand, exactly the bytes that they compute elsewhere: for these element types,
for all small shapes, for every way in which their other operands are broadcast, for lengths around
those of vectors, and split among threads (tests/runtime/test_in_place_kernels.py runs them). The
reason is in their source: they read an element, or a row, before they write it
(`kernels/portable/cpu/util/elementwise_util.h`, `kernels/optimized/cpu/binary_ops.h`), or they
copy the operand and change the copy (the scatter family).

Whatever is not here stays out of place.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from math import prod

from onearena.pte.schema import ExecutionPlan, KernelCall, Tensor
from onearena.pte.tensors import ScalarType, is_dynamic
from onearena.timeline.roles import flatten, operator_name

_S = ScalarType
FLOATS = (_S.HALF, _S.FLOAT, _S.DOUBLE, _S.BFLOAT16)
INTEGERS = (_S.BYTE, _S.CHAR, _S.SHORT, _S.INT, _S.LONG)
NUMBERS = (*INTEGERS, *FLOATS)
EVERYTHING = (*NUMBERS, _S.BOOL)
BYTES = (_S.BYTE, _S.CHAR, _S.BOOL)

Types = tuple[int, ...]
"""Element types of an operator's tensors in the order of its arguments, then of its output."""


@dataclass(frozen=True)
class InPlaceKernel:
    """An operator whose first output may take the place of an operand.

    Attributes:
        arguments: how many its schema has, without the outputs.
        tensors: positions of the arguments that are read element by element.
        taken: those of them whose place the output may take.
        types: the combinations of element types for which this is proven.
        outputs: how many the schema has.
        elsewhere: positions of other arguments with tensors (indices, weights, what is
            scattered), of any type and shape.
        is_sized_like_operand: the output always has the operand's shape, whatever else is given.
        any_order: proven for dim orders other than the usual one too, when all tensors have the
            same sizes.
    """

    arguments: int
    tensors: tuple[int, ...]
    taken: tuple[int, ...]
    types: frozenset[Types]
    outputs: int = 1
    elsewhere: tuple[int, ...] = ()
    is_sized_like_operand: bool = False
    any_order: bool = False

    @cached_property
    def others(self) -> tuple[int, ...]:
        """Positions of the arguments that are no tensors."""
        tensors = {*self.tensors, *self.elsewhere}
        return tuple(k for k in range(self.arguments) if k not in tensors)


def _same(types: Iterable[int], count: int) -> frozenset[Types]:
    """One type for all operands and the output."""
    return frozenset((kind,) * (count + 1) for kind in types)


def _to_bool(types: Iterable[int], count: int) -> frozenset[Types]:
    return frozenset((*(kind,) * count, _S.BOOL) for kind in types)


def _with_mask(types: Iterable[int], *pattern: bool) -> frozenset[Types]:
    """Masks at some positions, one type elsewhere and for the output."""
    rows = (tuple(_S.BOOL if mask else kind for mask in pattern) for kind in types)
    return frozenset((*row, kind) for row, kind in zip(rows, types, strict=True))


def _unary(arguments: int, types: frozenset[Types], *names: str) -> dict[str, InPlaceKernel]:
    kernel = InPlaceKernel(arguments, (0,), (0,), types, is_sized_like_operand=True, any_order=True)
    return {f"aten::{name}": kernel for name in names}


def _binary(arguments: int, types: frozenset[Types], *names: str) -> dict[str, InPlaceKernel]:
    kernel = InPlaceKernel(arguments, (0, 1), (0, 1), types, any_order=True)
    return {f"aten::{name}": kernel for name in names}


def _whole(
    arguments: int, types: frozenset[Types], elsewhere: tuple[int, ...], *names: str
) -> dict[str, InPlaceKernel]:
    """Kernels that work row by row, or begin with a copy of the operand."""
    kernel = InPlaceKernel(
        arguments, (0,), (0,), types, elsewhere=elsewhere, is_sized_like_operand=True
    )
    return {f"aten::{name}": kernel for name in names}


_FLOAT_FUNCTIONS = (
    *("acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "erf", "exp", "expm1"),
    *("log", "log10", "log1p", "log2", "reciprocal", "rsqrt", "sigmoid", "sin", "sinh", "sqrt"),
    *("tan", "tanh"),
)
_NUMBER_FUNCTIONS = ("abs", "ceil", "floor", "neg", "relu", "round", "trunc")
_COMPARISONS = ("eq", "ne", "ge", "gt", "le", "lt")
_BITWISE = ("bitwise_and", "bitwise_or", "bitwise_xor")

IN_PLACE_KERNELS: Mapping[str, InPlaceKernel] = {
    **_unary(1, _same(FLOATS, 1), *(f"{name}.out" for name in _FLOAT_FUNCTIONS)),
    **_unary(1, _same(NUMBERS, 1), *(f"{name}.out" for name in _NUMBER_FUNCTIONS)),
    **_unary(1, _same(EVERYTHING, 1), "sign.out"),
    **_unary(1, _same((*INTEGERS, _S.BOOL), 1), "bitwise_not.out"),
    **_unary(1, _to_bool(BYTES, 1), "logical_not.out"),
    **_unary(2, _same(FLOATS, 1), "gelu.out", "leaky_relu.out"),
    **_unary(2, _same((_S.FLOAT, _S.DOUBLE), 1), "logit.out"),
    **_unary(4, _same(FLOATS, 1), "elu.out"),
    **_unary(3, _same(NUMBERS, 1), "hardtanh.out", "clamp.out"),
    **_unary(3, _same(NUMBERS, 1), *(f"{name}.Scalar_out" for name in ("add", "sub", "rsub"))),
    **_unary(2, _same(NUMBERS, 1), "mul.Scalar_out", "fmod.Scalar_out", "remainder.Scalar_out"),
    **_unary(2, _same(NUMBERS, 1), "pow.Tensor_Scalar_out"),
    **_unary(2, _same(FLOATS, 1), "div.Scalar_out"),
    **_unary(3, _same(NUMBERS, 1), "div.Scalar_mode_out"),
    **_unary(2, _same(INTEGERS, 1), *(f"{name}.Scalar_out" for name in _BITWISE)),
    **_unary(2, _to_bool(BYTES, 1), *(f"{name}.Scalar_out" for name in _COMPARISONS)),
    **_unary(2, _same(EVERYTHING, 1), "fill.Scalar_out"),
    **_whole(3, _same(EVERYTHING, 1), (), "full_like.out", "_to_copy.out"),
    **_whole(3, _same(FLOATS, 1), (), "_softmax.out"),
    **_whole(3, _same((_S.HALF, _S.FLOAT, _S.BFLOAT16), 1), (), "_log_softmax.out"),
    **_binary(3, _same(EVERYTHING, 2), "add.out"),
    **_binary(3, _same(NUMBERS, 2), "sub.out"),
    **_binary(2, _same(EVERYTHING, 2), "mul.out", "maximum.out", "minimum.out"),
    **_binary(2, _same(FLOATS, 2), "div.out", "atan2.out"),
    **_binary(3, _same(NUMBERS, 2), "div.out_mode"),
    **_binary(2, _same(NUMBERS, 2), "floor_divide.out", "fmod.Tensor_out", "remainder.Tensor_out"),
    **_binary(2, _same(NUMBERS, 2), "pow.Tensor_Tensor_out"),
    **_binary(2, _to_bool(BYTES, 2), "logical_and.out", "logical_or.out", "logical_xor.out"),
    **_binary(2, _same((*INTEGERS, _S.BOOL), 2), *(f"{name}.Tensor_out" for name in _BITWISE)),
    **_binary(2, _to_bool(BYTES, 2), *(f"{name}.Tensor_out" for name in _COMPARISONS)),
    "aten::pow.Scalar_out": InPlaceKernel(
        2, (1,), (1,), _same(NUMBERS, 1), is_sized_like_operand=True, any_order=True
    ),
    "dim_order_ops::_to_dim_order_copy.out": InPlaceKernel(
        3, (0,), (0,), _same(EVERYTHING, 1), is_sized_like_operand=True, any_order=True
    ),
    "aten::where.self_out": InPlaceKernel(
        3, (0, 1, 2), (1, 2), _with_mask(EVERYTHING, True, False, False), any_order=True
    ),
    "aten::masked_fill.Scalar_out": InPlaceKernel(
        3, (0, 1), (0,), _with_mask(EVERYTHING, False, True), any_order=True
    ),
    **_whole(4, _same(EVERYTHING, 1), (2, 3), "scatter.src_out", "scatter_add.out"),
    **_whole(4, _same(EVERYTHING, 1), (2,), "scatter.value_out"),
    **_whole(4, _same(EVERYTHING, 1), (1,), "select_scatter.out"),
    **_whole(6, _same(EVERYTHING, 1), (1,), "slice_scatter.out"),
    **_whole(4, _same(EVERYTHING, 1), (1, 2), "index_put.out"),
    "aten::native_layer_norm.out": InPlaceKernel(
        5, (0,), (0,), _same(FLOATS, 1), 3, (2, 3), is_sized_like_operand=True
    ),
}
"""By `name.overload`."""

COPIES: Mapping[str, int] = {
    "aten::alias_copy.out": 1,
    "aten::detach_copy.out": 1,
    "aten::lift_fresh_copy.out": 1,
    "aten::clone.out": 2,
    "aten::view_copy.out": 2,
    "aten::unsqueeze_copy.out": 2,
    "aten::squeeze_copy.dim_out": 2,
    "aten::squeeze_copy.dims_out": 2,
    "aten::expand_copy.out": 3,
    "dim_order_ops::_clone_dim_order.out": 3,
}
"""By `name.overload`, how many arguments operators have whose output has the bytes of their first
operand, where both have the same type and size: written over the operand they change nothing.
They call `memcpy`, here with two equal addresses, which leaves the bytes as they are."""
_MAY_REPEAT = frozenset({"aten::expand_copy.out"})


def in_place_operands(plan: ExecutionPlan, call: KernelCall) -> tuple[int, tuple[int, ...]] | None:
    """The output of a kernel call, and the operands (program values) whose place it may take;
    None when there are none."""
    name = operator_name((plan.operators or ())[call.op_index])
    kernel, args = IN_PLACE_KERNELS.get(name), call.args or ()
    if kernel is None:
        return _copied(plan, name, args)
    if len(args) != kernel.arguments + kernel.outputs + 1:
        return None
    output = args[kernel.arguments]
    named = [args[position] for position in kernel.tensors]
    tensors = [_tensor(plan, value) for value in (*named, output)]
    types = tuple([tensor.scalar_type for tensor in tensors if tensor is not None])
    if len(types) < len(tensors) or types not in kernel.types or output in named:
        return None
    elsewhere = flatten(plan, tuple([args[position] for position in kernel.elsewhere]))
    if output in elsewhere or flatten(plan, tuple([args[k] for k in kernel.others])):
        return None
    taken = dict.fromkeys(args[position] for position in kernel.taken)
    found = (v for v in taken if v not in elsewhere and _fits(plan, kernel, v, output, named))
    operands = tuple(found)
    return (output, operands) if operands else None


def same_bytes_operand(plan: ExecutionPlan, call: KernelCall) -> tuple[int, int] | None:
    """The output of a kernel call that copies its operand, and the operand (program values)."""
    name = operator_name((plan.operators or ())[call.op_index])
    found = _copied(plan, name, call.args or ())
    return (found[0], found[1][0]) if found else None


def _tensor(plan: ExecutionPlan, value: int) -> Tensor | None:
    found = (plan.values or ())[value].val
    return found if isinstance(found, Tensor) else None


def _fits(
    plan: ExecutionPlan, kernel: InPlaceKernel, operand: int, output: int, named: list[int]
) -> bool:
    """Whether every element of an operand is read for the output's element at its place alone.

    With dynamic shapes an operand may turn out to be broadcast at run time: not when the shape of
    the output follows from it alone, nor when it is itself as large as the output can be.
    """
    source, target = _tensor(plan, operand), _tensor(plan, output)
    if source is None or target is None:
        return False
    if source.sizes != target.sizes or _order(source) != _order(target):
        return False
    beside = [t for v in named if v != operand and (t := _tensor(plan, v)) is not None]
    if not _is_plain(source):
        like = (t.sizes == source.sizes and _order(t) == _order(source) for t in beside)
        if not kernel.any_order or not all(like):
            return False
    if kernel.is_sized_like_operand or not is_dynamic(source):
        return True
    return all(_is_one_element(other) for other in beside)


def _is_one_element(tensor: Tensor) -> bool:
    return not is_dynamic(tensor) and prod(tensor.sizes or ()) == 1


def _is_plain(tensor: Tensor) -> bool:
    return _order(tensor) == tuple(range(len(tensor.sizes or ())))


def _order(tensor: Tensor) -> tuple[int, ...]:
    """The dim order, the last dimension innermost when none is given."""
    return tuple(tensor.dim_order or ()) or tuple(range(len(tensor.sizes or ())))


def _copied(
    plan: ExecutionPlan, name: str, args: tuple[int, ...]
) -> tuple[int, tuple[int, ...]] | None:
    count = COPIES.get(name)
    if count is None or len(args) != count + 2:
        return None
    operand, output = args[0], args[count]
    source, target = _tensor(plan, operand), _tensor(plan, output)
    if source is None or target is None or operand == output:
        return None
    if source.scalar_type != target.scalar_type or not _has_equal_layout(source, target):
        return None
    if name in _MAY_REPEAT and (is_dynamic(source) or is_dynamic(target)):
        return None
    return output, (operand,)


def _has_equal_layout(source: Tensor, target: Tensor) -> bool:
    """The same elements in the same order in memory."""
    if source.sizes == target.sizes:
        return _order(source) == _order(target)
    return (
        _is_plain(source)
        and _is_plain(target)
        and prod(source.sizes or ()) == prod(target.sizes or ())
    )
