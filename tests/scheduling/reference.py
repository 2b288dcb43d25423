"""Orders and their peaks, found by trying: shares nothing with the scheduler."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate

from onearena.scheduling.core import (
    ScheduledMemory,
    ScheduledOperation,
    ScheduledStep,
    ScheduleProblem,
)

Pick = Callable[[int, int], int]
"""Chooses a number, both ends included."""


def all_orders(problem: ScheduleProblem) -> Iterator[tuple[int, ...]]:
    """Every order that keeps dependences, and blocks in one piece."""
    count = len(problem.operations)
    before: list[set[int]] = [set() for _ in range(count)]
    for first, second in problem.precedes:
        before[second].add(first)
    yield from _orders(problem, before, [])


def _orders(
    problem: ScheduleProblem, before: Sequence[set[int]], order: list[int]
) -> Iterator[tuple[int, ...]]:
    operations = problem.operations
    if len(order) == len(operations):
        yield tuple(order)
        return
    done = set(order)
    block = operations[order[-1]].block if order else None
    members = {k for k, op in enumerate(operations) if op.block == block}
    is_open = block is not None and not members <= done
    for k in members if is_open else range(len(operations)):
        if k not in done and before[k] <= done:
            order.append(k)
            yield from _orders(problem, before, order)
            order.pop()


def peak_of(problem: ScheduleProblem, order: Sequence[int]) -> int:
    """The most that is alive at one step, from the lifetimes of all memories."""
    steps = [step for k in order for step in problem.operations[k].steps]
    touches: dict[int, list[int]] = {}
    for position, step in enumerate(steps):
        for memory in step.touched:
            touches.setdefault(memory, []).append(position)
    change = [0] * (len(steps) + 1)
    idle = 0
    for number, found in enumerate(problem.memories):
        if number not in touches:
            idle += found.size_bytes if found.from_start or found.to_end else 0
            continue
        change[0 if found.from_start else touches[number][0]] += found.size_bytes
        change[len(steps) if found.to_end else touches[number][-1] + 1] -= found.size_bytes
    start = sum(m.size_bytes for k, m in enumerate(problem.memories) if m.from_start)
    alive = [idle + live for live in accumulate(change[:-1])]
    for position, step in enumerate(steps):
        used: set[int] = set()
        for dying, born in step.overlays:
            meets = touches[dying][-1] == position == touches[born][0]
            stays = problem.memories[dying].to_end or problem.memories[born].from_start
            if meets and not stays and not used & {dying, born}:
                used |= {dying, born}
                alive[position] -= problem.memories[born].size_bytes
    return max((start, idle, *alive))


def make_problem(pick: Pick) -> ScheduleProblem:
    """A problem so small that all orders can be tried, with everything that there is in it."""
    memories = tuple(
        ScheduledMemory(pick(0, 6), pick(0, 3) == 0, pick(0, 3) == 0) for _ in range(pick(1, 7))
    )
    count = pick(1, 5)
    operations: list[ScheduledOperation] = []
    while len(operations) < count:
        block = len(operations) if pick(0, 2) == 0 else None
        for _ in range(pick(1, 2) if block is not None else 1):
            steps = tuple(_step(pick, memories) for _ in range(pick(1, 2)))
            operations.append(ScheduledOperation(steps, block))
    pairs = [(a, b) for b in range(len(operations)) for a in range(b) if pick(0, 3) == 0]
    return ScheduleProblem(memories, tuple(operations), tuple(pairs))


def _step(pick: Pick, memories: Sequence[ScheduledMemory]) -> ScheduledStep:
    touched = sorted({pick(0, len(memories) - 1) for _ in range(pick(0, 3))})
    pairs = [
        (a, b)
        for a in touched
        for b in touched
        if a != b and memories[a].size_bytes == memories[b].size_bytes and pick(0, 1)
    ]
    return ScheduledStep(tuple(touched), tuple(pairs))


def network(
    sizes: Sequence[int], operands: Sequence[Sequence[int]], in_place: bool = False
) -> ScheduleProblem:
    """One memory per operation, which it writes; it reads those of its operands.

    Args:
        sizes: by memory; the first one is the network's input, the last one its output.
        operands: by operation; operation k writes memory k + 1.
        in_place: an operation may write over an operand of the same size.
    """
    last = len(sizes) - 1
    memories = tuple(ScheduledMemory(s, k == 0, k == last) for k, s in enumerate(sizes))
    operations = tuple(
        ScheduledOperation(
            (
                ScheduledStep(
                    (*read, k + 1),
                    tuple((r, k + 1) for r in read if in_place and sizes[r] == sizes[k + 1]),
                ),
            )
        )
        for k, read in enumerate(operands)
    )
    edges = tuple((r - 1, k) for k, read in enumerate(operands) for r in read if r)
    return ScheduleProblem(memories, operations, edges)


def least_peak(problem: ScheduleProblem) -> int:
    """The least peak of all orders of operations of one step without blocks, by dynamic
    programming over the sets of operations that have run."""
    count = len(problem.operations)
    users: dict[int, int] = {}
    for k, operation in enumerate(problem.operations):
        for memory in operation.steps[0].touched:
            users[memory] = users.get(memory, 0) | 1 << k
    before = [0] * count
    for first, second in problem.precedes:
        before[second] |= 1 << first

    def alive(done: int, running: int) -> int:
        total = 0
        for number, memory in enumerate(problem.memories):
            own = users.get(number, 0)
            born = memory.from_start or bool(own & (done | running))
            needed = memory.to_end or bool(own & ~done)
            total += memory.size_bytes if born and needed else 0
        return total

    best = {0: alive(0, 0)}
    for _ in range(count):
        following: dict[int, int] = {}
        for done, peak in best.items():
            for k in range(count):
                if not done >> k & 1 and not before[k] & ~done:
                    reached = max(peak, alive(done, 1 << k))
                    key = done | 1 << k
                    following[key] = min(following.get(key, reached), reached)
        best = following
    return best[(1 << count) - 1]
