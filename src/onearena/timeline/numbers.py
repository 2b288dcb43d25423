"""Numbers that instructions compute: they order instructions without being memory."""

from __future__ import annotations

from onearena.pte.schema import (
    DelegateCall,
    ExecutionPlan,
    KernelCall,
    MoveCall,
    OptionalTensorList,
    Tensor,
    TensorList,
)
from onearena.timeline.steps import MethodSteps


def computed_numbers(method: MethodSteps) -> frozenset[int]:
    """Values other than tensors and tensor lists that some instruction writes: the last
    argument of a kernel, arguments of a delegate, targets of a move."""
    values = method.plan.values or ()
    found: set[int] = set()
    for args in method.instructions:
        if isinstance(args, KernelCall):
            found.update((args.args or ())[-1:])
        elif isinstance(args, DelegateCall):
            found.update(args.args or ())
        elif isinstance(args, MoveCall):
            found.add(args.move_to)
    tensors = Tensor | TensorList | OptionalTensorList
    return frozenset(v for v in found if not isinstance(values[v].val, tensors))


def named_values(plan: ExecutionPlan, args: tuple[int, ...]) -> set[int]:
    """Argument values and, for boxed integer lists, the values they name."""
    values = plan.values or ()
    named = set(args)
    for argument in args:
        items = getattr(values[argument].val, "items", None)
        named.update(int(i) for i in items or () if isinstance(i, int) and 0 <= i < len(values))
    return named
