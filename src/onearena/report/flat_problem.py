"""A planning problem as one of buffers alone, which MiniMalloc's CSV can say."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from onearena.lifetime import Interval, Lifetime, merge
from onearena.problem import Buffer, Member, Problem, Window


def flat_problem(problem: Problem) -> tuple[Problem, tuple[str, ...]]:
    """The same problem, or a stricter one, without groups and without pairs that may share.

    A group becomes one buffer, of which at every step only the bytes from the first to the last
    one of its live members are taken. A group whose members all have their offset becomes a
    buffer for every range of bytes that they take. Every plan of the result, read as a plan of
    the members at their distances, is one of `problem`; the other way round it need not be.

    Returns:
        The problem, and what was lost, in words.
    """
    buffers = [buffer for buffer in problem.buffers if buffer.id not in problem.group_of]
    lost: list[str] = []
    for group in problem.groups:
        members = [(problem.buffers[m.buffer], m) for m in group]
        members = [(buffer, m) for buffer, m in members if buffer.size_bytes]
        if members and all(buffer.offset is not None for buffer, _ in members):
            buffers += _fixed(members)
        elif members:
            buffers.append(_movable(members))
    if problem.groups:
        count = len(problem.groups)
        lost.append(f"{count} alias group{'' if count == 1 else 's'} as plain buffers")
    if problem.may_share:
        count = len(problem.may_share)
        lost.append(f"without {count} pair{'' if count == 1 else 's'} that may share an address")
    numbered = tuple(replace(buffer, id=number) for number, buffer in enumerate(buffers))
    return Problem(numbered), tuple(lost)


_Members = Sequence[tuple[Buffer, Member]]


def _fixed(members: _Members) -> Iterator[Buffer]:
    life = _lifetime(members)
    arena = members[0][0].arena
    taken = merge(
        Interval(buffer.offset, buffer.offset + buffer.size_bytes)
        for buffer, _ in members
        if buffer.offset is not None
    )
    for span in taken:
        name = f"pinned {span.start}:{span.end} of arena {arena}"
        yield Buffer(0, span.end - span.start, 1, arena, life, span.start, name)


def _movable(members: _Members) -> Buffer:
    alignment = math.lcm(*(buffer.alignment for buffer, _ in members))
    lowest = min(member.delta for _, member in members)
    # the distances suit the members' alignments when the origin is aligned to all of them
    origin = lowest - lowest % alignment
    size = max(member.delta + buffer.size_bytes for buffer, member in members) - origin
    name = " + ".join(buffer.label for buffer, _ in members)
    windows = tuple(_windows(members, origin, size))
    life = _lifetime(members)
    return Buffer(0, size, alignment, members[0][0].arena, life, None, name, windows)


def _lifetime(members: _Members) -> Lifetime:
    return merge(life for buffer, _ in members for life in buffer.lifetime)


def _windows(members: _Members, origin: int, size: int) -> Iterator[Window]:
    """Where not all bytes are taken."""
    lives = [life for buffer, _ in members for life in buffer.lifetime]
    cuts = sorted({cut for life in lives for cut in (life.start, life.end)})
    pending: Window | None = None
    for start, end in pairwise(cuts):
        alive = [
            (member.delta - origin, member.delta - origin + buffer.size_bytes)
            for buffer, member in members
            if any(life.start <= start < life.end for life in buffer.lifetime)
        ]
        if not alive:
            continue
        low, high = min(a for a, _ in alive), max(b for _, b in alive)
        if pending and pending == Window(Interval(pending.lifetime.start, start), low, high):
            pending = Window(Interval(pending.lifetime.start, end), low, high)
            continue
        if pending:
            yield pending
        pending = None if (low, high) == (0, size) else Window(Interval(start, end), low, high)
    if pending:
        yield pending
