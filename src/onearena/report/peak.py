"""Finds the step at which a method's memory peaks, and what is alive there."""

from __future__ import annotations

from onearena.lifetime import Interval, merge
from onearena.pte.tensors import ScalarType
from onearena.results import LiveTensor, Peak
from onearena.timeline.build import Timeline
from onearena.timeline.steps import MethodSteps, Step

MAX_TENSORS = 10


def find_peak(timeline: Timeline) -> Peak | None:
    """The step with the most live bytes; None when the method plans nothing."""
    storage = timeline.storage
    changes: dict[int, int] = {}
    for value, lifetime in storage.lifetimes.items():
        for interval in lifetime:
            size = storage.memories[value].size_bytes
            changes[interval.start] = changes.get(interval.start, 0) + size
            changes[interval.end] = changes.get(interval.end, 0) - size
    live, best_step, best = 0, -1, 0
    for step in sorted(changes):
        live += changes[step]
        if live > best:
            best, best_step = live, step
    if best_step < 0:
        return None
    return _peak_at(timeline, best_step)


def _peak_at(timeline: Timeline, step: int) -> Peak:
    storage, method = timeline.storage, timeline.method
    alive = [
        value
        for value, lifetime in storage.lifetimes.items()
        if any(interval.start <= step < interval.end for interval in lifetime)
    ]
    alive.sort(key=lambda value: (-storage.memories[value].size_bytes, value))
    tensors = tuple(
        LiveTensor(value, storage.memories[value].size_bytes, _describe(timeline, value))
        for value in alive[:MAX_TENSORS]
    )
    return Peak(step_label(method, method.steps[step]), _distinct_bytes(timeline, alive), tensors)


def _distinct_bytes(timeline: Timeline, alive: list[int]) -> int:
    """Bytes alive, those of one alias group once."""
    storage = timeline.storage
    group_of = {value: k for k, group in enumerate(storage.groups) for value in group}
    total = 0
    spans: dict[int, list[Interval]] = {}
    for value in alive:
        memory = storage.memories[value]
        if value in group_of:
            spans.setdefault(group_of[value], []).append(Interval(memory.start, memory.end))
        else:
            total += memory.size_bytes
    return total + sum(i.end - i.start for group in spans.values() for i in merge(group))


def step_label(method: MethodSteps, step: Step) -> str:
    """A step in words."""
    if step.instruction < 0:
        return "before the first instruction"
    if step.instruction >= len(method.instructions):
        return "after the last instruction"
    node = f" (node {step.node.index})" if step.node is not None else ""
    return f"instruction {step.instruction}: {step.label}{node}"


def _describe(timeline: Timeline, value: int) -> str:
    method = timeline.method
    tensor = method.tensor(value)
    kind = "activation"
    if value in timeline.storage.state:
        kind = "state"
    elif value in method.inputs:
        kind = "input"
    elif value in method.outputs:
        kind = "output"
    elif value in timeline.added:
        kind = "inside XNNPACK"
    shape = "x".join(str(size) for size in tensor.sizes or ()) or "scalar"
    return f"{ScalarType(tensor.scalar_type).name.lower()} {shape} ({kind})"
