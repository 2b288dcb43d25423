"""What is said of a method: as it stands, and as it was planned."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onearena.arena_base import with_counted_lead
from onearena.candidates import Candidate, pinned_notes
from onearena.latency_guard import Choice
from onearena.payloads import delegate_calls
from onearena.program import AnalysedMethod, arena_bytes, inner_values, unknown_backends
from onearena.proving import proven_bounds
from onearena.pte.schema import ExecutionPlan
from onearena.record import Record, TempRecord
from onearena.report.peak import find_peak
from onearena.results import Footprint, MethodReport
from onearena.schedule import order_bound_bytes
from onearena.sizes.layout import LP64
from onearena.sizes.method_allocator import method_allocation, resolve_temp_bytes
from onearena.temp_planning import footprint_of, planned_region
from onearena.timeline.build import Timeline


def inspect_method(
    method: AnalysedMethod, record: Record | None, target: str | None = None
) -> MethodReport:
    """A method as it stands in a file with this record.

    Args:
        target: what it will run on, when that is known.
    """
    report = _as_it_stands(method, record, target)
    return _with_order_bound(report, order_bound_bytes(method.timeline), method.leads)


def _with_order_bound(
    report: MethodReport, bound: int | None, leads: Mapping[int, int]
) -> MethodReport:
    """Of two that contradict each other, the one of this order is right: the model of the scheduler
    is too coarse for this method, for one with kernels that run once more, say."""
    counted = None if bound is None else with_counted_lead(bound, leads)
    if counted is None or counted > report.lower_bound_bytes:
        return report
    return replace(report, order_bound_bytes=counted)


def _as_it_stands(
    method: AnalysedMethod, record: Record | None, target: str | None
) -> MethodReport:
    timeline = method.timeline
    arena = arena_bytes(method.plan)
    sizes = dict(enumerate(method.plan.non_const_buffer_sizes or ()))
    bound = sum(proven_bounds(timeline.problem, sizes, method.leads).values())
    entry = record.methods.get(method.plan.name or "") if record else None
    inner = inner_values(method.steps, entry.opened if entry else None)
    calls = delegate_calls(method.plan)
    planned_by = (f"optimized by onearena {record.tool_version}",) if record else ()
    return MethodReport(
        name=method.plan.name or "",
        before=footprint_of(method, target),
        after=None,
        lower_bound_bytes=bound,
        gap=(arena - bound) / bound if bound else 0.0,
        delegate_calls=len(calls),
        opened_calls=sum(not inner.isdisjoint(call.args or ()) for _, call in calls),
        pinned_values=len(timeline.storage.pinned),
        state_bytes=_state_bytes(timeline),
        optimal=arena <= bound,
        planner="as in the file",
        peak=find_peak(timeline, temp=method.temp, exported=method.exported),
        notes=(*planned_by, *pinned_notes(timeline)),
        unknown_backends=unknown_backends(method),
        memory_bytes=_memory_bytes(method.plan),
        region_names=region_names(record),
    )


def region_names(record: Record | None) -> dict[int, str]:
    """By memory_id, what the regions of a recorded memory map are called."""
    if record is None or record.memory_map is None:
        return {}
    return {region.memory_id: region.name for region in record.memory_map.regions}


def _memory_bytes(plan: ExecutionPlan) -> dict[int, int]:
    """By memory_id, if there are several memories."""
    used = {k: size for k, size in enumerate(plan.non_const_buffer_sizes or ()) if k and size}
    return used if len(used) > 1 else {}


def _state_bytes(timeline: Timeline) -> int:
    memories = timeline.storage.memories
    spans = {
        (memories[v].arena, memories[v].offset, memories[v].size_bytes)
        for v in timeline.storage.state
    }
    return sum(size for _, _, size in spans)


def planned_report(
    method: AnalysedMethod,
    choice: Choice,
    record: Record | None,
    target: str | None,
) -> MethodReport:
    """A method with its plan; without one it stays as it was."""
    best, notes = choice.candidate, choice.notes
    if best is None:
        before = inspect_method(method, record, target)
        return replace(before, after=before.before, notes=notes)
    before = _as_it_stands(method, record, target)
    timeline = best.draft.timeline
    solution = best.solution
    offsets = {value: solution.offsets[b] for b, value in enumerate(timeline.values)}
    region = planned_region(method, timeline, solution, target)
    arenas = None
    if best.use is not None:
        arenas = {value: solution.arenas[b] for b, value in enumerate(timeline.values)}
    order_bound = best.draft.order_bound_bytes
    if order_bound is None:
        order_bound = order_bound_bytes(timeline)
    exported = method.exported.moved(best.draft.order) if method.exported else None
    report = replace(
        before,
        after=best.footprint,
        lower_bound_bytes=best.solution.total_bound_bytes,
        gap=best.solution.gap,
        opened_calls=max(best.draft.opened.opened_calls, before.opened_calls),
        pinned_values=len(timeline.storage.pinned),
        optimal=best.solution.optimal,
        planner=best.solution.method,
        peak=find_peak(timeline, offsets, arenas, region, exported),
        notes=(*notes, *_region_notes(region), *_growth_notes(method, best, before.before)),
        memory_map=best.use,
        memory_bytes=_memory_bytes(best.plan),
        latency=choice.latency,
    )
    return _with_order_bound(report, order_bound, solution.lead_bytes)


def _region_notes(region: TempRecord | None) -> tuple[str, ...]:
    """The stock runtime does not know of the region: its application must."""
    if region is None:
        return ()
    return (
        f"the temp allocator has its {region.size_bytes:,} B inside memory_id {region.arena}, at "
        f"offset {region.offset:,}: the application must build it there (onearena sizes --header)",
    )


def _growth_notes(method: AnalysedMethod, best: Candidate, before: Footprint) -> tuple[str, ...]:
    """The runtime keeps a struct per value: on small programs that may cost more than it saves."""
    grown = _allocator_bytes(best.plan) - _allocator_bytes(method.plan)
    saved = before.total_bytes - best.footprint.total_bytes
    if grown <= saved or best.use is not None:
        return ()
    return (
        f"the method allocator grows by {grown:,} B on a 64-bit machine, more than the {saved:,} B "
        "that are saved",
    )


def _allocator_bytes(plan: ExecutionPlan) -> int:
    """What backends that are not known take does not change."""
    return method_allocation(plan, LP64, max(resolve_temp_bytes(plan, LP64), 1)).size_bytes
