"""Pairs of buffers that may have one address although both are alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from onearena.lifetime import Interval, intersection
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage

Pair = tuple[int, int]
"""Two values; the second one is born later."""


def sharing_pairs(method: MethodSteps, storage: Storage) -> tuple[Pair, ...]:
    """All pairs: operands and outputs of in-place nodes, and copies that need not be made."""
    return (*_in_place_pairs(method, storage), *_same_bytes_pairs(method, storage))


def _movable(storage: Storage, value: int) -> bool:
    """True for planned memory that only this value names, and that may move."""
    return (
        value in storage.memories
        and value not in storage.pinned
        and value not in storage.state
        and storage.accesses.points_to.get(value) == frozenset((value,))
    )


def _comparable(storage: Storage, first: int, second: int) -> bool:
    if first == second or not (_movable(storage, first) and _movable(storage, second)):
        return False
    a, b = storage.memories[first], storage.memories[second]
    return a.arena == b.arena and a.size_bytes == b.size_bytes


def _in_place_pairs(method: MethodSteps, storage: Storage) -> Iterable[Pair]:
    """The node must be the only moment at which operand and output are both alive, and the
    last one of the operand: its last reader writes the output's first bytes."""
    for position, step in enumerate(method.steps):
        if step.call is None or step.node is None or len(step.roles.writes) != 1:
            continue
        output = step.roles.writes[0]
        only = (Interval(position, position + 1),)
        for operand in step.call.in_place_operands(step.node):
            if _comparable(storage, operand, output):
                both = intersection(storage.lifetimes[operand], storage.lifetimes[output])
                ends = any(life.end == position + 1 for life in storage.lifetimes[operand])
                if both == only and ends:
                    yield operand, output


def _same_bytes_pairs(method: MethodSteps, storage: Storage) -> Iterable[Pair]:
    """Reshapes and copies: XNNPACK skips the copy when both addresses are equal, so values
    with the same bytes may be one memory for as long as nobody changes any of them."""
    copied_at: dict[int, int] = {}
    source_of: dict[int, int] = {}
    for position, step in enumerate(method.steps):
        if step.call is None or step.node is None or len(step.roles.writes) != 1:
            continue
        operand, output = step.call.same_bytes_operand(step.node), step.roles.writes[0]
        if operand is not None and _comparable(storage, operand, output):
            source_of[output], copied_at[output] = operand, position
    for family in _families(source_of):
        if _is_constant_after_copies(method, storage, family, copied_at):
            ordered = sorted(family, key=lambda v: copied_at.get(v, -1))
            yield from combinations(ordered, 2)


def _families(source_of: Mapping[int, int]) -> Iterable[tuple[int, ...]]:
    roots: dict[int, list[int]] = {}
    for output in source_of:
        root = output
        seen = {root}
        while root in source_of and source_of[root] not in seen:
            root = source_of[root]
            seen.add(root)
        roots.setdefault(root, [root]).append(output)
    return (tuple(dict.fromkeys(members)) for members in roots.values())


def _is_constant_after_copies(
    method: MethodSteps, storage: Storage, family: tuple[int, ...], copied_at: Mapping[int, int]
) -> bool:
    """True when no member, and nothing that shares a member's memory, is written after the
    first copy except by the copies themselves, whichever way control flows."""
    if not method.flow.is_straight:
        instructions = {
            method.steps[step].instruction
            for value in family
            for step in storage.touches.get(value, ())
        }
        if len(instructions) > 1:
            return False
    first_copy = min(copied_at[value] for value in family if value in copied_at)
    mates = {mate for group in storage.groups for mate in group if set(group) & set(family)}
    for value in {*family, *mates}:
        writes = storage.accesses.writes.get(value, ())
        allowed = {copied_at[value]} if value in copied_at else set()
        if any(step > first_copy and step not in allowed for step in writes):
            return False
        if value in copied_at and set(writes) != allowed:
            return False
    return True
