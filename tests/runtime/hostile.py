"""Changes programs so that the runtime crashes, loops or refuses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from onearena.pte import open_pte, write_pte
from onearena.pte.schema import (
    Bool,
    EValue,
    ExecutionPlan,
    Instruction,
    JumpFalseCall,
    KernelCall,
    Tensor,
)

Change = Callable[[ExecutionPlan], ExecutionPlan]


def rewritten(source: Path, target: Path, change: Change) -> Path:
    """Writes `source` with its first method changed to `target`."""
    with open_pte(source) as file:
        first, *rest = file.program.execution_plan or ()
        program = replace(file.program, execution_plan=(change(first), *rest))
        write_pte(file.with_program(program, file.segments), target)
    return target


def crashing(plan: ExecutionPlan) -> ExecutionPlan:
    """A kernel that gets a number where it needs a tensor: the runtime aborts."""
    instructions = list((plan.chains or ())[0].instructions or ())
    for index, instruction in enumerate(instructions):
        call = instruction.instr_args
        if isinstance(call, KernelCall) and (plan.operators or ())[0].name == "aten::embedding":
            args = call.args or ()
            broken = replace(call, args=(args[0], args[2], *args[2:]))
            instructions[index] = Instruction(broken)
            break
    return _with_instructions(plan, instructions)


def endless(plan: ExecutionPlan) -> ExecutionPlan:
    """A last instruction that jumps to the first.

    Newer runtimes stop after ten million instructions; with kernels among them, that is hours.
    """
    values = (*(plan.values or ()), EValue(Bool(bool_val=False)))
    instructions = list((plan.chains or ())[0].instructions or ())
    instructions.append(Instruction(JumpFalseCall(len(values) - 1, 0)))
    return _with_instructions(replace(plan, values=values), instructions)


def short_arena(plan: ExecutionPlan) -> ExecutionPlan:
    """Arenas of a few bytes."""
    return replace(plan, non_const_buffer_sizes=(0, 16))


def out_of_range(plan: ExecutionPlan) -> ExecutionPlan:
    """An input that does not exist."""
    return replace(plan, inputs=(999_999,))


def other_input_size(plan: ExecutionPlan) -> ExecutionPlan:
    """The first input with another recorded size."""
    values = list(plan.values or ())
    index = (plan.inputs or ())[0]
    tensor = values[index].val
    assert isinstance(tensor, Tensor)
    sizes = (*(tensor.sizes or ())[:-1], 1)
    values[index] = EValue(replace(tensor, sizes=sizes))
    return replace(plan, values=tuple(values))


def _with_instructions(plan: ExecutionPlan, instructions: list[Instruction]) -> ExecutionPlan:
    chain = (plan.chains or ())[0]
    return replace(plan, chains=(replace(chain, instructions=tuple(instructions)),))
