"""The control flow of a method: where instructions lead, and what can reach what."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from onearena.errors import AnalysisError
from onearena.pte.schema import (
    Bool,
    DelegateCall,
    EValue,
    ExecutionPlan,
    FreeCall,
    InstructionArguments,
    JumpFalseCall,
    KernelCall,
    MoveCall,
)

_CALLS = (KernelCall, DelegateCall)


@dataclass(frozen=True)
class ControlFlow:
    """Instructions 0..n-1 plus the exit n; `successors[i]` are the next positions."""

    successors: tuple[tuple[int, ...], ...]

    @property
    def count(self) -> int:
        """Number of instructions."""
        return len(self.successors)

    @cached_property
    def is_straight(self) -> bool:
        """True when every instruction leads to the next one."""
        return all(after == (i + 1,) for i, after in enumerate(self.successors))

    @cached_property
    def predecessors(self) -> tuple[tuple[int, ...], ...]:
        """For 0..n: where control may come from."""
        found: list[list[int]] = [[] for _ in range(self.count + 1)]
        for position, after in enumerate(self.successors):
            for target in after:
                found[target].append(position)
        return tuple(tuple(p) for p in found)

    @cached_property
    def _forward(self) -> tuple[int, ...]:
        """Per position a bit set of the positions it can reach, itself included."""
        return _closure((*self.successors, ()))

    @cached_property
    def _backward(self) -> tuple[int, ...]:
        return _closure(self.predecessors)

    def live_positions(self, touched: Iterable[int]) -> tuple[int, ...]:
        """Positions that lie on some path from one touched position to another."""
        after = before = 0
        for position in touched:
            after |= self._forward[position]
            before |= self._backward[position]
        both = after & before
        return tuple(i for i in range(self.count + 1) if both >> i & 1)


def _closure(edges: tuple[tuple[int, ...], ...]) -> tuple[int, ...]:
    reach = [1 << i for i in range(len(edges))]
    changed = True
    while changed:
        changed = False
        for i in reversed(range(len(edges))):
            merged = reach[i]
            for target in edges[i]:
                merged |= reach[target]
            if merged != reach[i]:
                reach[i] = merged
                changed = True
    return tuple(reach)


def instructions_of(plan: ExecutionPlan, what: str) -> tuple[InstructionArguments, ...]:
    """The method's instructions, with every index checked.

    Raises:
        AnalysisError: several chains, or an index that names nothing.
    """
    chains = plan.chains or ()
    if len(chains) > 1:
        raise AnalysisError(f"{what}: has {len(chains)} chains; programs have one")
    result: list[InstructionArguments] = []
    for chain in chains:
        for position, instruction in enumerate(chain.instructions or ()):
            if instruction.instr_args is None:
                raise AnalysisError(f"{what}: instruction {position} is empty")
            _check_indices(plan, instruction.instr_args, f"{what}: instruction {position}")
            result.append(instruction.instr_args)
    return tuple(result)


def _check_indices(plan: ExecutionPlan, args: InstructionArguments, what: str) -> None:
    named: tuple[int, ...]
    if isinstance(args, KernelCall):
        _check(args.op_index, len(plan.operators or ()), f"{what} calls operator")
        named = args.args or ()
    elif isinstance(args, DelegateCall):
        _check(args.delegate_index, len(plan.delegates or ()), f"{what} calls delegate")
        named = args.args or ()
    elif isinstance(args, MoveCall):
        named = (args.move_from, args.move_to)
    elif isinstance(args, JumpFalseCall):
        named = (args.cond_value_index,)
    else:
        assert isinstance(args, FreeCall)
        named = (args.value_index,)
    count = len(plan.values or ())
    if named and not 0 <= min(named) <= max(named) < count:
        for index in named:
            _check(index, count, f"{what} names value")


def _check(index: int, count: int, what: str) -> None:
    if not 0 <= index < count:
        raise AnalysisError(f"{what} {index}, there are {count}")


def control_flow(
    plan: ExecutionPlan, instructions: tuple[InstructionArguments, ...], what: str
) -> ControlFlow:
    """The control flow of a method.

    A jump on a constant False that no call names is unconditional: the exporter ends the
    first branch of a `cond` with it (`_emit_cond`).

    Raises:
        AnalysisError: a jump leads outside the method.
    """
    values = plan.values or ()
    written = {args.move_to for args in instructions if isinstance(args, MoveCall)}
    for args in instructions:
        if isinstance(args, _CALLS):
            written.update(args.args or ())
    successors: list[tuple[int, ...]] = []
    for position, args in enumerate(instructions):
        if not isinstance(args, JumpFalseCall):
            successors.append((position + 1,))
            continue
        target = args.destination_instruction
        if not 0 <= target <= len(instructions):
            raise AnalysisError(
                f"{what}: instruction {position} jumps to {target}, the method has "
                f"{len(instructions)} instructions"
            )
        always = args.cond_value_index not in written and _is_false(
            values[args.cond_value_index], args.cond_value_index, plan
        )
        successors.append((target,) if always else tuple(dict.fromkeys((position + 1, target))))
    return ControlFlow(tuple(successors))


def _is_false(value: EValue, index: int, plan: ExecutionPlan) -> bool:
    is_argument = index in (plan.inputs or ())
    return not is_argument and isinstance(value.val, Bool) and not value.val.bool_val
