"""Pairs of buffers that may have one address although both are alive."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import combinations

from onearena.lifetime import Interval, intersection
from onearena.pte.schema import KernelCall
from onearena.timeline.in_place_kernels import in_place_operands, same_bytes_operand
from onearena.timeline.steps import MethodSteps, Step
from onearena.timeline.storage import Storage

Pair = tuple[int, int]
"""Two values; the second one is born later."""


def sharing_pairs(
    method: MethodSteps,
    storage: Storage,
    in_place_kernels: bool = True,
    kernel_copies: bool = False,
) -> tuple[Pair, ...]:
    """All pairs: operands and outputs of what works in place, and copies that need not be made.

    Args:
        in_place_kernels: pairs of kernel calls too, not only of nodes inside delegates.
        kernel_copies: what kernels copy may stay alive behind the copy, at the same address.
    """
    return (
        *_in_place_pairs(method, storage, in_place_kernels),
        *_same_bytes_pairs(method, storage, kernel_copies),
    )


def _movable(storage: Storage, value: int) -> bool:
    """True for planned memory that only this value names, and that may move."""
    return (
        value in storage.memories
        and value not in storage.pinned
        and value not in storage.state
        and len(named := storage.accesses.points_to.get(value, ())) == 1
        and value in named
    )


def comparable(storage: Storage, first: int, second: int) -> bool:
    """True for two values that could have one address: of one size, in one arena, free to move."""
    if first == second or not (_movable(storage, first) and _movable(storage, second)):
        return False
    a, b = storage.memories[first], storage.memories[second]
    return a.arena == b.arena and a.size_bytes == b.size_bytes


def _in_place_pairs(method: MethodSteps, storage: Storage, kernels: bool) -> Iterable[Pair]:
    """The step must be the only moment at which operand and output are both alive, and the
    last one of the operand: its last reader writes the output's first bytes."""
    for position, step in enumerate(method.steps):
        found = in_place_at(method, step, kernels)
        if found is None:
            continue
        output, operands = found
        only = (Interval(position, position + 1),)
        for operand in operands:
            if comparable(storage, operand, output):
                both = intersection(storage.lifetimes[operand], storage.lifetimes[output])
                ends = any(life.end == position + 1 for life in storage.lifetimes[operand])
                if both == only and ends:
                    yield operand, output


def in_place_at(
    method: MethodSteps, step: Step, kernels: bool
) -> tuple[int, tuple[int, ...]] | None:
    """An output of a step, and the operands over which it may be written."""
    if step.call is not None and step.node is not None:
        if len(step.roles.writes) != 1:
            return None
        return step.roles.writes[0], step.call.in_place_operands(step.node)
    call = _kernel_call(method, step) if kernels else None
    return in_place_operands(method.plan, call) if call is not None else None


def _kernel_call(method: MethodSteps, step: Step) -> KernelCall | None:
    if not 0 <= step.instruction < len(method.instructions) or not step.roles.understood:
        return None
    instruction = method.instructions[step.instruction]
    return instruction if isinstance(instruction, KernelCall) else None


def _same_bytes_pairs(method: MethodSteps, storage: Storage, kernels: bool) -> Iterable[Pair]:
    for family in copy_families(method, storage, kernels):
        yield from combinations(family, 2)


def copy_families(
    method: MethodSteps, storage: Storage, kernels: bool
) -> Iterable[tuple[int, ...]]:
    """Reshapes and copies: XNNPACK skips the copy when both addresses are equal, so values
    with the same bytes may be one memory for as long as nobody changes any of them.

    Args:
        kernels: of kernel calls too, not only of nodes inside delegates.

    Returns:
        By family, its values, the one that others are copies of first.
    """
    copied_at: dict[int, int] = {}
    source_of: dict[int, int] = {}
    for position, step in enumerate(method.steps):
        found = _copied_at(method, step, kernels)
        if found is not None and comparable(storage, found[1], found[0]):
            output, operand = found
            source_of[output], copied_at[output] = operand, position
    for family in _families(source_of):
        if _is_constant_after_copies(method, storage, family, copied_at):
            yield tuple(sorted(family, key=lambda v: copied_at.get(v, -1)))


def _copied_at(method: MethodSteps, step: Step, kernels: bool) -> Pair | None:
    """The output of a step that copies, and what it copies."""
    if step.call is not None and step.node is not None:
        operand = step.call.same_bytes_operand(step.node)
        if operand is None or len(step.roles.writes) != 1:
            return None
        return step.roles.writes[0], operand
    call = _kernel_call(method, step) if kernels else None
    return same_bytes_operand(method.plan, call) if call is not None else None


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
