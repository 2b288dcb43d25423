"""Checks the memories of a written method against a map, without knowing how it was planned."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.memory_map.regions import MemoryMap
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.verification.violation import Violation


def verify_regions(plan: ExecutionPlan, memory_map: MemoryMap) -> tuple[Violation, ...]:
    """All violations of a map by a method:

    * a memory that is larger than its region, or that the map does not have;
    * a planned tensor in a memory that the map does not have.
    """
    return (*_sizes(plan, memory_map), *_tensors(plan, memory_map))


def _sizes(plan: ExecutionPlan, memory_map: MemoryMap) -> Iterable[Violation]:
    for memory_id, size in enumerate(plan.non_const_buffer_sizes or ()):
        if memory_id not in memory_map.memory_ids:
            if size:
                found = f"memory_id {memory_id} has {size:,} B and is not in the memory map"
                yield Violation("bounds", plan.name or "", found)
            continue
        region = memory_map.region(memory_id)
        if size > region.capacity_bytes:
            found = f"{region} is asked for {size:,} B"
            yield Violation("bounds", plan.name or "", found)


def _tensors(plan: ExecutionPlan, memory_map: MemoryMap) -> Iterable[Violation]:
    for index, entry in enumerate(plan.values or ()):
        tensor = entry.val
        if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
            continue
        memory_id = tensor.allocation_info.memory_id
        if memory_id not in memory_map.memory_ids:
            found = f"value {index} lies in memory_id {memory_id}, which is not in the memory map"
            yield Violation("bounds", plan.name or "", found)
