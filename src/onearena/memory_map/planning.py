"""From a timeline to a plan over the regions of a map, and back into the method."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from onearena.errors import UsageError, VerificationError
from onearena.memory_map.assign import ROUNDING, Shelf
from onearena.memory_map.misfit import Misfit, find_enlargements
from onearena.memory_map.regions import MemoryMap
from onearena.memory_map.solve import Solution, solve_regions
from onearena.memory_map.traffic import method_traffic
from onearena.memory_map.use import MapUse, RegionUse
from onearena.problem import Buffer, Memory, Plan, Problem
from onearena.pte.schema import AllocationDetails, EValue, ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.report.peak import find_peak
from onearena.timeline.build import Timeline
from onearena.verification.native import verify_plan


@dataclass(frozen=True)
class MapTask:
    """A timeline that is to be planned into a map.

    Attributes:
        problem: the timeline's, in which what may move may lie in any region.
        shelves: the regions with the room that they have for tensors.
        traffic: bytes accessed in one run, by buffer.
        tail_bytes: kept free behind the last tensor of every region.
    """

    timeline: Timeline
    memory_map: MemoryMap
    problem: Problem
    shelves: tuple[Shelf, ...]
    traffic: Mapping[int, int]
    tail_bytes: int


def has_memory(plan: ExecutionPlan) -> bool:
    """Whether a method has planned memory, or a tensor in it."""
    tensors = (entry.val for entry in plan.values or ())
    return any((plan.non_const_buffer_sizes or ())[1:]) or any(
        isinstance(tensor, Tensor) and tensor.allocation_info is not None for tensor in tensors
    )


def map_task(timeline: Timeline, memory_map: MemoryMap, tail_bytes: int) -> MapTask:
    """Prepares a timeline.

    Raises:
        UsageError: something keeps its place in a memory that the map does not have.
    """
    buffers = tuple(_anywhere(timeline, b, memory_map) for b in timeline.problem.buffers)
    shelves = tuple(
        Shelf(
            region.memory_id,
            max(0, region.capacity_bytes - region.capacity_bytes % ROUNDING - tail_bytes),
            region.cost,
        )
        for region in memory_map.regions
    )
    problem = replace(timeline.problem, buffers=buffers)
    return MapTask(timeline, memory_map, problem, shelves, _by_buffer(timeline), tail_bytes)


def _anywhere(timeline: Timeline, buffer: Buffer, memory_map: MemoryMap) -> Buffer:
    if buffer.offset is None:
        first, *others = memory_map.memory_ids
        return replace(buffer, arena=first, arenas=tuple(others))
    if buffer.arena not in memory_map.memory_ids:
        raise UsageError(
            f"{timeline.method.what}: {buffer.label} must stay in memory_id {buffer.arena}, which "
            f"the memory map does not have{_why(timeline, buffer)}"
        )
    return buffer


def _why(timeline: Timeline, buffer: Buffer) -> str:
    if buffer.id >= len(timeline.values):
        return " (state of another method)"
    value = timeline.values[buffer.id]
    reason = timeline.storage.pinned.get(value, "other methods may know it by its address")
    return f" ({reason})"


def _by_buffer(timeline: Timeline) -> dict[int, int]:
    """What is accessed under a name is accessed in the memory that it may stand for."""
    points_to = timeline.storage.accesses.points_to
    result: dict[int, int] = {}
    for value, amount in method_traffic(timeline.method).items():
        for target in sorted(points_to.get(value, {value})):
            if target in timeline.buffer_of:
                buffer = timeline.buffer_of[target]
                result[buffer] = result.get(buffer, 0) + amount
    temp = timeline.temp_buffer
    if temp is not None:
        # what runs there is not known: every byte is written and read once in each step
        buffer_ = timeline.problem.buffers[temp]
        steps = sum(life.end - life.start for life in buffer_.lifetime)
        result[temp] = 2 * steps * buffer_.size_bytes
    return result


def solve_task(task: MapTask, time_limit_s: float) -> Solution:
    """Plans a task, and verifies the plan.

    Raises:
        InfeasibleError: it is proven that no plan fits.
        PlanTimeoutError: none was found.
        VerificationError: the plan is not valid.
    """
    solution = solve_regions(task.problem, task.traffic, task.shelves, time_limit_s)
    memories = [Memory(shelf.arena, shelf.capacity_bytes) for shelf in task.shelves]
    faults = verify_plan(task.problem, solution.plan, memories)
    if faults:
        what = task.timeline.method.what
        raise VerificationError(f"{what}: the plan is not valid: {faults[0]}")
    return solution


def place_in_regions(plan: ExecutionPlan, task: MapTask, solution: Plan) -> ExecutionPlan:
    """Writes memory_ids, offsets and the sizes of all memories into a method."""
    values = list(plan.values or ())
    for buffer, value in enumerate(task.timeline.values):
        values[value] = _moved(values[value], solution.arenas[buffer], solution.offsets[buffer])
    for index, entry in enumerate(values):
        tensor = entry.val
        planned = isinstance(tensor, Tensor) and tensor.allocation_info is not None
        if planned and isinstance(tensor, Tensor) and tensor_bytes(tensor) == 0:
            values[index] = _moved(entry, task.memory_map.memory_ids[0], 0)
    sizes = [0] * (max(task.memory_map.memory_ids) + 1)
    for memory_id in task.memory_map.memory_ids:
        sizes[memory_id] = _size_bytes(task, solution.height_bytes.get(memory_id, 0))
    return replace(plan, values=tuple(values), non_const_buffer_sizes=tuple(sizes))


def _size_bytes(task: MapTask, height_bytes: int) -> int:
    padded = height_bytes + (task.tail_bytes if height_bytes else 0)
    return padded + -padded % ROUNDING


def _moved(entry: EValue, memory_id: int, offset: int) -> EValue:
    tensor = entry.val
    assert isinstance(tensor, Tensor)
    return EValue(replace(tensor, allocation_info=AllocationDetails.at(memory_id, offset)))


def map_use(task: MapTask, solution: Solution) -> MapUse:
    """What lies where."""
    lies_in = solution.plan.arenas
    regions = []
    for region in task.memory_map.regions:
        inside = [k for k, arena in enumerate(lies_in) if arena == region.memory_id]
        regions.append(
            RegionUse(
                region.name,
                region.memory_id,
                region.capacity_bytes,
                region.cost,
                _size_bytes(task, solution.plan.height_bytes.get(region.memory_id, 0)),
                _size_bytes(task, solution.plan.lower_bound_bytes.get(region.memory_id, 0)),
                sum(k < len(task.timeline.values) for k in inside),
                sum(task.traffic.get(k, 0) for k in inside),
            )
        )
    return MapUse(tuple(regions), solution.cost, solution.cost_bound)


def find_misfit(task: MapTask, time_limit_s: float, is_proven: bool) -> Misfit:
    """What would have to change, and what is alive where most is."""
    changes = find_enlargements(
        task.problem, task.memory_map, task.shelves, time_limit_s, task.tail_bytes
    )
    offsets = _apart(task.timeline)
    peak = find_peak(task.timeline, offsets, dict.fromkeys(offsets, 0))
    return Misfit(changes, peak, is_proven)


def _apart(timeline: Timeline) -> dict[int, int]:
    """By value, a place that it shares with its own names only."""
    offsets: dict[int, int] = {}
    end = 0
    memories = timeline.storage.memories
    grouped = {value for group in timeline.storage.groups for value in group}
    single = ((value,) for value in memories if value not in grouped)
    for group in (*timeline.storage.groups, *single):
        known = [memories[v].start for v in group if memories[v].offset is not None]
        origin = min(known, default=0)
        for value in group:
            memory = memories[value]
            offsets[value] = end + (memory.start - origin if memory.offset is not None else 0)
        end = max(offsets[value] + memories[value].size_bytes for value in group)
    return offsets
