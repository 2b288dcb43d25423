"""What is valid and what is best, by listing every byte at every step and trying every offset.

Nothing here is clever. The meanings are those of `onearena.problem`; where those leave something
open, `meetings` and `faults` are what is meant.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from math import lcm

from onearena.lifetime import Interval
from onearena.problem import Buffer, Memory, Plan, Problem

Fault = tuple[str, int, int]
"""Kind, buffer (for "capacity": the arena), the other buffer or -1."""


def steps(buffer: Buffer) -> set[int]:
    """When the buffer is alive."""
    return {s for life in buffer.lifetime for s in range(life.start, life.end)}


def occupied(buffer: Buffer, offset: int, step: int) -> set[int]:
    """The bytes that the buffer occupies at a step."""
    if step not in steps(buffer):
        return set()
    for window in buffer.windows:
        if window.lifetime.start <= step < window.lifetime.end:
            return set(range(offset + window.start_byte, offset + window.end_byte))
    return set(range(offset, offset + buffer.size_bytes))


def may_share(problem: Problem, one: int, other: int) -> bool:
    """Whether two buffers may have one offset."""
    return (one, other) in problem.may_share or (other, one) in problem.may_share


def in_one_group(problem: Problem, one: int, other: int) -> bool:
    """Whether two buffers are members of one alias group."""
    return any({one, other} <= {m.buffer for m in group} for group in problem.groups)


def meetings(problem: Problem, one: int, at: int, other: int, other_at: int) -> set[Fault]:
    """What is wrong between two buffers at these offsets of one arena."""
    if in_one_group(problem, one, other) or (at == other_at and may_share(problem, one, other)):
        return set()
    first, second = problem.buffers[one], problem.buffers[other]
    found: set[Fault] = set()
    for step in steps(first) & steps(second):
        bytes_of_first = occupied(first, at, step)
        bytes_of_second = occupied(second, other_at, step)
        if not bytes_of_first or not bytes_of_second:
            continue
        if bytes_of_first & bytes_of_second:
            found.add(("overlap", min(one, other), max(one, other)))
        if first.is_last and max(bytes_of_second) >= min(bytes_of_first):
            found.add(("last", one, other))
        if second.is_last and max(bytes_of_first) >= min(bytes_of_second):
            found.add(("last", other, one))
    return found


def all_memories(problem: Problem, memories: Sequence[Memory]) -> Mapping[int, Memory]:
    """The memory of every arena, ascending."""
    given = {memory.arena: memory for memory in memories}
    return {a: given.get(a, Memory(a)) for a in sorted({*problem.arenas, *given})}


def within(offset: int, size: int, low: int, high: int | None) -> bool:
    """Whether bytes lie in a range; 0 bytes also need a place."""
    return low <= offset and (high is None or offset + size <= high)


def faults(problem: Problem, plan: Plan, memories: Sequence[Memory] = ()) -> set[Fault]:
    """Everything that is wrong with a plan."""
    found: set[Fault] = set()
    arenas = plan.arenas or tuple(buffer.arena for buffer in problem.buffers)
    for buffer in problem.buffers:
        for kind in _wrong_place(buffer, plan.offsets[buffer.id], arenas[buffer.id], plan):
            found.add((kind, buffer.id, -1))
    for arena, memory in all_memories(problem, memories).items():
        height = plan.height_bytes[arena]
        if height < 0 or not within(0, height, 0, memory.capacity_bytes):
            found.add(("capacity", arena, -1))
    for group in problem.groups:
        for member in group:
            moved = plan.offsets[member.buffer] - plan.offsets[group[0].buffer]
            apart = arenas[member.buffer] != arenas[group[0].buffer]
            if apart or moved != member.delta - group[0].delta:
                found.add(("alias", member.buffer, group[0].buffer))
    for one, other in combinations(range(len(problem.buffers)), 2):
        if arenas[one] == arenas[other] and arenas[one] in plan.height_bytes:
            found |= meetings(problem, one, plan.offsets[one], other, plan.offsets[other])
    return found


def _wrong_place(buffer: Buffer, offset: int, arena: int, plan: Plan) -> Iterator[str]:
    if not within(offset, buffer.size_bytes, 0, plan.height_bytes.get(arena)):
        yield "bounds"
    if offset % buffer.alignment:
        yield "alignment"
    if buffer.offset is not None and buffer.offset != offset:
        yield "pinned"
    if buffer.region and not within(
        offset, buffer.size_bytes, buffer.region.start, buffer.region.end
    ):
        yield "region"
    if arena not in (buffer.arena, *buffer.arenas) or arena not in plan.height_bytes:
        yield "memory"


def tight_plan(
    problem: Problem, places: Mapping[int, tuple[int, int]], arenas: Sequence[int]
) -> Plan:
    """The plan with (arena, offset) by buffer, no higher than need be."""
    heights = dict.fromkeys(arenas, 0)
    for buffer, (arena, offset) in places.items():
        end = offset + problem.buffers[buffer].size_bytes
        heights[arena] = max(heights[arena], end)
    order = range(len(problem.buffers))
    return Plan(
        tuple(places[k][1] for k in order),
        heights,
        dict.fromkeys(arenas, 0),
        "oracle",
        arenas=tuple(places[k][0] for k in order),
    )


def only(problem: Problem, buffers: Sequence[int]) -> Problem:
    """The problem of some of the buffers, renumbered."""
    new = {old: k for k, old in enumerate(sorted(set(buffers)))}
    return Problem(
        tuple(replace(problem.buffers[old], id=k) for old, k in new.items()),
        tuple(
            tuple(replace(m, buffer=new[m.buffer]) for m in group if m.buffer in new)
            for group in problem.groups
        ),
        tuple((new[a], new[b]) for a, b in problem.may_share if a in new and b in new),
    )


def highest_offset(problem: Problem) -> int:
    """No offset beyond this need be tried.

    Above all pins and starts of regions, whatever lies above a hole of the alignments' least
    common multiple can be moved down by that much, so that such holes need not exist.
    """
    fixed = sum(b.size_bytes for b in problem.buffers)
    fixed += sum(abs(m.delta) for group in problem.groups for m in group) * 2
    multiple = lcm(*(b.alignment for b in problem.buffers))
    lowest = max(
        (max(b.offset or 0, b.region.start if b.region else 0) for b in problem.buffers), default=0
    )
    return lowest + 2 * fixed + multiple * (len(problem.buffers) + 1)


def best_plan(problem: Problem, memories: Sequence[Memory] = ()) -> Plan | None:
    """A plan with the least sum of weight x height, or None when there is no plan at all."""
    return _Search(problem, all_memories(problem, memories)).run()


def cost(plan: Plan, memories: Sequence[Memory] = ()) -> int:
    """The sum of weight x height."""
    weights = {memory.arena: memory.weight for memory in memories}
    return sum(height * weights.get(arena, 1) for arena, height in plan.height_bytes.items())


Domain = dict[int, int]
"""By arena the offsets that a buffer may still have, as bits of an integer."""


@dataclass
class _Search:
    """Places one buffer after the other, wherever the ones placed before it allow."""

    problem: Problem
    memories: Mapping[int, Memory]

    def run(self) -> Plan | None:
        self.limit = highest_offset(self.problem)
        self.best: Plan | None = None
        self.weights = [Memory(a, None, m.weight) for a, m in self.memories.items()]
        self.allowed = {
            (one, other): self._allowed(one, other)
            for a, b in combinations(range(len(self.problem.buffers)), 2)
            for one, other in ((a, b), (b, a))
        }
        self._place({}, {b.id: self._domain(b) for b in self.problem.buffers})
        return self.best

    def _domain(self, buffer: Buffer) -> Domain:
        region = buffer.region or Interval(0, self.limit + buffer.size_bytes)
        result: Domain = {}
        for arena in {buffer.arena, *buffer.arenas}:
            capacity = self.memories[arena].capacity_bytes
            result[arena] = sum(
                1 << offset
                for offset in range(0, self.limit + 1, buffer.alignment)
                if buffer.offset in (None, offset)
                and within(offset, buffer.size_bytes, region.start, region.end)
                and within(offset, buffer.size_bytes, 0, capacity)
            )
        return result

    def _allowed(self, one: int, other: int) -> int:
        """Bit `limit + d`: `other` may lie d bytes after `one`."""
        for group in self.problem.groups:
            delta = {m.buffer: m.delta for m in group}
            if one in delta and other in delta:
                return 1 << (self.limit + delta[other] - delta[one])
        # further apart than they are long together, only who is above whom matters
        far = sum(self.problem.buffers[k].size_bytes for k in (one, other)) + 1
        fine = {d: not meetings(self.problem, one, 0, other, d) for d in range(-far, far + 1)}
        distances = range(-self.limit, self.limit + 1)
        return sum(1 << (self.limit + d) for d in distances if fine[max(-far, min(far, d))])

    def _place(self, places: dict[int, tuple[int, int]], left: dict[int, Domain]) -> None:
        if not left:
            self.best = tight_plan(self.problem, places, tuple(self.memories))
            return
        # the buffer with the fewest places first: nothing is left out, but less is tried
        buffer = min(left, key=lambda k: sum(bits.bit_count() for bits in left[k].values()))
        for arena, bits in left[buffer].items():
            for offset in range(self.limit + 1):
                if not bits >> offset & 1:
                    continue
                now = {**places, buffer: (arena, offset)}
                if not self._could_be_better(now):
                    break
                self._place(now, self._without(left, buffer, arena, offset))

    def _could_be_better(self, places: dict[int, tuple[int, int]]) -> bool:
        if self.best is None:
            return True
        heights = dict.fromkeys(self.memories, 0)
        for buffer, (arena, offset) in places.items():
            end = offset + self.problem.buffers[buffer].size_bytes
            heights[arena] = max(heights[arena], end)
        spent = sum(heights[a] * m.weight for a, m in self.memories.items())
        return spent < cost(self.best, self.weights)

    def _without(
        self, left: dict[int, Domain], buffer: int, arena: int, offset: int
    ) -> dict[int, Domain]:
        """What is left to the others when the buffer lies there."""
        result: dict[int, Domain] = {}
        for other, domain in left.items():
            if other == buffer:
                continue
            near = self.allowed[buffer, other] >> (self.limit - offset)
            together = in_one_group(self.problem, buffer, other)
            result[other] = {
                a: bits & near if a == arena else (0 if together else bits)
                for a, bits in domain.items()
            }
        return result
