"""How long the memory of each value must keep its bytes."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping

from onearena.lifetime import Interval, Lifetime, merge
from onearena.timeline.access import Accesses
from onearena.timeline.steps import MethodSteps


def natural_lifetimes(
    method: MethodSteps,
    groups: Iterable[tuple[int, ...]],
    touches: Mapping[int, set[int]],
    views: Collection[int],
    scratch: Collection[int],
) -> dict[int, Lifetime]:
    """Lifetimes from the accesses alone; a view is alive since its memory was born, or since all
    that it consists of was written, scratch only while an instruction has it."""
    result: dict[int, Lifetime] = {}
    ready = _ready(method)
    nothing: set[int] = set()
    for group in groups:
        touched = [touches.get(value, nothing) for value in group]
        if ready:
            touched = [
                t | ready.get(value, nothing) for value, t in zip(group, touched, strict=True)
            ]
        birth = min((min(steps) for steps in touched if steps), default=0)
        for value, steps in zip(group, touched, strict=True):
            is_view = value in views and value not in method.sources
            extended = steps | {birth} if steps and is_view else steps
            if value in method.remade:
                result[value] = _remade(method, value, steps)
            elif value in scratch:
                result[value] = merge(Interval(step, step + 1) for step in steps)
            else:
                result[value] = lifetime_of(method, extended)
    return result


def _remade(method: MethodSteps, value: int, touched: Collection[int]) -> Lifetime:
    """The lifetime of a value that kernels write again: from each write to the last touch before
    the next one."""
    spans: list[Interval] = []
    for step in sorted(touched):
        if not spans or value in method.steps[step].roles.writes:
            spans.append(Interval(step, step + 1))
        else:
            spans[-1] = Interval(spans[-1].start, step + 1)
    return merge(spans)


def _ready(method: MethodSteps) -> dict[int, set[int]]:
    """By value that has its bytes from others, and by these, the step at which all of them are
    there: the last one of the instructions that write them."""
    written: dict[int, int] = {}
    for step in method.steps:
        for value in step.roles.writes if method.sources else ():
            end = method.first_step[step.instruction + 1] if step.instruction >= 0 else 1
            written[value] = max(written.get(value, 0), end - 1)
    result: dict[int, set[int]] = {}

    def ready(value: int) -> int:
        sources = method.sources.get(value, ())
        when = max((ready(source) for source in sources), default=written.get(value, 0))
        for member in (value, *sources):
            result.setdefault(member, set()).add(when)
        return when

    for value in method.sources:
        ready(value)
    return result


def lasting_lifetimes(
    method: MethodSteps, natural: Mapping[int, Lifetime], lasting: Collection[int]
) -> dict[int, Lifetime]:
    """State and pinned values live through the whole method."""
    whole = (Interval(0, method.exit_step + 1),)
    return {value: whole if value in lasting else life for value, life in natural.items()}


def touches_of(method: MethodSteps, accesses: Accesses) -> dict[int, set[int]]:
    """By planned value, every step at which its memory may be touched."""
    touches: dict[int, set[int]] = {}
    points_to = accesses.points_to

    def touch(value: int, when: Iterable[int]) -> None:
        for target in points_to.get(value, ()):
            touches.setdefault(target, set()).update(when)

    for value, steps in (*accesses.reads.items(), *accesses.writes.items()):
        touch(value, steps)
    for step in method.steps:
        for value, when in (*step.late_reads, *step.early_writes):
            touch(value, (when,))
    return touches


def lifetime_of(method: MethodSteps, touched: set[int]) -> Lifetime:
    """The steps at which memory touched at `touched` must keep its bytes.

    Without jumps, from the first to the last touch. With jumps, every instruction on a path
    between two touches: memory touched in a loop lives through the loop, a branch that does
    not lead to a touch is not part of it. Memory of one instruction only lives inside it.
    """
    if not touched:
        return ()
    first, last = min(touched), max(touched)
    if method.flow.is_straight:
        return (Interval(first, last + 1),)
    instructions = {method.steps[step].instruction for step in touched}
    if len(instructions) == 1 and first > 0:
        return (Interval(first, last + 1),)
    positions = method.flow.live_positions(max(i, 0) for i in instructions)
    spans = [Interval(method.first_step[p], _end_of(method, p)) for p in positions]
    return merge((*spans, Interval(first, first + 1)))


def _end_of(method: MethodSteps, position: int) -> int:
    if position + 1 < len(method.first_step):
        return method.first_step[position + 1]
    return method.exit_step + 1
