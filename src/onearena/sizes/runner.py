"""The pools as Arm's runner for bare metal logs them.

`log_mem_status` of `examples/arm/executor_runner/arm_executor_runner.cpp`: the runner takes the
planned memory (aligned to 16 bytes), the loaded method and its inputs from one allocator, in this
order. The memory with `memory_id` 3 comes from a pool of its own (`FAST_MEMORY_REGION_INDEX`).
Its temp allocator has a size chosen when the runner is built; here stands what it must have.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from onearena.cortex_m.calls import cortex_calls
from onearena.cortex_m.schemas import SCHEMAS
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.sizes.layout import Layout
from onearena.sizes.method_allocator import Cursor, method_allocation
from onearena.sizes.results import MethodPools, Pool
from onearena.sizes.targets import Target

FAST_MEMORY_ID = 3
_PLANNED_ALIGNMENT = 16
_OLD_CALLS = frozenset(
    (schema.name, schema.call_arguments)
    for schema in SCHEMAS
    if not schema.scratch and any(s.name == schema.name and s.scratch for s in SCHEMAS)
)
"""Forms without scratch, of operators that have got some: ExecuTorch 1.1 to 1.3."""


class OldCursor(Cursor):
    """How the runner counted up to ExecuTorch 1.3: not what the allocator really uses.

    Where a piece is no multiple of its alignment, the count is first moved to the next multiple,
    by a whole alignment if it is one already (`ArmMemoryAllocator::allocate`,
    `arm_memory_allocator.cpp`); other pieces are added without any alignment.
    """

    def take(self, layout: Layout, count: int = 1) -> None:
        """Takes `count` pieces in a row."""
        size, alignment = layout.size_bytes * count, layout.alignment_bytes
        if size % alignment:
            self.used_bytes += alignment - self.used_bytes % alignment
        self.used_bytes += size


@dataclass(frozen=True)
class RunnerLog:
    """What the runner says of a method; all in bytes.

    Attributes:
        method: its name.
        program: `model_pte_program_size`, the whole file.
        used: `method_allocator_used`.
        planned: `method_allocator_planned`.
        loaded: `method_allocator_loaded`; at least, when the method allocator is not known.
        input: `method_allocator_input`.
        executor: `method_allocator_executor`, what running takes: nothing.
        fast: planned memory in the pool of its own.
        temp: what the temp allocator must have.
        is_temp_planned: whether that is part of `planned`, or of `fast`.
        scratch: of `planned`, the most that the scratch of one instruction takes.
        is_old: counted as ExecuTorch 1.1 to 1.3 do, whose operators the program calls.
        is_exact: whether `loaded` is known.
    """

    method: str
    program: int
    used: int
    planned: int
    loaded: int
    input: int
    executor: int
    fast: int
    temp: Pool
    scratch: int
    is_old: bool
    is_exact: bool
    is_temp_planned: bool = False

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {
            "method": self.method,
            "model_pte_program_size": self.program,
            "method_allocator_used": self.used,
            "method_allocator_planned": self.planned,
            "method_allocator_loaded": self.loaded,
            "method_allocator_input": self.input,
            "method_allocator_executor": self.executor,
            "planned_fast_memory": self.fast,
            "temp_allocator": self.temp.to_json(),
            "scratch_in_planned": self.scratch,
            "counted_as": "1.1 to 1.3" if self.is_old else "1.4 or later",
            "exact": self.is_exact,
        }


def runner_logs(
    file: PteFile, methods: Sequence[MethodPools], target: Target
) -> tuple[RunnerLog, ...]:
    """What the runner would log for each method.

    Args:
        file: the program.
        methods: its pools on `target`.

    Raises:
        AnalysisError: a method contradicts itself.
    """
    plans = file.program.execution_plan or ()
    return tuple(
        _log(file.source.size_bytes, plan, pools, target)
        for plan, pools in zip(plans, methods, strict=True)
    )


def _log(program: int, plan: ExecutionPlan, pools: MethodPools, target: Target) -> RunnerLog:
    is_old = _is_old(plan)
    cursor = OldCursor() if is_old else Cursor()
    fast = 0
    for arena in pools.arenas:
        if arena.memory_id == FAST_MEMORY_ID:
            fast += arena.size_bytes
        elif arena.size_bytes:
            cursor.take(Layout(arena.size_bytes, _PLANNED_ALIGNMENT))
    planned = cursor.used_bytes
    temp = pools.temp.at_least_bytes if pools.temp_region else max(pools.temp.at_least_bytes, 1)
    found = method_allocation(plan, target.abi, temp, cursor=cursor)
    loaded = cursor.used_bytes
    cursor.take(target.abi.evalue, len(plan.inputs or ()))
    return RunnerLog(
        method=pools.name,
        program=program,
        used=cursor.used_bytes,
        planned=planned,
        loaded=loaded - planned,
        input=cursor.used_bytes - loaded,
        executor=0,
        fast=fast,
        temp=pools.temp,
        scratch=max(_scratch_bytes(plan), default=0),
        is_old=is_old,
        is_exact=not found.unknown_backends,
        is_temp_planned=pools.temp_region is not None,
    )


def _is_old(plan: ExecutionPlan) -> bool:
    return any(
        call.schema is not None and (call.schema.name, call.schema.call_arguments) in _OLD_CALLS
        for call in cortex_calls(plan)
    )


def _scratch_bytes(plan: ExecutionPlan) -> Iterable[int]:
    """By call, what all of its scratch takes, as far as it is a tensor of a known size."""
    for call in cortex_calls(plan):
        values = call.schema.scratch if call.schema is not None else ()
        tensors = ((plan.values or ())[call.args[k]].val for k in values)
        yield sum(tensor_bytes(t) or 0 for t in tensors if isinstance(t, Tensor))
