"""What a method could become: drafts, and the best of them, planned and verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

from onearena.apply import XNNPACK_TAIL_BYTES, place_values
from onearena.arena_base import with_lead
from onearena.delegates.ethosu.payload import ETHOSU_BACKEND
from onearena.drafts import Draft, Drafter, best_of
from onearena.errors import InfeasibleError, PlanError, UsageError, VerificationError
from onearena.memory_map import MemoryMap
from onearena.memory_map.misfit import DoesNotFitError
from onearena.memory_map.planning import (
    MapTask,
    find_misfit,
    has_memory,
    map_task,
    map_use,
    place_in_regions,
    solve_task,
)
from onearena.memory_map.use import MapUse
from onearena.opening import OpenedMethod
from onearena.options import Options
from onearena.planners import plan as plan_problem
from onearena.problem import Plan
from onearena.program import (
    AnalysedMethod,
    arena_bytes,
    method_label,
    misplaced_values,
    unknown_sizes,
)
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan
from onearena.repeat_search import repeat_drafts
from onearena.results import Footprint
from onearena.strip_search import strip_drafts
from onearena.temp_planning import temp_notes
from onearena.timeline.build import Timeline
from onearena.verification.plan import verify_plan


@dataclass(frozen=True)
class Candidate:
    """A planned method that may replace the original; `use` tells the regions of a memory map."""

    draft: Draft
    plan: ExecutionPlan
    solution: Plan
    footprint: Footprint
    use: MapUse | None = None

    @property
    def cost_bytes(self) -> int:
        """What it takes in all, with weights that are kept more than once."""
        return self.footprint.total_bytes + self.draft.weights_bytes


def plan_into(
    file: PteFile,
    analysed: Mapping[int, AnalysedMethod],
    position: int,
    options: Options,
    memory_map: MemoryMap,
) -> tuple[Candidate | None, tuple[str, ...]]:
    """The best candidate that fits into a memory map, and what to say; None for a method without
    planned memory, which fits into any.

    Least workspace first, which lies outside of the map; then the least cost of accesses, then
    the fewest bytes.

    Raises:
        DoesNotFitError: there is none.
        UsageError: the method cannot be planned at all, or has something pinned elsewhere.
        VerificationError: a plan is not valid.
    """
    method = analysed[position]
    label = method_label(file, method.plan)
    if not has_memory(method.plan):
        return None, ()
    reason = why_not_planned(method.plan)
    if reason is not None:
        raise UsageError(f"{label}: cannot be planned into a memory map: {reason}")
    best: Candidate | None = None
    failures: list[tuple[MapTask, PlanError]] = []
    found = _distinct(drafts(file, analysed, position, options))
    for draft in found:
        task = map_task(draft.timeline, memory_map, _tail_bytes(method.plan))
        try:
            candidate = _mapped(draft, task, options)
        except PlanError as error:
            failures.append((task, error))
            continue
        if best is None or _rank(candidate) < _rank(best):
            best = candidate
    if best is None:
        proven = all(isinstance(error, InfeasibleError) for _, error in failures)
        misfits = [find_misfit(task, options.time_limit_s, proven) for task, _ in failures]
        raise DoesNotFitError(label, memory_map, min(misfits, key=lambda misfit: misfit.rank))
    notes = closed_notes(max(found, key=lambda draft: len(draft.opened.closed)).opened)
    notes += temp_notes(method, options.target)
    if best.draft.timeline.temp_buffer is not None and method.ethosu:
        notes.append("the NPU must reach the memory that the temp allocator lies in")
    return best, (*notes, *pinned_notes(best.draft.timeline))


def _distinct(found: Sequence[Draft]) -> list[Draft]:
    """Without drafts that opened and moved nothing, save one."""
    plain = [draft for draft in found if not draft.opened.payloads and not draft.order]
    return [draft for draft in found if not any(draft is other for other in plain[1:])]


def _rank(candidate: Candidate) -> tuple[int, int, int]:
    assert candidate.use is not None
    footprint = candidate.footprint
    return footprint.workspace_bytes, candidate.use.access_cost, footprint.total_bytes


def _mapped(draft: Draft, task: MapTask, options: Options) -> Candidate:
    solution = solve_task(task, options.time_limit_s)
    plan = place_in_regions(draft.opened.plan, task, solution.plan)
    footprint = Footprint(arena_bytes(plan), draft.workspace_bytes)
    return Candidate(draft, plan, solution.plan, footprint, map_use(task, solution))


def _tail_bytes(plan: ExecutionPlan) -> int:
    """Kept free behind the last tensor; a backend that is not known may want what XNNPACK does."""
    ids = {delegate.id for delegate in plan.delegates or ()}
    return XNNPACK_TAIL_BYTES if ids - {ETHOSU_BACKEND} else 0


def why_not_planned(plan: ExecutionPlan) -> str | None:
    """Why a method cannot be planned anew, or None when it can."""
    unknown, misplaced = unknown_sizes(plan), misplaced_values(plan)
    if unknown:
        return f"the size of value {unknown[0]} is not known"
    return f"value {misplaced[0]} lies outside its arena" if misplaced else None


def best_candidate(
    method: AnalysedMethod,
    found: Sequence[Draft],
    options: Options,
    solved: dict[int, Candidate] | None = None,
) -> tuple[Candidate | None, list[str]]:
    """The smallest of the drafts, planned, and why others have no plan.

    Args:
        found: the most promising first.
        solved: by `id` of a draft that lives as long, what was planned before; gets what is
            planned now.

    Raises:
        VerificationError: a plan is not valid.
    """
    best: Candidate | None = None
    failures: list[str] = []
    known = {} if solved is None else solved
    for draft in found:
        if best is not None and draft.least_bytes >= best.cost_bytes:
            continue
        try:
            candidate = known.get(id(draft)) or solve(method, draft, options)
        except PlanError as error:
            failures.append(str(error))
            continue
        known[id(draft)] = candidate
        if best is None or candidate.cost_bytes < best.cost_bytes:
            best = candidate
    return best, failures


def drafts(
    file: PteFile, analysed: Mapping[int, AnalysedMethod], position: int, options: Options
) -> list[Draft]:
    """What could be planned instead, the most promising first."""
    stages = drafts_in_stages(file, analysed, position, options)
    return sorted((d for stage in stages for d in stage.drafts), key=lambda d: d.least_bytes)


class StageKind(IntEnum):
    """What is done for memory, the cheapest first."""

    CLOSED = 0
    OPENED = 1
    STRIPS = 2
    REPEATS = 3


@dataclass(frozen=True)
class Stage:
    """Drafts that do more than those of the stages before, all for the same reason."""

    kind: StageKind
    drafts: tuple[Draft, ...]


def drafts_in_stages(
    file: PteFile, analysed: Mapping[int, AnalysedMethod], position: int, options: Options
) -> list[Stage]:
    """What could be planned instead: with calls closed, with calls opened, then with more and
    more of them in strips, at last with kernels that run once more."""
    makers = [Drafter(file, analysed, position, options)]
    if options.join_in_place and options.memory_map is None:
        # of two that take the same, the one that copies less
        makers.insert(0, makers[0].joining())
    forms = [_stages_of(maker, options) for maker in makers]
    return [
        Stage(kind, tuple(draft for form in forms for k, draft in form if k == (kind, turn)))
        for kind, turn in sorted({key for form in forms for key, _ in form})
    ]


def _stages_of(maker: Drafter, options: Options) -> list[tuple[tuple[StageKind, int], Draft]]:
    """Drafts of a method, with the stage that each belongs to; none when values are to be joined
    and there are none to join."""
    joins, parts = maker.form.joins, maker.form.parts
    result: list[tuple[tuple[StageKind, int], Draft]] = []
    if parts or not joins:
        result.append(((StageKind.CLOSED, 0), maker.closed()))
    if options.open_delegates:
        found = maker.opened({})
        joined = any(p.joined for p in found[0].opened.payloads.values())
        if joins and not parts and not joined:
            return []
        result += [((StageKind.OPENED, 0), draft) for draft in found]
        if options.strips and options.memory_map is None:
            strips = strip_drafts(maker, best_of(found))
            result += [((StageKind.STRIPS, turn), draft) for turn, draft in enumerate(strips)]
    if result and options.rematerialise and options.memory_map is None:
        repeats = repeat_drafts(maker, best_of([draft for _, draft in result]))
        result += [((StageKind.REPEATS, 0), draft) for draft in repeats]
    return result


def solve(method: AnalysedMethod, draft: Draft, options: Options) -> Candidate:
    """Plans a draft, and verifies the plan.

    Raises:
        PlanError: no plan was found.
        VerificationError: the plan is not valid.
    """
    timeline = draft.timeline
    solution = plan_problem(timeline.problem, time_limit_s=options.time_limit_s)
    faults = verify_plan(timeline.problem, solution)
    if faults:
        raise VerificationError(f"{timeline.method.what}: the plan is not valid: {faults[0]}")
    solution = with_lead(solution, timeline, options)
    tail, pieces = _tail_bytes(method.plan), draft.opened.pieces
    plan = place_values(draft.opened.plan, timeline, solution, tail, pieces)
    return Candidate(draft, plan, solution, Footprint(arena_bytes(plan), draft.workspace_bytes))


def closed_notes(opened: OpenedMethod) -> list[str]:
    """Which calls stay closed, and why."""
    reasons: dict[str, list[int]] = {}
    for instruction, reason in opened.closed:
        reasons.setdefault(reason, []).append(instruction)
    return [
        f"{len(where)} call{'s' if len(where) > 1 else ''} stay{'s' if len(where) == 1 else ''} "
        f"closed (first: instruction {where[0]}): {reason}"
        for reason, where in reasons.items()
    ]


def pinned_notes(timeline: Timeline) -> list[str]:
    """What keeps its offset, and why."""
    reasons: dict[str, list[int]] = {}
    for value, reason in timeline.storage.pinned.items():
        reasons.setdefault(reason, []).append(value)
    return [
        f"{len(values)} value{'s' if len(values) > 1 else ''} pinned (first: value {min(values)}): "
        f"{reason}"
        for reason, values in reasons.items()
    ]
