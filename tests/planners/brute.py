"""An exact planner for tiny problems, written without any planner's ideas.

It tries every set of pairs that share, every height from below, and every offset of every
body (a body is what moves together). Slow, and easy to believe.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from onearena.problem import Buffer, Problem

Body = dict[int, int]
"""Distance from the body's origin (the lowest byte of its lowest buffer), by buffer."""


def optimum_bytes(problem: Problem, arena: int) -> int | None:
    """The smallest height of any valid plan; None when there is no plan."""
    heights = [
        height
        for bodies in _ways_to_share(problem, arena)
        if (height := _smallest_height(problem, bodies)) is not None
    ]
    return min(heights, default=None)


def alive_together(first: Buffer, second: Buffer) -> bool:
    """True when both are alive at one step."""
    steps = [{s for i in b.lifetime for s in range(i.start, i.end)} for b in (first, second)]
    return bool(steps[0] & steps[1])


def _ways_to_share(problem: Problem, arena: int) -> Iterator[list[Body]]:
    pairs = [p for p in problem.may_share if problem.buffers[p[0]].arena == arena]
    for count in range(len(pairs) + 1):
        for chosen in combinations(pairs, count):
            bodies = _bodies(problem, arena)
            for first, second in chosen:
                if not _merge(bodies, first, second):
                    break
            else:
                if all(_is_legal(problem, body) for body in bodies):
                    yield bodies


def _bodies(problem: Problem, arena: int) -> list[Body]:
    grouped = {m.buffer for group in problem.groups for m in group}
    bodies = [
        {m.buffer: m.delta for m in group}
        for group in problem.groups
        if problem.buffers[group[0].buffer].arena == arena
    ]
    bodies += [{b.id: 0} for b in problem.buffers if b.arena == arena and b.id not in grouped]
    return bodies


def _merge(bodies: list[Body], first: int, second: int) -> bool:
    """Gives two buffers one offset; False when they are already fixed to different ones."""
    one = next(body for body in bodies if first in body)
    other = next(body for body in bodies if second in body)
    shift = one[first] - other[second]
    if one is other:
        return shift == 0
    one.update((buffer, delta + shift) for buffer, delta in other.items())
    bodies.remove(other)
    return True


def _is_legal(problem: Problem, body: Body) -> bool:
    """True when nothing inside the body collides that must not."""
    together = [{m.buffer for m in group} for group in problem.groups]
    allowed = {frozenset(pair) for pair in problem.may_share}
    for a, b in combinations(body, 2):
        if any({a, b} <= group for group in together):
            continue
        if body[a] == body[b] and frozenset((a, b)) in allowed:
            continue
        one, other = problem.buffers[a], problem.buffers[b]
        if _overlap(body[a], one, body[b], other) and alive_together(one, other):
            return False
    return True


def _overlap(at: int, one: Buffer, there: int, other: Buffer) -> bool:
    return at < there + other.size_bytes and there < at + one.size_bytes


def _smallest_height(problem: Problem, bodies: list[Body]) -> int | None:
    total = sum(_extent(problem, body)[1] + 8 for body in bodies)
    ends = [(b.offset or 0) + b.size_bytes for b in problem.buffers]
    limit = total + max(ends, default=0)
    order = sorted(bodies, key=lambda body: -_extent(problem, body)[1])
    # the search below is exponential: start where each body fits for itself
    least = 0
    for body in order:
        ends_at = [_top(problem, body, at) for at in _positions(problem, body, limit)]
        if not ends_at:
            return None
        least = max(least, min(ends_at))
    return next((h for h in range(least, limit + 1) if _fits(problem, order, h)), None)


def _extent(problem: Problem, body: Body) -> tuple[int, int]:
    low = min(body.values())
    return low, max(body[b] + problem.buffers[b].size_bytes for b in body) - low


def _top(problem: Problem, body: Body, at: int) -> int:
    return max(at + delta + problem.buffers[b].size_bytes for b, delta in body.items())


def _positions(problem: Problem, body: Body, height: int) -> Iterable[int]:
    """All origins at which the body lies inside [0, height), aligned and where it is fixed."""
    low, size = _extent(problem, body)
    for at in range(-low, height - size - low + 1):
        places = [(problem.buffers[b], at + delta) for b, delta in body.items()]
        if all(p % b.alignment == 0 and b.offset in (None, p) for b, p in places):
            yield at


def _fits(problem: Problem, bodies: Sequence[Body], height: int) -> bool:
    placed: list[tuple[Buffer, int]] = []

    def place(index: int) -> bool:
        if index == len(bodies):
            return True
        for at in _positions(problem, bodies[index], height):
            new = [(problem.buffers[b], at + delta) for b, delta in bodies[index].items()]
            if any(_collide(one, other) for one in new for other in placed):
                continue
            placed.extend(new)
            if place(index + 1):
                return True
            del placed[len(placed) - len(new) :]
        return False

    return place(0)


def _collide(one: tuple[Buffer, int], other: tuple[Buffer, int]) -> bool:
    return _overlap(one[1], one[0], other[1], other[0]) and alive_together(one[0], other[0])
