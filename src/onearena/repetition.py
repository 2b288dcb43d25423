"""Cheap kernels that run once more, so that what they make need not stay alive in between.

A mask that every layer reads is alive from the first layer to the last. If it comes from
something small, or from something that is alive anyway, its kernel may as well run again in front
of the layer that reads it: the same instruction, with the same operands and the same result in
the same place, which is free for others in between.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from onearena.pte.places import place_behind, placed_at
from onearena.pte.schema import ExecutionPlan, KernelCall
from onearena.pte.tensors import Dynamism, tensor_bytes
from onearena.reorder import reordered_plan
from onearena.timeline.numbers import computed_numbers, named_values
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage

_CHEAP = frozenset(
    [
        *("expand_copy", "view_copy", "clone", "permute_copy", "transpose_copy", "t_copy"),
        *("unsqueeze_copy", "squeeze_copy", "slice_copy", "select_copy", "repeat", "cat", "stack"),
        *("where", "full", "full_like", "zeros", "ones", "arange", "scalar_tensor", "masked_fill"),
        *("eq", "ne", "lt", "le", "gt", "ge", "logical_not", "logical_and", "logical_or"),
        *("bitwise_not", "bitwise_and", "bitwise_or", "tril", "triu", "flip", "_to_copy"),
        *("add", "sub", "rsub", "mul", "neg", "abs", "relu", "clamp", "minimum", "maximum"),
        *("_to_dim_order_copy", "_clone_dim_order", "constant_pad_nd"),
    ]
)
"""Operators that take a few operations for each element of their result, and always give the
same."""


@dataclass(frozen=True)
class Repeat:
    """An instruction that runs once more, right in front of another one."""

    instruction: int
    before: int


@dataclass(frozen=True)
class Repeated:
    """A method with instructions that are there more than once.

    Attributes:
        plan: the method; operands that have to live longer have new places, behind everything
            else.
        order: by instruction, its number in the method before.
        remade: what is written more than once.
    """

    plan: ExecutionPlan
    order: tuple[int, ...]
    remade: frozenset[int]


def repeatable(method: MethodSteps, storage: Storage) -> dict[int, int]:
    """By value, the one instruction that writes it, where that may run again."""
    found: dict[int, int] = {}
    if not method.flow.is_straight or len(method.plan.chains or ()) != 1:
        return found
    computed = computed_numbers(method)
    for number, args in enumerate(method.instructions):
        if isinstance(args, KernelCall) and not computed & named_values(
            method.plan, args.args or ()
        ):
            roles = method.steps[method.first_step[number]].roles
            if _is_cheap(method, args) and len(roles.writes) == 1 and roles.understood:
                plain = not roles.in_place and not roles.aliases and not roles.scratch
                plain &= not set(roles.reads) & set(roles.writes)
                if plain and _is_alone(storage, roles.writes[0]):
                    found[roles.writes[0]] = number
    return {v: number for v, number in found.items() if _only_writer(method, storage, v, number)}


def _only_writer(method: MethodSteps, storage: Storage, value: int, number: int) -> bool:
    """Whether nothing writes a value but one instruction, however often it is there."""
    steps = storage.accesses.writes.get(value, ())
    writers = (method.steps[step].instruction for step in steps)
    own = method.instructions[number]
    return all(k >= 0 and method.instructions[k] == own for k in writers)


def _is_cheap(method: MethodSteps, call: KernelCall) -> bool:
    name = (method.plan.operators or ())[call.op_index].name or ""
    space, _, base = name.partition("::")
    return space in ("aten", "dim_order_ops") and base in _CHEAP


def _is_alone(storage: Storage, value: int) -> bool:
    """True for memory that only one value names, and that may move."""
    return (
        value in storage.memories
        and value not in storage.state
        and value not in storage.pinned
        and storage.accesses.points_to.get(value) == frozenset((value,))
        and not any(value in group for group in storage.groups)
        and value not in storage.accesses.exposed
    )


def repeat(method: MethodSteps, storage: Storage, repeats: Sequence[Repeat]) -> Repeated | None:
    """The method with some instructions once more; None when an operand is not there any more.

    Args:
        repeats: of instructions in :func:`repeatable`.
    """
    fresh: dict[int, None] = {}
    for entry in repeats:
        operands = method.steps[method.first_step[entry.instruction]].roles.reads
        step = method.first_step[entry.before]
        for operand in operands:
            if _lives_at(method, storage, operand, step):
                continue
            if not _may_live_longer(method, storage, operand):
                return None
            fresh[operand] = None
    order = _with_repeats(len(method.instructions), repeats)
    plan = _moved(reordered_plan(method.plan, order), storage, fresh)
    written = (method.steps[method.first_step[r.instruction]].roles.writes[0] for r in repeats)
    return Repeated(plan, order, frozenset(written))


def _with_repeats(count: int, repeats: Sequence[Repeat]) -> tuple[int, ...]:
    again: dict[int, list[int]] = {}
    for entry in repeats:
        again.setdefault(entry.before, []).append(entry.instruction)
    return tuple(number for k in range(count) for number in (*sorted(set(again.get(k, ()))), k))


def _lives_at(method: MethodSteps, storage: Storage, operand: int, step: int) -> bool:
    """Whether an operand is there anyway, as it was: a constant, or written once and alive."""
    tensor = method.tensor(operand)
    if tensor.allocation_info is None:
        return bool(tensor.data_buffer_idx)
    names = next((group for group in storage.groups if operand in group), (operand,))
    writes = [step for name in names for step in storage.accesses.writes.get(name, ())]
    if operand in storage.state or len(writes) != 1:
        return False
    return any(life.start <= step < life.end for life in storage.lifetimes.get(operand, ()))


def _may_live_longer(method: MethodSteps, storage: Storage, operand: int) -> bool:
    writes = storage.accesses.writes.get(operand, ())
    is_static = method.tensor(operand).shape_dynamism == Dynamism.STATIC
    return len(writes) == 1 and _is_alone(storage, operand) and is_static


def _moved(plan: ExecutionPlan, storage: Storage, values: Iterable[int]) -> ExecutionPlan:
    """Gives values places that nothing else has."""
    entries, sizes = list(plan.values or ()), list(plan.non_const_buffer_sizes or ())
    for value in values:
        memory = storage.memories[value]
        start = place_behind(sizes, memory.arena, memory.size_bytes)
        entries[value] = placed_at(entries[value], start)
    return replace(plan, values=tuple(entries), non_const_buffer_sizes=tuple(sizes))


def repeats_over(
    method: MethodSteps, storage: Storage, is_full: Sequence[bool], writers: Mapping[int, int]
) -> Iterator[tuple[int, tuple[Repeat, ...]]]:
    """By value, what to run again so that it is not alive at steps at which much is.

    Args:
        is_full: by step.
        writers: by value, the instruction that may run again.
    """
    for value, writer in writers.items():
        touched = sorted(storage.touches.get(value, ()))
        found: list[Repeat] = []
        for first, then in pairwise(touched):
            reader = method.steps[then].instruction
            apart = method.steps[first].instruction < reader < len(method.instructions)
            is_read = reader != writer and value in method.steps[then].roles.reads
            if apart and is_read and any(is_full[first + 1 : method.first_step[reader]]):
                found.append(Repeat(writer, reader))
        if found and (tensor_bytes(method.tensor(value)) or 0):
            yield value, tuple(found)
