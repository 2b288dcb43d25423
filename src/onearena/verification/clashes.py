"""Operands and outputs of one step that may not be one memory."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from onearena.timeline.steps import MethodSteps, Step
from onearena.verification.memory_state import Extent
from onearena.verification.origins import moves_bytes
from onearena.verification.sharing import may_lie_at
from onearena.verification.trace_result import Trace
from onearena.verification.violation import Violation


def method_name(method: MethodSteps) -> str:
    """What violations call it."""
    return method.plan.name or ""


def where_of(method: MethodSteps, step: Step) -> str:
    """A step in the words of violations."""
    if step.instruction < 0:
        return "at the start"
    if step.instruction >= len(method.instructions):
        return "at the end"
    node = f", node {step.node.index}" if step.node is not None else ""
    return f"at instruction {step.instruction} ({step.label}{node})"


@dataclass(frozen=True)
class _Use:
    """A value whose bytes a step may read or write.

    Attributes:
        moved: True when its own node is another one, with which XNNPACK may merge this one.
    """

    value: int
    extent: Extent
    moved: bool


def clashing_steps(
    method: MethodSteps, trace: Trace, extents: Mapping[int, Extent]
) -> Iterable[Violation]:
    """By step, what it writes that lies over something which it needs or writes as well."""
    late: dict[int, list[tuple[int, int]]] = {}
    early: dict[int, list[tuple[int, int]]] = {}
    for position, step in enumerate(method.steps):
        for value, when in step.late_reads:
            late.setdefault(when, []).append((position, value))
        for value, when in step.early_writes:
            early.setdefault(when, []).append((position, value))

    def uses(position: int, own: Sequence[int], others: Iterable[tuple[int, int]]) -> list[_Use]:
        named = [(position, value) for value in own]
        named += [(at, value) for at, value in others if value not in own]
        return [
            _Use(value, extents[target], at != position)
            for at, value in named
            for target in sorted(trace.targets.get((at, value), ()))
            if target in extents
        ]

    for position, step in enumerate(method.steps):
        reads = uses(position, step.roles.reads, late.get(position, ()))
        writes = uses(position, step.roles.writes, early.get(position, ()))
        where = where_of(method, step)
        for message in dict.fromkeys(_clashes(method, step, reads, writes, where)):
            yield Violation("order", method_name(method), message)


def _clashes(
    method: MethodSteps, step: Step, reads: Iterable[_Use], writes: Sequence[_Use], where: str
) -> Iterable[str]:
    if not step.roles.understood:
        return  # nobody knows what it writes
    writes = [use for use in writes if use.value not in step.roles.maybe_reads]
    for index, one in enumerate(writes):
        for other in writes[:index]:
            if other.value != one.value and _overlap(one.extent, other.extent):
                yield f"values {other.value} and {one.value}, both written {where}, overlap"
        for operand in reads:
            if operand.value != one.value and not _is_legal(method, step, operand, one):
                yield f"value {one.value}, written {where}, overlaps its operand {operand.value}"


def _overlap(first: Extent, second: Extent) -> bool:
    return first.arena == second.arena and first.start < second.end and second.start < first.end


def _contains(outer: Extent, inner: Extent) -> bool:
    return outer.start <= inner.start and inner.end <= outer.end


def _is_legal(method: MethodSteps, step: Step, operand: _Use, output: _Use) -> bool:
    """An operand and an output may be one memory for operators that are known to allow it;
    exporters also use exactly equal places for kernels that work in place. Nodes that XNNPACK
    merges never work in place."""
    if not _overlap(operand.extent, output.extent):
        return True
    if output.value in step.roles.scratch:
        return False  # it is written while the operands are read
    if step.call is None or step.node is None:
        distances = may_lie_at(method, step, operand.value, output.value)
        if distances is None:
            inside = _contains(operand.extent, output.extent)
            return inside or _contains(output.extent, operand.extent)
        if not moves_bytes(step) and operand.extent != output.extent:
            return False
        return output.extent.start - operand.extent.start in distances
    if operand.extent != output.extent or operand.moved or output.moved:
        return False
    return operand.value in step.call.in_place_operands(step.node) or operand.value == (
        step.call.same_bytes_operand(step.node)
    )
