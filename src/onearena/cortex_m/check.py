"""Refuses a program that gives its kernels less memory than they need on a target."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.cortex_m.calls import cortex_calls
from onearena.cortex_m.cores import Isa, isa_of
from onearena.cortex_m.needs import MemoryNeed, memory_needs
from onearena.errors import AnalysisError
from onearena.program import method_label
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan


class TargetMismatchError(AnalysisError):
    """A program was exported for another core: on this one its kernels would fail or go wrong."""


def check_target(file: PteFile, target: str) -> tuple[MemoryNeed, ...]:
    """Checks what the cortex_m operators of a program are given against what they need.

    Args:
        target: what it will run on, "cortex-m0" to "cortex-m85". For any other nothing is
            checked: only a Cortex-M runs these kernels.

    Returns:
        The needs of all methods that are not known, each with the reason.

    Raises:
        TargetMismatchError: an operator needs more than the program gives it, or takes its
            weights in another form; names file, method, instruction, operator and bytes.
        AnalysisError: a method contradicts itself.
    """
    isa = isa_of(target)
    if isa is None:
        return ()
    unknown: list[MemoryNeed] = []
    for plan in file.program.execution_plan or ():
        label = method_label(file, plan)
        try:
            needs = memory_needs(plan, isa)
            problem = next(iter((*_missing(needs, target), *_wrong_sums(plan, isa, target))), None)
        except AnalysisError as error:
            raise AnalysisError(f"{label}: {error}") from None
        if problem is not None:
            raise TargetMismatchError(f"{label}: {problem}")
        unknown.extend(need for need in needs if need.needed_bytes is None)
    return tuple(unknown)


def _missing(needs: Iterable[MemoryNeed], target: str) -> Iterable[str]:
    for need in needs:
        if need.missing_bytes:
            yield (
                f"instruction {need.instruction}: {need.operator}: {need.argument} has "
                f"{need.planned_bytes:,} B, {target} needs {need.needed_bytes:,} B "
                f"({need.missing_bytes:,} B missing): export the program for this target"
            )


def _wrong_sums(plan: ExecutionPlan, isa: Isa, target: str) -> Iterable[str]:
    """Linear layers for MVE come with their bias inside the sums of their weights, which no other
    kernel reads (`backends/cortex_m/passes/aten_to_cortex_m_pass.py`)."""
    if isa is Isa.MVE:
        return
    for call in cortex_calls(plan):
        if call.schema is None or "kernel_sum" not in call.schema.arguments:
            continue
        if call.has("kernel_sum") and not call.has("bias"):
            yield (
                f"instruction {call.instruction}: {call.operator}: its bias is inside its "
                f"kernel_sum, which the kernel for {target} ignores: export the program for this "
                "target"
            )
