"""How much scratch a kernel really needs, whatever the file says."""

from __future__ import annotations

from typing import Protocol

from onearena.cortex_m.cores import isa_of
from onearena.cortex_m.needs import memory_needs
from onearena.errors import UsageError
from onearena.timeline.steps import MethodSteps


class ScratchNeed(Protocol):
    """Tells what a kernel writes."""

    def __call__(self, instruction: int, argument: str) -> int | None:
        """The bytes that the kernel of an instruction needs at the scratch argument with this
        name (`scratch`, `output_scratch`); None where that is not known."""
        ...


def unknown_need(instruction: int, argument: str) -> int | None:
    """The need where nothing is known: what the file declares counts."""
    return None


def need_on(target: str, method: MethodSteps) -> ScratchNeed:
    """What the kernels of CMSIS-NN need on a target ("cortex-m55").

    Raises:
        UsageError: the target is no Cortex-M.
        AnalysisError: the method contradicts itself.
    """
    isa = isa_of(target)
    if isa is None:
        raise UsageError(f"target {target!r} is no Cortex-M, such as cortex-m4 or cortex-m55")
    needs = {
        (need.instruction, need.argument): need.needed_bytes
        for need in memory_needs(method.plan, isa)
    }

    def need(instruction: int, argument: str) -> int | None:
        return needs.get((instruction, argument))

    return need
