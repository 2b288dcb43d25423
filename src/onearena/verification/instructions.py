"""Are the instructions of a rewritten method those of the original, in an order that is legal?

Where bytes go is checked elsewhere; this is about everything that is not memory: the same
kernels with the same arguments, jumps in place, numbers computed before they are used.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onearena.pte.schema import (
    DelegateCall,
    FreeCall,
    InstructionArguments,
    JumpFalseCall,
    KernelCall,
    MoveCall,
)
from onearena.timeline.numbers import computed_numbers, named_values
from onearena.timeline.steps import MethodSteps
from onearena.verification.violation import Violation

_RANDOM = ("rand", "bernoulli", "dropout", "normal", "multinomial", "poisson", "exponential")


def instruction_changes(
    before: MethodSteps, after: MethodSteps, order: Sequence[int]
) -> tuple[Violation, ...]:
    """All violations; `order[new]` is the old position of an instruction."""
    name = after.plan.name or ""
    count = len(before.instructions)
    if len(after.instructions) != count:
        return (Violation("order", name, "the number of instructions changed"),)
    if sorted(order) != list(range(count)):
        return (Violation("order", name, "the recorded order is not a permutation"),)
    return (*_contents(before, after, order, name), *_ordered(before, order, name))


def _contents(
    before: MethodSteps, after: MethodSteps, order: Sequence[int], name: str
) -> Iterable[Violation]:
    for position, old in enumerate(order):
        one, other = before.instructions[old], after.instructions[position]
        if one != other and not _is_opened(one, other):
            yield Violation(
                "order", name, f"instruction {position} is not instruction {old} of the original"
            )


def _is_opened(one: InstructionArguments, other: InstructionArguments) -> bool:
    """True when a delegate call only got more arguments."""
    if not (isinstance(one, DelegateCall) and isinstance(other, DelegateCall)):
        return False
    args = one.args or ()
    return one.delegate_index == other.delegate_index and (other.args or ())[: len(args)] == args


def _ordered(before: MethodSteps, order: Sequence[int], name: str) -> Iterable[Violation]:
    """Instructions that must keep their order: jumps, moves, frees, delegate calls, in-place and
    unknown operators, random numbers, and all that touch one computed number."""
    chains: dict[object, list[int]] = {}
    computed = computed_numbers(before)
    for old in order:
        for key in _order_keys(before, old, computed):
            chains.setdefault(key, []).append(old)
    for key, olds in chains.items():
        if olds != sorted(olds):
            yield Violation("order", name, f"instructions around {key} changed their order")


def _order_keys(
    method: MethodSteps, instruction: int, computed: frozenset[int]
) -> Iterable[object]:
    args = method.instructions[instruction]
    if isinstance(args, DelegateCall | MoveCall | JumpFalseCall | FreeCall):
        yield "calls and jumps"
    elif isinstance(args, KernelCall):
        operator = (method.plan.operators or ())[args.op_index]
        roles = method.steps[method.first_step[instruction]].roles
        known = (operator.name or "").startswith(("aten::", "dim_order_ops::"))
        if not known or roles.in_place or roles.aliases or not roles.understood:
            yield "calls and jumps"
        if any(word in (operator.name or "") for word in _RANDOM):
            yield "random numbers"
    if isinstance(args, KernelCall | DelegateCall):
        for number in sorted(computed & named_values(method.plan, args.args or ())):
            yield f"value {number}"
