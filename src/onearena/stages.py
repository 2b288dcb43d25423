"""A method, planned with more and more done for memory: each stage undoes into the one before."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from onearena.candidates import (
    Candidate,
    Stage,
    StageKind,
    best_candidate,
    closed_notes,
    drafts_in_stages,
    pinned_notes,
    why_not_planned,
)
from onearena.drafts import Draft
from onearena.options import Options
from onearena.pointers import may_move_pointers, pointers_in_scratch
from onearena.program import AnalysedMethod
from onearena.pte.container import PteFile
from onearena.temp_planning import footprint_of, temp_notes

AS_IT_WAS = 0
"""The stage at which a method keeps the plan that it has."""


@dataclass(frozen=True)
class Staged:
    """A method at one stage.

    Attributes:
        candidate: None when the method keeps its plan.
        notes: what to say of it.
        pointer_work: what making pointers takes in each run, see `delegates/xnnpack/work.py`.
    """

    candidate: Candidate | None
    notes: tuple[str, ...]
    pointer_work: int = 0


class Stages:
    """The stages of one method.

    Stage 0 is the method as it was; 1 has its calls closed; 2 has them opened; each further one a
    round more of strips; then kernels run once more; the last one has pointers in scratch. Without
    such options there are fewer.
    """

    def __init__(
        self,
        file: PteFile,
        analysed: Mapping[int, AnalysedMethod],
        position: int,
        options: Options,
        measured: bool = False,
    ) -> None:
        """Nothing is planned yet.

        Args:
            measured: what pointers in scratch cost will be measured: no model limits them.
        """
        self._file, self._analysed, self._position = file, analysed, position
        self._options, self._measured = options, measured
        self._known: dict[int, Staged] = {}
        self._solved: dict[int, Candidate] = {}

    @property
    def method(self) -> AnalysedMethod:
        """What is planned."""
        return self._analysed[self._position]

    @property
    def name(self) -> str:
        """Of the method."""
        return self.method.plan.name or ""

    @property
    def last(self) -> int:
        """The stage at which most is done."""
        return len(self._drafts) + self._has_pointers

    def at(self, stage: int) -> Staged:
        """The method at a stage, planned when it is first asked for.

        Raises:
            VerificationError: a plan is not valid.
        """
        if stage not in self._known:
            self._known[stage] = self._make(stage)
        return self._known[stage]

    def undone(self, stage: int) -> str:
        """What is not done at a stage that is done at the last one, in words."""
        done = Counter(found.kind for found in self._drafts[:stage])
        missing = Counter(found.kind for found in self._drafts[stage:])
        parts = []
        if stage < 1:
            parts.append("the new plan of the arenas")
        if missing[StageKind.OPENED]:
            parts.append("opened calls")
        rounds = missing[StageKind.STRIPS]
        if rounds:
            some = f"{rounds} of {rounds + done[StageKind.STRIPS]} rounds of strips"
            parts.append(some if done[StageKind.STRIPS] else "strips")
        if missing[StageKind.REPEATS]:
            parts.append("kernels that run once more")
        whole, last = self.at(len(self._drafts)), self.at(self.last)
        if stage < self.last and last.candidate is not whole.candidate:
            parts.append("pointers in scratch")
        return ", ".join(reversed(parts))

    @cached_property
    def _drafts(self) -> Sequence[Stage]:
        if why_not_planned(self.method.plan) is not None:
            return ()
        return drafts_in_stages(self._file, self._analysed, self._position, self._options)

    @property
    def _has_pointers(self) -> bool:
        return may_move_pointers(self._options) and len(self._drafts) > 1

    def _make(self, stage: int) -> Staged:
        reason = why_not_planned(self.method.plan)
        if reason is not None:
            return Staged(None, (f"left as it was: {reason}",))
        if stage == AS_IT_WAS:
            return Staged(None, ())
        if stage > len(self._drafts):
            return self._with_pointers(self.at(len(self._drafts)))
        found = [draft for found in self._drafts[:stage] for draft in found.drafts]
        return self._planned(sorted(found, key=lambda draft: draft.least_bytes))

    def _planned(self, found: Sequence[Draft]) -> Staged:
        target = self._options.target
        before = footprint_of(self.method, target)
        # what stays closed is said whichever draft wins
        notes = closed_notes(max(found, key=lambda draft: len(draft.opened.closed)).opened)
        best, failures = best_candidate(self.method, found, self._options, self._solved)
        notes += [f"no plan: {failure}" for failure in failures]
        notes += temp_notes(self.method, target)
        notes += pinned_notes((best.draft if best else found[0]).timeline)
        if best is None or best.footprint.total_bytes >= before.total_bytes:
            return Staged(None, (*notes, "keeps its plan: no smaller one was found"))
        return Staged(best, (*notes, *_strip_notes(best.draft)))

    def _with_pointers(self, plain: Staged) -> Staged:
        if plain.candidate is None:
            return plain
        most = footprint_of(self.method, self._options.target).total_bytes - 1
        moved = pointers_in_scratch(
            plain.candidate, self.method, self._options, most, measured=self._measured
        )
        if moved is None:
            return plain
        note = (
            f"{moved.nodes} nodes make their tables of pointers in each run: "
            f"{moved.heap_bytes:,} B less on the heap"
        )
        return Staged(moved.candidate, (*plain.notes, note), moved.work)


def _strip_notes(draft: Draft) -> list[str]:
    found = [p.strips for p in draft.opened.payloads.values() if p.strips and p.strips.pieces]
    if not found:
        return []
    calls = f"{len(found)} call{'s' if len(found) > 1 else ''}"
    return [
        f"parts of {calls} run in strips of rows, with {draft.weights_bytes:,} B more of packed "
        "weights in the heap"
    ]
