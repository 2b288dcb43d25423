"""What is said of a method: as it stands, and as it was planned."""

from __future__ import annotations

from dataclasses import replace

from onearena.candidates import Candidate, pinned_notes
from onearena.opening import delegate_calls
from onearena.planners import lower_bound_bytes
from onearena.program import AnalysedMethod, arena_bytes
from onearena.report.peak import find_peak
from onearena.results import Footprint, MethodReport
from onearena.timeline.build import Timeline


def inspect_method(method: AnalysedMethod, notes: tuple[str, ...]) -> MethodReport:
    """A method as it stands in a file."""
    timeline = method.timeline
    bound = sum(lower_bound_bytes(timeline.problem, a) for a in timeline.problem.arenas)
    arena = arena_bytes(method.plan)
    calls = delegate_calls(method.plan)
    opened = [position for position, _ in calls if _has_opened_values(method, position)]
    return MethodReport(
        name=method.plan.name or "",
        before=Footprint(arena, method.workspace_bytes),
        after=None,
        lower_bound_bytes=bound,
        gap=(arena - bound) / bound if bound else 0.0,
        delegate_calls=len(calls),
        opened_calls=len(opened),
        pinned_values=len(timeline.storage.pinned),
        state_bytes=_state_bytes(timeline),
        optimal=arena <= bound,
        planner="as in the file",
        peak=find_peak(timeline),
        notes=(*notes, *pinned_notes(timeline)),
    )


def _has_opened_values(method: AnalysedMethod, instruction: int) -> bool:
    """True when some output of the call is read by the call itself."""
    steps = [s for s in method.steps.steps if s.instruction == instruction and s.call]
    written = {v for step in steps for v in step.roles.writes}
    return any(v in written for step in steps for v in step.roles.reads)


def _state_bytes(timeline: Timeline) -> int:
    memories = timeline.storage.memories
    spans = {
        (memories[v].arena, memories[v].offset, memories[v].size_bytes)
        for v in timeline.storage.state
    }
    return sum(size for _, _, size in spans)


def planned_report(
    method: AnalysedMethod, best: Candidate | None, notes: tuple[str, ...]
) -> MethodReport:
    """A method with its plan; without one it stays as it was."""
    before = inspect_method(method, ())
    if best is None:
        return replace(before, after=before.before, notes=notes)
    return replace(
        before,
        after=best.footprint,
        lower_bound_bytes=best.solution.total_bound_bytes,
        gap=best.solution.gap,
        opened_calls=max(best.draft.opened.opened_calls, before.opened_calls),
        pinned_values=len(best.draft.timeline.storage.pinned),
        optimal=best.solution.optimal,
        planner=best.solution.method,
        peak=find_peak(best.draft.timeline),
        notes=notes,
    )
