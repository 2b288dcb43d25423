"""What one kernel call does to the shapes and numbers of a method."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from onearena.pte.schema import Bool, Double, ExecutionPlan, Int, KernelCall
from onearena.shapes.environment import Environment
from onearena.shapes.rules.call import (
    MALFORMED,
    Call,
    Cause,
    ContradictionError,
    Dims,
    NotDerivableError,
    Number,
)
from onearena.shapes.rules.table import DATA_DEPENDENT, number_rule, shape_rule
from onearena.timeline.roles import (
    COPY_INDEX_OPERATOR,
    VIEW_OPERATOR,
    kernel_roles,
    operator_name,
    tensors_in,
)


@dataclass(frozen=True)
class Refusal:
    """The operator refuses its arguments' shapes."""

    cause: Cause


Shape: TypeAlias = Dims | Cause | Refusal
Scalar: TypeAlias = Number | Cause | Refusal


@dataclass(frozen=True)
class KernelEffect:
    """New shapes by tensor value, new numbers by value."""

    shapes: Sequence[tuple[int, Shape]] = ()
    numbers: Sequence[tuple[int, Scalar]] = ()


@dataclass(frozen=True)
class _Kernel:
    """A call with its operator's name taken apart."""

    environment: Environment
    position: int
    name: str
    overload: str
    label: str
    args: tuple[int, ...]

    def call(self, args: Sequence[int], outputs: int) -> Call:
        """The arguments as rules see them."""
        known = (self.environment.argument(v, self.position, self.label) for v in args)
        return Call(tuple(known), outputs)

    def cause(self, error: NotDerivableError) -> Cause:
        """Where the ignorance began."""
        return error.cause or Cause(self.position, self.label, str(error))

    def refusal(self, error: ContradictionError) -> Refusal:
        """The refusal, with its place."""
        return Refusal(Cause(self.position, self.label, str(error)))


def kernel_effect(environment: Environment, position: int, args: KernelCall) -> KernelEffect:
    """Applies the operator's rule.

    Args:
        position: the instruction, for causes.
    """
    plan = environment.plan
    operator = (plan.operators or ())[args.op_index]
    kernel = _Kernel(
        environment,
        position,
        operator.name or "",
        operator.overload or "",
        operator_name(operator),
        args.args or (),
    )
    returns_tensors = bool(kernel.args) and bool(tensors_in(plan, kernel.args[-1]))
    if kernel.name != COPY_INDEX_OPERATOR and not returns_tensors:
        return _numbers(kernel)
    roles = kernel_roles(plan, args)
    outputs = (*roles.writes, *(view for _, view in roles.aliases))
    if not roles.understood:
        cause = Cause(position, kernel.label, "its arguments are not understood")
        return KernelEffect([(value, cause) for value in outputs])
    if roles.in_place:  # the operand keeps its shape; a handle that becomes the operand has it too
        dims = [environment.dims(base, position, kernel.label) for base, _ in roles.aliases]
        views = [view for _, view in roles.aliases]
        return KernelEffect(list(zip(views, dims, strict=True)))
    if kernel.name in (COPY_INDEX_OPERATOR, VIEW_OPERATOR):
        count = 3 if kernel.name == COPY_INDEX_OPERATOR else 2
    else:
        count = _input_count(plan, kernel.args, len(outputs))
    shapes = _shapes(kernel, kernel.call(kernel.args[:count], len(outputs)))
    return KernelEffect(list(zip(outputs, shapes, strict=True)))


def _input_count(plan: ExecutionPlan, args: Sequence[int], outputs: int) -> int:
    """How many arguments are no outputs: `out, out`, or `out0, out1, [out0, out1]`."""
    is_repeated = len(args) > 1 and tensors_in(plan, args[-2]) == tensors_in(plan, args[-1])
    return len(args) - 2 if is_repeated else len(args) - 1 - outputs


def _shapes(kernel: _Kernel, call: Call) -> Sequence[Shape]:
    try:
        found = _apply(kernel, call)
    except NotDerivableError as error:
        return (kernel.cause(error),) * call.outputs
    except ContradictionError as error:
        return (kernel.refusal(error),) * call.outputs
    except MALFORMED:
        reason = "its arguments are not those that its rule knows"
        return (Cause(kernel.position, kernel.label, reason),) * call.outputs
    if len(found) != call.outputs:
        reason = f"has {call.outputs} outputs, its rule knows {len(found)}"
        return (Cause(kernel.position, kernel.label, reason),) * call.outputs
    return found


def _apply(kernel: _Kernel, call: Call) -> Sequence[Dims]:
    if kernel.name == COPY_INDEX_OPERATOR:  # the output grows by one row
        return ((call.integer(2) + 1, *call.dims(1)),)
    if kernel.name in DATA_DEPENDENT:
        raise NotDerivableError("its size depends on the data")
    name = "aten::view_copy" if kernel.name == VIEW_OPERATOR else kernel.name
    rule = shape_rule(name, kernel.overload)
    if rule is None:
        raise NotDerivableError("no rule for this operator")
    return rule(call)


def _numbers(kernel: _Kernel) -> KernelEffect:
    """A primitive operator: the last argument becomes the result, when that is a number."""
    values = kernel.environment.plan.values or ()
    if not kernel.args or not isinstance(values[kernel.args[-1]].val, Int | Double | Bool):
        return KernelEffect()
    return KernelEffect(numbers=[(kernel.args[-1], _number(kernel))])


def _number(kernel: _Kernel) -> Scalar:
    rule = number_rule(kernel.name, kernel.overload)
    try:
        if kernel.name in DATA_DEPENDENT:
            raise NotDerivableError("its value depends on the data")
        if rule is None:
            raise NotDerivableError("no rule for this operator")
        return rule(kernel.call(kernel.args[:-1], 1))
    except NotDerivableError as error:
        return kernel.cause(error)
    except ContradictionError as error:
        return kernel.refusal(error)
    except MALFORMED:
        reason = "its arguments are not those that its rule knows"
        return Cause(kernel.position, kernel.label, reason)
