"""What advice starts from: a method as it stands, and as well planned as it can be."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

from onearena.arena_base import leads_of
from onearena.candidates import Candidate, best_candidate, drafts, why_not_planned
from onearena.drafts import Draft
from onearena.errors import PlanError
from onearena.options import Options
from onearena.planners import plan as plan_problem
from onearena.pointers import pointers_in_scratch
from onearena.problem import Problem
from onearena.program import AnalysedMethod
from onearena.pte.container import PteFile
from onearena.results import Footprint
from onearena.temp_planning import footprint_of
from onearena.timeline.build import Timeline
from onearena.timeline.steps import MethodSteps


@dataclass(frozen=True)
class Ground:
    """A method before and after planning.

    Attributes:
        before: as it stands.
        draft: the best way to plan it.
        candidate: that plan.
    """

    method: AnalysedMethod
    before: Footprint
    draft: Draft
    candidate: Candidate
    options: Options

    @property
    def timeline(self) -> Timeline:
        """Of the best draft."""
        return self.draft.timeline

    @property
    def steps(self) -> MethodSteps:
        """Of the best draft."""
        return self.draft.timeline.method

    @property
    def optimized_bytes(self) -> int:
        """What `optimize` reaches: it keeps a plan that it cannot better."""
        return min(self.before.total_bytes, self.candidate.footprint.total_bytes)

    @cached_property
    def heights_bytes(self) -> int:
        """Of all arenas, with what is free in front, without what is added behind them."""
        return self.candidate.solution.total_bytes

    def with_problem(self, problem: Problem) -> int | None:
        """Arenas and workspace if `problem` were the problem; None when it has no plan."""
        try:
            found = plan_problem(problem, time_limit_s=self.options.time_limit_s)
        except PlanError:
            return None
        beside = self.candidate.footprint.total_bytes - self.heights_bytes
        leads = leads_of(found, self.timeline, self.options)
        return beside + found.total_bytes + sum(leads.values())


def find_ground(
    file: PteFile, analysed: Mapping[int, AnalysedMethod], position: int, options: Options
) -> Ground | str:
    """Plans a method as `optimize` would; where that is impossible, the reason.

    Raises:
        VerificationError: a plan is not valid.
    """
    method = analysed[position]
    reason = why_not_planned(method.plan)
    if reason is not None:
        return reason
    best, failures = best_candidate(method, drafts(file, analysed, position, options), options)
    if best is None:
        return failures[-1]
    before = footprint_of(method, options.target)
    moved = pointers_in_scratch(best, method, options, before.total_bytes - 1)
    best = moved.candidate if moved is not None else best
    return Ground(method, before, best.draft, best, options)
