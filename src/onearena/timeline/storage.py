"""Which values are one memory, which are state, and which are not understood.

Nothing in a program says that a tensor is a view. It shows in the offsets that the exporter
gave it and in the order of the instructions:

* a value that is read before anything wrote it names bytes that something else wrote: the
  last writers of these bytes are its memory (an elided view), or, when nothing wrote them
  in this run, they survive from the run before (state: a cache, a mutable buffer);
* values whose bytes overlap while both are alive were put there on purpose (in-place kernels,
  tensors stored inside others).

All of these keep their distance to each other.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from onearena.lifetime import Lifetime, intersects
from onearena.pte.tensors import Dynamism
from onearena.timeline.access import (
    Accesses,
    Memory,
    collect_accesses,
    planned_memories,
    scratch_only,
)
from onearena.timeline.active_bytes import ActiveBytes
from onearena.timeline.lifetimes import lasting_lifetimes, natural_lifetimes, touches_of
from onearena.timeline.owners import NOBODY, WriterQuery, last_writers
from onearena.timeline.steps import MethodSteps


@dataclass(frozen=True)
class Storage:
    """The result of the analysis.

    Attributes:
        memories: the planned values with at least one byte, by value.
        lifetimes: by value; empty for memory that is never touched.
        groups: values that keep their distance, each group sorted; no singletons.
        state: values that must survive from run to run.
        pinned: by value, the reason why it keeps its offset.
        touches: by value, the steps at which its memory may be touched.
        accesses: reads and writes by value.
        views: values whose bytes were written under other names; they live as long as these.
    """

    memories: Mapping[int, Memory]
    lifetimes: Mapping[int, Lifetime]
    groups: tuple[tuple[int, ...], ...]
    state: frozenset[int]
    pinned: Mapping[int, str]
    touches: Mapping[int, frozenset[int]]
    accesses: Accesses
    views: frozenset[int]


def analyse_storage(method: MethodSteps, added: frozenset[int]) -> Storage:
    """Runs the analysis on a method.

    Args:
        added: values that opening added; their offsets mean nothing yet.
    """
    return _Analysis(method, planned_memories(method, added)).run()


class _Analysis:
    def __init__(self, method: MethodSteps, memories: Mapping[int, Memory]) -> None:
        self._method = method
        self._memories = memories
        self._accesses: Accesses = collect_accesses(method, memories)
        self.touches_of = touches_of(method, self._accesses)
        self._scratch = scratch_only(method, self._accesses)
        self._parent = {value: value for value in memories}
        self._views: set[int] = set()
        self._state: set[int] = set()
        self._pinned: dict[int, str] = {}

    def run(self) -> Storage:
        self._pin_unknown()
        self._state |= {v for v in self._memories if self._method.tensor(v).data_buffer_idx}
        self._state |= self._method.known_state & self._memories.keys()
        self._bind_exposed()
        while True:
            groups = self._groups()
            self._spread(groups)
            lifetimes = natural_lifetimes(
                self._method, groups, self.touches_of, self._views, self._scratch
            )
            # what overlaps state is a name of it, even where the accesses are far apart
            if not self._join_overlapping(lasting_lifetimes(self._method, lifetimes, self._state)):
                break
        return Storage(
            self._memories,
            lasting_lifetimes(self._method, lifetimes, {*self._state, *self._pinned}),
            tuple(group for group in groups if len(group) > 1),
            frozenset(self._state),
            self._pinned,
            {value: frozenset(steps) for value, steps in self.touches_of.items()},
            self._accesses,
            frozenset(self._views),
        )

    # -- groups ---------------------------------------------------------------------------

    def _find(self, value: int) -> int:
        while self._parent[value] != value:
            self._parent[value] = self._parent[self._parent[value]]
            value = self._parent[value]
        return value

    def _union(self, first: int, second: int) -> bool:
        first, second = self._find(first), self._find(second)
        self._parent[max(first, second)] = min(first, second)
        return first != second

    def _groups(self) -> tuple[tuple[int, ...], ...]:
        members: dict[int, list[int]] = {}
        for value in sorted(self._memories):
            members.setdefault(self._find(value), []).append(value)
        return tuple(tuple(group) for group in members.values())

    def _spread(self, groups: Iterable[tuple[int, ...]]) -> None:
        """State and pins hold for everything that shares the memory."""
        for group in groups:
            if self._state.intersection(group):
                self._state.update(group)
            reason = next((self._pinned[v] for v in group if v in self._pinned), None)
            if reason is not None:
                for value in group:
                    self._pinned.setdefault(value, reason)

    # -- what is not understood -----------------------------------------------------------

    def _pin_unknown(self) -> None:
        for step in self._method.steps:
            if not step.roles.understood:
                reason = f"named by {step.label} (instruction {step.instruction}), which is unknown"
                for value in (*step.roles.reads, *step.roles.writes):
                    self._pin(value, reason)
        for value in self._memories:
            if self._method.tensor(value).shape_dynamism == Dynamism.DYNAMIC_UNBOUND:
                self._pin(value, "planned although its shape has no bound")

    def _pin(self, value: int, reason: str) -> None:
        for target in self._accesses.points_to.get(value, ()):
            self._pinned.setdefault(target, reason)

    # -- views and state ------------------------------------------------------------------

    def _bind_exposed(self) -> None:
        """Joins each value that is read unwritten with the last writers of its bytes."""
        queries = [
            WriterQuery(value, step)
            for value, steps in self._accesses.exposed.items()
            if value in self._memories
            and self._memories[value].offset is not None
            and value not in self._state
            for step in steps
        ]
        answers = last_writers(self._method, self._accesses, self._memories, self._state, queries)
        owners: dict[int, set[int]] = {}
        for query, found in answers.items():
            owners.setdefault(query.value, set()).update(found)
        # in a loop, what a cache is updated with counts as written by itself
        unwritten = {v for v, writers in owners.items() if writers <= {NOBODY, v}}
        for value in owners.keys() - unwritten:
            self._bind(value, owners[value])
        later = {value for value in self._memories if self._is_written_for_later(value)}
        self._keep_state(sorted(unwritten | later))

    def _is_written_for_later(self, value: int) -> bool:
        """Written in place and never read: somebody reads it in a later run."""
        steps = self._method.steps
        writes = self._accesses.writes.get(value, ())
        return (
            bool(writes)
            and value not in self._accesses.reads
            and all(value in steps[step].roles.in_place for step in writes)
        )

    def _bind(self, value: int, owners: set[int]) -> None:
        writers = owners - {NOBODY}
        if self._only_maybe_read(value) and (len(writers) > 1 or NOBODY in owners):
            return  # an output of a delegate that is not understood: a view has one owner
        for writer in writers:
            self._union(value, writer)
        self._views.add(value)
        if NOBODY in owners:
            self._pin(value, "read before all of its bytes were written")

    def _keep_state(self, candidates: Collection[int]) -> None:
        """State, unless something else uses the same bytes: then nothing can survive there.

        Candidates that overlap are names of one state and keep their distance.
        """
        for value in candidates:
            memory = self._memories[value]
            mates = [v for v in candidates if v != value and memory.overlaps(self._memories[v])]
            for mate in mates:
                self._union(value, mate)
            others = (
                other
                for other, place in self._memories.items()
                if other not in candidates and other in self.touches_of and memory.overlaps(place)
            )
            if next(others, None) is None:
                self._state.add(value)
            elif not self._only_maybe_read(value):
                self._pin(value, "its bytes are used before it is written, and by others")

    def _only_maybe_read(self, value: int) -> bool:
        """True when the first reads are by calls of which it is not known that they read it."""
        steps = self._method.steps
        return all(
            value in steps[step].roles.maybe_reads for step in self._accesses.exposed.get(value, ())
        )

    # -- overlaps -------------------------------------------------------------------------

    def _join_overlapping(self, lifetimes: Mapping[int, Lifetime]) -> bool:
        """Joins values that share bytes while both are alive; True when anything changed."""
        placed = [
            memory
            for value, memory in self._memories.items()
            if memory.offset is not None and lifetimes[value]
        ]
        # scratch is nobody's name: what overlaps it there does so by mistake
        placed = [memory for memory in placed if memory.value not in self._scratch]
        placed.sort(key=lambda memory: lifetimes[memory.value][0].start)
        changed = False
        active: dict[int, ActiveBytes] = {}  # by arena
        for memory in placed:
            life = lifetimes[memory.value]
            here = active.setdefault(memory.arena, ActiveBytes())
            for other in here.overlapping(memory.start, memory.end, life[0].start):
                if intersects(life, lifetimes[other]):
                    changed |= self._union(memory.value, other)
            here.add(memory.start, memory.end, life[-1].end, memory.value)
        return changed


def restage(storage: Storage, method: MethodSteps) -> Storage:
    """The same memory under another order of the method's steps.

    Which values share memory shows only in the order and the offsets of the file read; once
    known it holds for any order that respects the dependences. Only lifetimes change.
    """
    accesses = collect_accesses(method, storage.memories)
    touches = touches_of(method, accesses)
    single = set(storage.memories).difference(*storage.groups)
    groups = (*storage.groups, *((value,) for value in single))
    scratch = scratch_only(method, accesses)
    natural = natural_lifetimes(method, groups, touches, storage.views, scratch)
    return replace(
        storage,
        lifetimes=lasting_lifetimes(method, natural, {*storage.state, *storage.pinned}),
        touches={value: frozenset(steps) for value, steps in touches.items()},
        accesses=accesses,
    )
