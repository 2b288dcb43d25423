"""How large a region of an arena must be for a method's temp memory, and when it is in use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onearena.cortex_m.cores import Isa, isa_of
from onearena.delegates.ethosu.calls import EthosUDelegate
from onearena.delegates.ethosu.payload import ETHOSU_BACKEND
from onearena.pte.schema import DelegateCall, ExecutionPlan, KernelCall, Tensor
from onearena.temp_memory.region import ALIGNMENT, TempRegion
from onearena.temp_memory.takes import TempTake, temp_takes
from onearena.timeline.roles import flatten


@dataclass(frozen=True)
class Demand:
    """What a method wants to be planned.

    Attributes:
        region: None when nothing takes temp memory, or it cannot be planned.
        problem: why it cannot.
    """

    region: TempRegion | None
    problem: str | None = None

    @property
    def size_bytes(self) -> int:
        """Of the region; 0 without one."""
        return self.region.size_bytes if self.region else 0


def target_isa(target: str | None) -> Isa | None:
    """What the kernels use on a target; None for none, and for what is no Cortex-M."""
    return None if target is None else isa_of(target)


def find_demand(
    plan: ExecutionPlan, delegates: Mapping[int, EthosUDelegate], isa: Isa | None
) -> Demand:
    """What a method wants on a machine. Only Cortex-M and Ethos-U programs want anything: other
    applications get their temp memory from the heap.

    Args:
        delegates: the method's Ethos-U delegates, by number.
        isa: what the kernels of the Cortex-M use; None when it is not known which, or none.

    Raises:
        AnalysisError: an instruction names something that is not there.
    """
    takes = temp_takes(plan, delegates, isa)
    if isa is None and not any(take.name == ETHOSU_BACKEND for take in takes):
        return Demand(None)
    unknown = next((take for take in takes if take.size_bytes is None), None)
    if unknown is not None:
        where = f"{unknown.name} (instruction {unknown.instruction})"
        return Demand(None, f"temp memory is not planned: {where}: {unknown.note}")
    users = [take for take in takes if take.size_bytes]
    if not users:
        return Demand(None)
    size = max(take.size_bytes or 0 for take in users)
    instructions = tuple(sorted({take.instruction for take in users}))
    arena = _arena(plan, users)
    return Demand(TempRegion(arena, size + -size % ALIGNMENT, instructions))


def _arena(plan: ExecutionPlan, users: Iterable[TempTake]) -> int:
    """The arena of most operands of what takes temp memory; else the first one of the CPU."""
    devices = {d.buffer_idx for d in plan.non_const_buffer_device or () if d.device_type != 0}
    votes: dict[int, int] = {}
    for take in users:
        for arena in _operand_arenas(plan, take.instruction):
            if arena not in devices:
                votes[arena] = votes.get(arena, 0) + 1
    if votes:
        return max(sorted(votes), key=lambda arena: votes[arena])
    return next(arena for arena in range(1, len(devices) + 2) if arena not in devices)


def _operand_arenas(plan: ExecutionPlan, instruction: int) -> Iterable[int]:
    values = plan.values or ()
    call = ((plan.chains or ())[0].instructions or ())[instruction].instr_args
    assert isinstance(call, KernelCall | DelegateCall)
    for index in flatten(plan, call.args or ()):
        tensor = values[index].val
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            yield tensor.allocation_info.memory_id
