"""Where an arena begins in memory, and what that means for offsets.

Large values lie at multiples of 64 bytes, for speed: a cache line, and the widest vector load. What
counts for that is the address, and an arena itself begins where an allocator put it. glibc puts
large blocks at a page's beginning and 16 bytes, behind its own header (`struct malloc_chunk`,
malloc/malloc.c); ExecuTorch asks it for each arena as such a block. So a plan keeps the arena's
first 48 bytes free, and large values begin at cache lines. XNNPACK aligns its own workspace itself:
without that, kernels would read and write at worse addresses than in the original program.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onearena.options import ARENA_BASES, Options
from onearena.problem import Plan
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.record import MethodRecord
from onearena.timeline.build import LARGE_ALIGNMENT, Timeline, large_alignment

MALLOC_BASE = 16
"""What the address of a block of its own is, modulo 64, with glibc."""
MALLOC_BLOCK_BYTES = 128 << 10
"""Smaller blocks lie anywhere among others (`M_MMAP_THRESHOLD`)."""


def with_lead(solution: Plan, timeline: Timeline, options: Options) -> Plan:
    """A plan with so much kept free in front that what it aligns is aligned in memory.

    What is kept free counts in the heights, and in the lower bounds. Nothing changes on
    microcontrollers, where the application places arenas, in arenas of which something has its
    offset for good, and where a temp region has been planned in.
    """
    leads = leads_of(solution, timeline, options)
    if not leads:
        return solution
    buffers = timeline.problem.buffers
    arenas = solution.arenas or tuple(buffer.arena for buffer in buffers)
    offsets = (
        offset + leads.get(arena, 0) for offset, arena in zip(solution.offsets, arenas, strict=True)
    )
    heights, bounds = solution.height_bytes, solution.lower_bound_bytes
    least = 0 if options.arena_base is not None else MALLOC_BLOCK_BYTES
    counted = {k: lead for k, lead in leads.items() if bounds.get(k, 0) >= least}
    joint = solution.joint_bound_bytes
    return replace(
        solution,
        offsets=tuple(offsets),
        height_bytes={arena: size + leads.get(arena, 0) for arena, size in heights.items()},
        lower_bound_bytes={arena: size + counted.get(arena, 0) for arena, size in bounds.items()},
        joint_bound_bytes=joint + sum(counted.values()) if joint else 0,
        lead_bytes=leads,
    )


def with_counted_lead(bound_bytes: int, leads: Mapping[int, int]) -> int:
    """A bound of one arena, or of all of a method together, with what is kept free in front.

    A plan that is smaller than `MALLOC_BLOCK_BYTES` would not have it; nor does this know which of
    several arenas would be.
    """
    counts = bound_bytes >= MALLOC_BLOCK_BYTES and len(leads) == 1
    return bound_bytes + sum(leads.values()) if counts else bound_bytes


def recorded_leads(plan: ExecutionPlan, entry: MethodRecord | None) -> dict[int, int]:
    """By arena of a method, what the record says is free in front, if nothing lies there."""
    if entry is None or not entry.leads:
        return {}
    first: dict[int, int] = {}
    for value in plan.values or ():
        tensor = value.val
        if isinstance(tensor, Tensor) and tensor.allocation_info and tensor_bytes(tensor) != 0:
            info = tensor.allocation_info
            first[info.memory_id] = min(info.offset, first.get(info.memory_id, info.offset))
    return {
        arena: lead
        for arena, lead in entry.leads
        if lead in ARENA_BASES and lead <= first.get(arena, 0)
    }


def leads_of(solution: Plan, timeline: Timeline, options: Options) -> dict[int, int]:
    """By arena, the bytes to keep free in front, where there are to be any."""
    if large_alignment(timeline.method) < LARGE_ALIGNMENT or options.target is not None:
        return {}
    if options.memory_map is not None or timeline.temp_buffer is not None:
        return {}
    fixed = {buffer.arena for buffer in timeline.problem.buffers if buffer.offset is not None}
    return {
        arena: lead
        for arena, height in solution.height_bytes.items()
        if height and arena not in fixed and (lead := -_base(height, options) % LARGE_ALIGNMENT)
    }


def _base(height_bytes: int, options: Options) -> int:
    if options.arena_base is not None:
        return options.arena_base
    return MALLOC_BASE if height_bytes >= MALLOC_BLOCK_BYTES else 0
