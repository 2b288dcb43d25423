"""Advice on concatenations along the outermost axis: their inputs could be made in place."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from onearena.advice.edit import changed, is_free
from onearena.advice.ground import Ground
from onearena.advice.model import Advice, AdviceKind, Basis
from onearena.delegates.xnnpack.schema import Concatenate
from onearena.problem import Buffer, Member
from onearena.pte.schema import Int, KernelCall
from onearena.timeline.build import LARGE_ALIGNMENT
from onearena.timeline.roles import flatten
from onearena.timeline.steps import Step

_CAT = "aten::cat"


@dataclass(frozen=True)
class _Concat:
    """Inputs in the order in which they lie in the output."""

    step: int
    inputs: tuple[int, ...]
    output: int


def concat_advice(ground: Ground) -> Iterable[Advice]:
    """All concatenations that need no copy, together."""
    timeline = ground.timeline
    tied: list[tuple[Member, ...]] = []
    replaced: dict[int, Buffer] = {}
    chosen: list[_Concat] = []
    taken: set[int] = set()
    for found in _concats(ground):
        values = (*found.inputs, found.output)
        if taken.intersection(values) or len(set(values)) < len(values):
            continue
        if not all(_may_be_tied(ground, v) for v in values):
            continue
        taken.update(values)
        chosen.append(found)
        delta = 0
        members = [Member(timeline.buffer_of[found.output], 0)]
        for value in found.inputs:
            buffer = timeline.problem.buffers[timeline.buffer_of[value]]
            size = timeline.storage.memories[value].size_bytes
            alignment = min(LARGE_ALIGNMENT, delta & -delta or LARGE_ALIGNMENT)
            replaced[buffer.id] = replace(buffer, size_bytes=size, alignment=alignment)
            members.append(Member(buffer.id, delta))
            delta += size
        tied.append(tuple(members))
    if not chosen:
        return
    after = ground.with_problem(changed(timeline.problem, replaced, tied=tied))
    if after is None:
        return
    count = f"{len(chosen)} concatenations" if len(chosen) > 1 else "a concatenation"
    yield Advice(
        AdviceKind.CONCAT,
        ground.method.plan.name,
        f"write the inputs of {count} straight into the result",
        "let every producer write into its slice of the result; then nothing is copied",
        Basis.OPTIMIZED,
        ground.optimized_bytes,
        after,
        tuple(_where(ground, found.step) for found in chosen),
        ("no exporter does this by itself yet",),
    )


def _where(ground: Ground, step: int) -> str:
    found = ground.steps.steps[step]
    return f"instruction {found.instruction} ({found.label})"


def _may_be_tied(ground: Ground, value: int) -> bool:
    """Whether some step inside the method makes the value, and nothing ties it down."""
    steps = ground.steps
    if value in steps.inputs or value in ground.timeline.storage.state:
        return False
    return is_free(ground.timeline, value)


def _concats(ground: Ground) -> Iterable[_Concat]:
    for number, step in enumerate(ground.steps.steps):
        found = _kernel(ground, step) if step.node is None else _node(ground, step)
        if found is None:
            continue
        inputs, output, axis = found
        shape = ground.steps.tensor(output).sizes or ()
        memories = ground.timeline.storage.memories
        if any(size != 1 for size in shape[:axis]) or output not in memories:
            continue
        if any(value not in memories for value in inputs):
            continue
        arenas = {memories[value].arena for value in (*inputs, output)}
        if len(arenas) == 1 and _fills(ground, inputs, output):
            yield _Concat(number, inputs, output)


def _fills(ground: Ground, inputs: Sequence[int], output: int) -> bool:
    memories = ground.timeline.storage.memories
    return sum(memories[v].size_bytes for v in inputs) == memories[output].size_bytes


_Found = tuple[tuple[int, ...], int, int]  # inputs, output, axis


def _kernel(ground: Ground, step: Step) -> _Found | None:
    if not step.label.startswith(_CAT) or not 0 <= step.instruction < len(
        ground.steps.instructions
    ):
        return None
    call = ground.steps.instructions[step.instruction]
    plan = ground.steps.plan
    if not isinstance(call, KernelCall) or len(call.args or ()) < 3 or len(step.roles.writes) != 1:
        return None
    args = call.args or ()
    axis = (plan.values or ())[args[1]].val
    output = step.roles.writes[0]
    if not isinstance(axis, Int) or _is_permuted(ground, output):
        return None
    rank = len(ground.steps.tensor(output).sizes or ())
    inputs = flatten(plan, args[:1])
    return inputs, output, axis.int_val % rank if rank else 0


def _is_permuted(ground: Ground, value: int) -> bool:
    order = ground.steps.tensor(value).dim_order or ()
    return tuple(order) != tuple(range(len(order)))


def _node(ground: Ground, step: Step) -> _Found | None:
    if step.call is None or step.node is None:
        return None
    union = step.node.xnode.xnode_union
    if not isinstance(union, Concatenate) or len(step.roles.writes) != 1:
        return None
    inputs = step.call.values(step.node.inputs)
    if len(inputs) != len(step.node.inputs) or _is_permuted(ground, step.roles.writes[0]):
        return None
    return inputs, step.roles.writes[0], union.axis
