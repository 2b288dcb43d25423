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
from onearena.verification.origins import moves_bytes
from onearena.verification.sharing import copies_all
from onearena.verification.violation import Violation

_KNOWN = ("aten::", "dim_order_ops::")
_RANDOM = ("rand", "bernoulli", "dropout", "normal", "multinomial", "poisson", "exponential")


def instruction_changes(
    before: MethodSteps, after: MethodSteps, order: Sequence[int]
) -> tuple[Violation, ...]:
    """All violations; `order[new]` is the old position of an instruction. One that only copies
    may be missing, one that gives the same each time may be there more than once: whether what it
    makes is there when it is read shows in the bytes."""
    name = after.plan.name or ""
    gone = instructions_gone(before, order)
    if len(after.instructions) != len(order):
        return (Violation("order", name, "the number of instructions changed"),)
    known = range(len(before.instructions))
    again = [old for old in set(order) if order.count(old) > 1]
    if any(old not in known for old in order) or any(not _is_pure(before, k) for k in again):
        return (Violation("order", name, "the recorded order is not a permutation"),)
    needed = [old for old in gone if not _only_copies(before, old)]
    if needed:
        found = f"instruction {needed[0]} of the original is missing"
        return (Violation("order", name, found),)
    return (*_contents(before, after, order, name), *_ordered(before, order, name))


def instructions_gone(before: MethodSteps, order: Sequence[int]) -> frozenset[int]:
    """The instructions that an order leaves out."""
    return frozenset(range(len(before.instructions))).difference(order)


def _only_copies(method: MethodSteps, instruction: int) -> bool:
    """Whether every byte that an instruction writes is a copy, of which byte being fixed."""
    args = method.instructions[instruction]
    step = method.steps[method.first_step[instruction]]
    if not isinstance(args, KernelCall) or not step.roles.understood or not moves_bytes(step):
        return False
    if step.roles.in_place or step.roles.aliases or step.roles.scratch or "_nop" in step.label:
        return False
    if any(
        method.tensor(v).allocation_info is None for v in (*step.roles.reads, *step.roles.writes)
    ):
        return False
    if computed_numbers(method) & named_values(method.plan, args.args or ()):
        return False
    return all(copies_all(method, step, value) for value in step.roles.writes)


def _is_pure(method: MethodSteps, instruction: int) -> bool:
    """Whether a kernel gives the same whenever it sees the same, and changes nothing else."""
    args = method.instructions[instruction]
    roles = method.steps[method.first_step[instruction]].roles
    if not isinstance(args, KernelCall) or not method.flow.is_straight or not roles.understood:
        return False
    if roles.in_place or roles.aliases or roles.scratch or set(roles.reads) & set(roles.writes):
        return False
    name = (method.plan.operators or ())[args.op_index].name or ""
    if any(word in name for word in (*_RANDOM, "empty")) or not name.startswith(_KNOWN):
        return False
    return not computed_numbers(method) & named_values(method.plan, args.args or ())


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
        known = (operator.name or "").startswith(_KNOWN)
        if not known or roles.in_place or roles.aliases or not roles.understood:
            yield "calls and jumps"
        if any(word in (operator.name or "") for word in _RANDOM):
            yield "random numbers"
    if isinstance(args, KernelCall | DelegateCall):
        for number in sorted(computed & named_values(method.plan, args.args or ())):
            yield f"value {number}"
