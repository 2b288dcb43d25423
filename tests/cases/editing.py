"""Changes programs that the exporter made into ones that it does not make."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from onearena.pte import open_pte, write_pte
from onearena.pte.schema import (
    AllocationDetails,
    EValue,
    ExecutionPlan,
    Instruction,
    InstructionArguments,
    Tensor,
)

Edit = Callable[[ExecutionPlan], ExecutionPlan]


def edited(source: Path, target: Path, edit: Edit) -> Path:
    """Writes `source` to `target` with every method passed through `edit`."""
    with open_pte(source) as file:
        plans = tuple(edit(plan) for plan in file.program.execution_plan or ())
        program = replace(file.program, execution_plan=plans)
        write_pte(file.with_program(program, file.segments), target)
    return target


def instructions(plan: ExecutionPlan) -> list[InstructionArguments]:
    """The instructions of a method."""
    (chain,) = plan.chains or ()
    return [i.instr_args for i in chain.instructions or () if i.instr_args is not None]


def with_instructions(plan: ExecutionPlan, made: Sequence[InstructionArguments]) -> ExecutionPlan:
    """The method with other instructions, and without stack traces."""
    (chain,) = plan.chains or ()
    listed = tuple(Instruction(arguments) for arguments in made)
    return replace(plan, chains=(replace(chain, instructions=listed, stacktrace=None),))


def renamed_backend(plan: ExecutionPlan, number: int, name: str) -> ExecutionPlan:
    """The method with another name for the backend of one delegate."""
    delegates = list(plan.delegates or ())
    delegates[number] = replace(delegates[number], id=name)
    return replace(plan, delegates=tuple(delegates))


def moved_behind(plan: ExecutionPlan, values: Sequence[int]) -> ExecutionPlan:
    """The method with memory of their own for some tensors, behind everything else."""
    sizes, entries = list(plan.non_const_buffer_sizes or ()), list(plan.values or ())
    for value in values:
        tensor = entries[value].val
        assert isinstance(tensor, Tensor)
        place = AllocationDetails.at(1, sizes[1])
        entries[value] = EValue(replace(tensor, allocation_info=place))
        count = 1
        for size in tensor.sizes or ():
            count *= size
        sizes[1] += (8 * count + 15) // 16 * 16
    return replace(plan, values=tuple(entries), non_const_buffer_sizes=tuple(sizes))
