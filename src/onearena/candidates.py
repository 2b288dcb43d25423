"""What a method could become: drafts, and the best of them, planned and verified."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from onearena.apply import XNNPACK_TAIL_BYTES, place_values
from onearena.errors import PlanError, VerificationError
from onearena.opening import OpenedMethod, open_method
from onearena.options import Options
from onearena.planners import lower_bound_bytes
from onearena.planners import plan as plan_problem
from onearena.problem import Plan
from onearena.program import (
    AnalysedMethod,
    arena_bytes,
    boundaries,
    foreign_state,
    method_label,
    misplaced_values,
    unknown_sizes,
    workspace_of,
)
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan
from onearena.results import Footprint
from onearena.schedule import rescheduled
from onearena.timeline.build import Timeline, build_timeline
from onearena.timeline.steps import MethodSteps, method_steps
from onearena.timeline.storage import Storage
from onearena.verification.plan import verify_plan


@dataclass(frozen=True)
class Draft:
    """A method that may be planned; `order[new] = old` instruction, empty when none moved."""

    opened: OpenedMethod
    order: tuple[int, ...]
    timeline: Timeline
    bound_bytes: int
    workspace_bytes: int


@dataclass(frozen=True)
class Candidate:
    """A planned method that may replace the original."""

    draft: Draft
    plan: ExecutionPlan
    solution: Plan
    footprint: Footprint


def plan_method(
    file: PteFile, analysed: Mapping[int, AnalysedMethod], position: int, options: Options
) -> tuple[Candidate | None, tuple[str, ...]]:
    """The best candidate that is smaller than the original, and what to say."""
    method = analysed[position]
    before = Footprint(arena_bytes(method.plan), method.workspace_bytes)
    reason = why_not_planned(method.plan)
    if reason is not None:
        return None, (f"left as it was: {reason}",)
    found = drafts(file, analysed, position, options)
    # what stays closed is said whichever draft wins
    notes = _closed_notes(max(found, key=lambda draft: len(draft.opened.closed)).opened)
    best, failures = best_candidate(method, found, options)
    notes += [f"no plan: {failure}" for failure in failures]
    notes += pinned_notes((best.draft if best else found[0]).timeline)
    if best is None or best.footprint.total_bytes >= before.total_bytes:
        notes.append("keeps its plan: no smaller one was found")
        return None, tuple(notes)
    return best, tuple(notes)


def why_not_planned(plan: ExecutionPlan) -> str | None:
    """Why a method cannot be planned anew, or None when it can."""
    unknown, misplaced = unknown_sizes(plan), misplaced_values(plan)
    if unknown:
        return f"the size of value {unknown[0]} is not known"
    return f"value {misplaced[0]} lies outside its arena" if misplaced else None


def best_candidate(
    method: AnalysedMethod, found: Sequence[Draft], options: Options
) -> tuple[Candidate | None, list[str]]:
    """The smallest of the drafts, planned, and why others have no plan.

    Args:
        found: the most promising first.

    Raises:
        VerificationError: a plan is not valid.
    """
    best: Candidate | None = None
    failures: list[str] = []
    for draft in found:
        least = draft.bound_bytes + draft.workspace_bytes
        if best is not None and least >= best.footprint.total_bytes:
            continue
        try:
            candidate = solve(method, draft, options)
        except PlanError as error:
            failures.append(str(error))
            continue
        if best is None or candidate.footprint.total_bytes < best.footprint.total_bytes:
            best = candidate
    return best, failures


def drafts(
    file: PteFile, analysed: Mapping[int, AnalysedMethod], position: int, options: Options
) -> list[Draft]:
    """What could be planned instead, the most promising first."""
    method = analysed[position]
    shared = len(analysed) > 1
    reserved = foreign_state(analysed, position) if shared else ()
    label = method_label(file, method.plan)
    edges = boundaries(method.plan, method.payloads)

    def draft(
        opened: OpenedMethod,
        order: tuple[int, ...],
        steps: MethodSteps,
        storage: Storage | None = None,
    ) -> Draft:
        if steps is method.steps and not shared:
            timeline = method.timeline
        else:
            timeline = build_timeline(steps, opened.added, reserved, shared, storage)
        bound = sum(lower_bound_bytes(timeline.problem, a) for a in timeline.problem.arenas)
        graphs = {k: p.graph.source for k, p in method.payloads.items() if p.graph is not None}
        graphs.update((k, p.graph.source) for k, p in opened.payloads.items())
        return Draft(opened, order, timeline, bound, workspace_of(opened.plan, graphs))

    closed = OpenedMethod(method.plan, method.steps.calls, frozenset(), {}, 0, ())
    result = [draft(closed, (), method.steps)]
    if options.open_delegates:
        opened = open_method(method.plan, method.payloads, label)
        steps = method_steps(opened.plan, opened.calls, label, edges)
        plain = draft(opened, (), steps)
        result.append(plain)
        if options.reorder:
            moved, order = rescheduled(opened, steps, plain.timeline.storage, label)
            if moved is not opened:
                shifted = {k: edges[old] for k, old in enumerate(order) if old in edges}
                steps = method_steps(moved.plan, moved.calls, label, shifted if order else edges)
                result.append(draft(moved, order, steps, plain.timeline.storage))
    return sorted(result, key=lambda d: d.bound_bytes + d.workspace_bytes)


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
    # a backend that is not known may want the same
    tail = XNNPACK_TAIL_BYTES if method.plan.delegates else 0
    plan = place_values(draft.opened.plan, timeline, solution, tail)
    return Candidate(draft, plan, solution, Footprint(arena_bytes(plan), draft.workspace_bytes))


def _closed_notes(opened: OpenedMethod) -> list[str]:
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
