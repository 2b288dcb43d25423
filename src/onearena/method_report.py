"""What is said of a method: as it stands, and as it was planned."""

from __future__ import annotations

from dataclasses import replace

from onearena.candidates import Candidate, pinned_notes
from onearena.opening import delegate_calls
from onearena.program import AnalysedMethod, arena_bytes, inner_values, unknown_backends
from onearena.proving import proven_bounds
from onearena.pte.schema import ExecutionPlan
from onearena.record import Record
from onearena.report.peak import find_peak
from onearena.results import Footprint, MethodReport
from onearena.sizes.layout import LP64
from onearena.sizes.method_allocator import method_allocation, resolve_temp_bytes
from onearena.timeline.build import Timeline


def inspect_method(method: AnalysedMethod, record: Record | None) -> MethodReport:
    """A method as it stands in a file with this record."""
    timeline = method.timeline
    arena = arena_bytes(method.plan)
    sizes = dict(enumerate(method.plan.non_const_buffer_sizes or ()))
    bound = sum(proven_bounds(timeline.problem, sizes).values())
    entry = record.methods.get(method.plan.name or "") if record else None
    inner = inner_values(method.steps, entry.opened if entry else None)
    calls = delegate_calls(method.plan)
    planned_by = (f"optimized by onearena {record.tool_version}",) if record else ()
    return MethodReport(
        name=method.plan.name or "",
        before=Footprint(arena, method.workspace_bytes),
        after=None,
        lower_bound_bytes=bound,
        gap=(arena - bound) / bound if bound else 0.0,
        delegate_calls=len(calls),
        opened_calls=sum(not inner.isdisjoint(call.args or ()) for _, call in calls),
        pinned_values=len(timeline.storage.pinned),
        state_bytes=_state_bytes(timeline),
        optimal=arena <= bound,
        planner="as in the file",
        peak=find_peak(timeline),
        notes=(*planned_by, *pinned_notes(timeline)),
        unknown_backends=unknown_backends(method),
    )


def _state_bytes(timeline: Timeline) -> int:
    memories = timeline.storage.memories
    spans = {
        (memories[v].arena, memories[v].offset, memories[v].size_bytes)
        for v in timeline.storage.state
    }
    return sum(size for _, _, size in spans)


def planned_report(
    method: AnalysedMethod,
    best: Candidate | None,
    notes: tuple[str, ...],
    record: Record | None,
) -> MethodReport:
    """A method with its plan; without one it stays as it was."""
    before = inspect_method(method, record)
    if best is None:
        return replace(before, after=before.before, notes=notes)
    timeline = best.draft.timeline
    offsets = {value: best.solution.offsets[b] for b, value in enumerate(timeline.values)}
    return replace(
        before,
        after=best.footprint,
        lower_bound_bytes=best.solution.total_bound_bytes,
        gap=best.solution.gap,
        opened_calls=max(best.draft.opened.opened_calls, before.opened_calls),
        pinned_values=len(timeline.storage.pinned),
        optimal=best.solution.optimal,
        planner=best.solution.method,
        peak=find_peak(timeline, offsets),
        notes=(*notes, *_growth_notes(method, best)),
    )


def _growth_notes(method: AnalysedMethod, best: Candidate) -> tuple[str, ...]:
    """The runtime keeps a struct per value: on small programs that may cost more than it saves."""
    grown = _allocator_bytes(best.plan) - _allocator_bytes(method.plan)
    saved = arena_bytes(method.plan) + method.workspace_bytes - best.footprint.total_bytes
    if grown <= saved:
        return ()
    return (
        f"the method allocator grows by {grown:,} B on a 64-bit machine, more than the {saved:,} B "
        "that are saved",
    )


def _allocator_bytes(plan: ExecutionPlan) -> int:
    """What backends that are not known take does not change."""
    return method_allocation(plan, LP64, max(resolve_temp_bytes(plan, LP64), 1)).size_bytes
