"""Who wrote the bytes that a value names, at the moment it is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onearena.bytemap import ByteMap
from onearena.timeline.access import Accesses, Memory, successors
from onearena.timeline.steps import MethodSteps

NOBODY = -1
"""The owner of bytes that nothing wrote in this run."""

_Owners = dict[int, ByteMap[frozenset[int]]]
_UNWRITTEN = frozenset((NOBODY,))


@dataclass(frozen=True)
class WriterQuery:
    """Asks for the owners of the bytes of `value` just before `step`."""

    value: int
    step: int


def last_writers(
    method: MethodSteps,
    accesses: Accesses,
    memories: Mapping[int, Memory],
    initial: Iterable[int],
    queries: Iterable[WriterQuery],
) -> dict[WriterQuery, frozenset[int]]:
    """Answers the queries over all paths; :data:`NOBODY` stands for unwritten bytes.

    Args:
        initial: values that the runtime fills before the method runs.
    """
    by_step: dict[int, list[WriterQuery]] = {}
    for query in queries:
        by_step.setdefault(query.step, []).append(query)
    if not by_step:
        return {}
    walk = _Walk(method, accesses, memories)
    entry: _Owners = {}
    for value in sorted(initial):
        walk.write(entry, value)
    answers: dict[WriterQuery, frozenset[int]] = {}
    for step, owners in walk.arrivals(entry):
        for query in by_step.get(step, ()):
            answers[query] = _owners_of(owners, memories[query.value])
    return answers


def _owners_of(owners: _Owners, memory: Memory) -> frozenset[int]:
    arena = owners.get(memory.arena)
    if arena is None:
        return _UNWRITTEN
    found: set[int] = set()
    for _, _, who in arena.read(memory.start, memory.end):
        found |= _UNWRITTEN if who is None else who
    return frozenset(found)


class _Walk:
    def __init__(
        self, method: MethodSteps, accesses: Accesses, memories: Mapping[int, Memory]
    ) -> None:
        self._method = method
        self._accesses = accesses
        self._memories = memories

    def write(self, owners: _Owners, value: int) -> None:
        for target in self._accesses.points_to.get(value, ()):
            memory = self._memories[target]
            if memory.offset is not None:
                arena = owners.setdefault(memory.arena, ByteMap())
                arena.write(memory.start, memory.end, frozenset((target,)))

    def arrivals(self, entry: _Owners) -> Iterable[tuple[int, _Owners]]:
        """Every step with the owners on arrival; each is valid until the next is asked for."""
        if self._method.flow.is_straight:
            for position, step in enumerate(self._method.steps):
                yield position, entry
                for value in step.roles.writes:
                    self.write(entry, value)
            return
        yield from self._fixpoint(entry).items()

    def _fixpoint(self, entry: _Owners) -> dict[int, _Owners]:
        arrivals: dict[int, _Owners] = {0: entry}
        pending = [0]
        while pending:
            position = pending.pop()
            owners = {arena: owned.copy() for arena, owned in arrivals[position].items()}
            for value in self._method.steps[position].roles.writes:
                self.write(owners, value)
            for target in successors(self._method, position):
                known = arrivals.get(target)
                merged = owners if known is None else _join(known, owners)
                if known is None or not _equal(known, merged):
                    arrivals[target] = merged
                    pending.append(target)
        return arrivals


def _join(first: _Owners, second: _Owners) -> _Owners:
    empty: ByteMap[frozenset[int]] = ByteMap()
    result: _Owners = {}
    for arena in {*first, *second}:
        a, b = first.get(arena, empty), second.get(arena, empty)
        joined: ByteMap[frozenset[int]] = ByteMap()
        for one, other in ((a, b), (b, a)):
            for start, end, who in one.items():
                for low, high, also in other.read(start, end):
                    joined.write(low, high, who | (_UNWRITTEN if also is None else also))
        result[arena] = joined
    return result


def _equal(first: _Owners, second: _Owners) -> bool:
    if first.keys() != second.keys():
        return False
    return all(tuple(first[k].items()) == tuple(second[k].items()) for k in first)
