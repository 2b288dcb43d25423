"""The temp memory of analysed methods: planned with the tensors, or beside them."""

from __future__ import annotations

from onearena.problem import Plan
from onearena.program import AnalysedMethod, arena_bytes
from onearena.pte.schema import ExecutionPlan
from onearena.record import TempRecord
from onearena.results import Footprint
from onearena.temp_memory.demand import Demand, find_demand, target_isa
from onearena.temp_memory.region import TempRegion
from onearena.timeline.build import Timeline


def _known_target(method: AnalysedMethod, target: str | None) -> str | None:
    """The target; without one, that which the method was planned for before."""
    return target if target is not None or method.temp is None else method.temp.target


def _demand(method: AnalysedMethod, plan: ExecutionPlan, target: str | None) -> Demand:
    return find_demand(plan, method.ethosu, target_isa(_known_target(method, target)))


def temp_region(
    method: AnalysedMethod, plan: ExecutionPlan, target: str | None
) -> TempRegion | None:
    """The region that is to be planned with the tensors.

    Args:
        plan: the method, or a form of it with the same delegates.
        target: what it will run on, or None.
    """
    return _demand(method, plan, target).region


def temp_notes(method: AnalysedMethod, target: str | None) -> list[str]:
    """Why the temp memory of a method is not planned."""
    problem = _demand(method, method.plan, target).problem
    return [] if problem is None else [problem]


def footprint_of(method: AnalysedMethod, target: str | None) -> Footprint:
    """The memory of a method as it stands. A temp region inside an arena costs nothing more, if
    it is large enough for the target."""
    beside = _demand(method, method.plan, target).size_bytes
    if method.temp is not None and method.temp.size_bytes >= beside:
        beside = 0
    return Footprint(arena_bytes(method.plan), method.workspace_bytes, temp_bytes=beside)


def planned_region(
    method: AnalysedMethod, timeline: Timeline, solution: Plan, target: str | None
) -> TempRecord | None:
    """Where a plan has put the temp region; None when there is none."""
    number = timeline.temp_buffer
    if number is None:
        return None
    buffer = timeline.problem.buffers[number]
    arena = solution.arenas[number] if solution.arenas else buffer.arena
    known = _known_target(method, target)
    return TempRecord(arena, solution.offsets[number], buffer.size_bytes, known)
