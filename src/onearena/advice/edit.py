"""Planning problems with something changed: what if this buffer were smaller, or not there?"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from onearena.lifetime import Lifetime, merge
from onearena.problem import Buffer, Member, Problem
from onearena.timeline.build import Timeline, aligned_size


def is_free(timeline: Timeline, value: int) -> bool:
    """Whether a value has a buffer that shares its place with nothing and may move."""
    buffer = timeline.buffer_of.get(value)
    if buffer is None:
        return False
    problem = timeline.problem
    return buffer not in problem.group_of and problem.buffers[buffer].offset is None


def group_members(timeline: Timeline, value: int) -> frozenset[int]:
    """The buffers that are tied to a value's buffer, itself included; empty without a buffer."""
    buffer = timeline.buffer_of.get(value)
    if buffer is None:
        return frozenset()
    group = timeline.problem.group_of.get(buffer)
    if group is None:
        return frozenset((buffer,))
    return frozenset(member.buffer for member in timeline.problem.groups[group])


def resized(buffer: Buffer, size_bytes: int) -> Buffer:
    """The same buffer with another size, rounded and aligned as the timeline does it."""
    size, alignment = aligned_size(size_bytes)
    return replace(buffer, size_bytes=size, alignment=alignment)


def joined(first: Buffer, second: Buffer) -> Buffer:
    """The first buffer, alive whenever one of both is."""
    lifetime: Lifetime = merge((*first.lifetime, *second.lifetime))
    return replace(first, lifetime=lifetime)


def changed(
    problem: Problem,
    replaced: Mapping[int, Buffer] = {},
    removed: Collection[int] = (),
    tied: Sequence[Sequence[Member]] = (),
    added: Sequence[Buffer] = (),
) -> Problem:
    """A problem with some buffers replaced, removed or added, and groups added.

    Args:
        replaced: by buffer id.
        removed: ids; groups and pairs lose them.
        tied: new groups, of ids of the old problem that are in none.
        added: their ids do not matter.
    """
    gone = frozenset(removed)
    kept = [replaced.get(b.id, b) for b in problem.buffers if b.id not in gone]
    number = {buffer.id: position for position, buffer in enumerate(kept)}
    buffers = tuple(replace(b, id=position) for position, b in enumerate((*kept, *added)))
    groups = []
    for group in (*problem.groups, *tied):
        members = tuple(Member(number[m.buffer], m.delta) for m in group if m.buffer in number)
        if members:
            groups.append(members)
    pairs = tuple(
        (number[a], number[b])
        for a, b in problem.may_share
        if a in number
        and b in number
        and buffers[number[a]].size_bytes == buffers[number[b]].size_bytes
    )
    return Problem(buffers, tuple(groups), pairs)
