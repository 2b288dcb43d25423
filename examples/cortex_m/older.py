"""Programs as ExecuTorch 1.1 to 1.3 wrote them, made from newer ones.

Their kernels get no scratch: they ask the temp allocator while they run. Everything else is the
same, so the two can be compared without an old installation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from onearena.cortex_m.calls import cortex_calls
from onearena.pte.container import PteFile
from onearena.pte.schema import EValue, ExecutionPlan, IntList, KernelCall


def older(file: PteFile) -> PteFile:
    """The same program without its scratch. The planned memory keeps its size and offsets."""
    plans = tuple(_without_scratch(plan) for plan in file.program.execution_plan or ())
    return file.with_program(replace(file.program, execution_plan=plans), file.segments)


def _without_scratch(plan: ExecutionPlan) -> ExecutionPlan:
    scratch = {
        call.args[k]
        for call in cortex_calls(plan)
        if call.schema is not None
        for k in call.schema.scratch
    }
    kept = [index for index in range(len(plan.values or ())) if index not in scratch]
    number = {index: position for position, index in enumerate(kept)}

    def renumbered(entry: EValue) -> EValue:
        if not isinstance(entry.val, IntList):
            return entry
        return EValue(IntList(tuple(number[item] for item in entry.val.items or ())))

    def indices(values: Sequence[int] | None) -> tuple[int, ...]:
        return tuple(number[index] for index in values or () if index in number)

    chain = (plan.chains or ())[0]
    instructions = []
    for instruction in chain.instructions or ():
        call = instruction.instr_args
        assert isinstance(call, KernelCall)
        instructions.append(replace(instruction, instr_args=replace(call, args=indices(call.args))))
    inputs, outputs = indices(plan.inputs), indices(plan.outputs)
    new = replace(chain, instructions=tuple(instructions), inputs=inputs, outputs=outputs)
    return replace(
        plan,
        values=tuple(renumbered((plan.values or ())[index]) for index in kept),
        chains=(new,),
        inputs=inputs,
        outputs=outputs,
    )
