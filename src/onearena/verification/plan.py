"""Checks a plan against its problem, buffer by buffer and pair by pair."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.lifetime import intersects
from onearena.problem import Buffer, Plan, Problem
from onearena.verification.violation import Violation


def verify_plan(problem: Problem, plan: Plan) -> tuple[Violation, ...]:
    """All violations of `problem` by `plan`; empty when the plan is valid."""
    if len(plan.offsets) != len(problem.buffers):
        found = f"the plan has {len(plan.offsets)} offsets for {len(problem.buffers)} buffers"
        return (Violation("bounds", "", found),)
    return (*_placement(problem, plan), *_groups(problem, plan), *_overlaps(problem, plan))


def _placement(problem: Problem, plan: Plan) -> Iterable[Violation]:
    for buffer, offset in zip(problem.buffers, plan.offsets, strict=True):
        if offset < 0 or offset + buffer.size_bytes > plan.height_bytes.get(buffer.arena, 0):
            yield Violation(
                "bounds",
                "",
                f"{buffer.name} ends at byte {offset + buffer.size_bytes} of arena {buffer.arena}, "
                f"which has {plan.height_bytes.get(buffer.arena, 0)}",
            )
        if offset % buffer.alignment:
            yield Violation(
                "alignment", "", f"{buffer.name} at {offset} is not aligned to {buffer.alignment}"
            )
        if buffer.offset is not None and offset != buffer.offset:
            yield Violation(
                "pinned", "", f"{buffer.name} must stay at {buffer.offset}, is at {offset}"
            )


def _groups(problem: Problem, plan: Plan) -> Iterable[Violation]:
    for group in problem.groups:
        origin = plan.offsets[group[0].buffer] - group[0].delta
        for member in group[1:]:
            if plan.offsets[member.buffer] != origin + member.delta:
                first, other = problem.buffers[group[0].buffer], problem.buffers[member.buffer]
                yield Violation(
                    "alias", "", f"{other.name} is not where {first.name}, its memory, says it is"
                )


def _overlaps(problem: Problem, plan: Plan) -> Iterable[Violation]:
    allowed = {frozenset(pair) for pair in problem.may_share}
    group_of = problem.group_of
    order = sorted(
        (b for b in problem.buffers if b.lifetime), key=lambda buffer: buffer.lifetime[0].start
    )
    active: list[Buffer] = []
    for buffer in order:
        start = plan.offsets[buffer.id]
        active = [b for b in active if b.lifetime[-1].end > buffer.lifetime[0].start]
        for other in active:
            at = plan.offsets[other.id]
            if (
                other.arena != buffer.arena
                or at >= start + buffer.size_bytes
                or start >= at + other.size_bytes
                or not intersects(buffer.lifetime, other.lifetime)
                or not _meet(buffer, start, other, at)
            ):
                continue
            if buffer.id in group_of and group_of[buffer.id] == group_of.get(other.id):
                continue
            pair = frozenset((buffer.id, other.id))
            if pair in allowed and start == at and buffer.size_bytes == other.size_bytes:
                continue
            yield Violation(
                "overlap",
                "",
                f"{other.name} at [{at}, {at + other.size_bytes}) and {buffer.name} at "
                f"[{start}, {start + buffer.size_bytes}) of arena {buffer.arena} are alive at once",
            )
        active.append(buffer)


def _meet(first: Buffer, start: int, second: Buffer, at: int) -> bool:
    """Whether two buffers occupy a byte in common at some step at which both are alive."""
    if not first.windows and not second.windows:
        return True
    moments = {
        moment
        for buffer in (first, second)
        for life in (*buffer.lifetime, *(window.lifetime for window in buffer.windows))
        for moment in (life.start, life.end)
    }
    for moment in moments:  # nothing changes between two of them
        one, other = _occupied(first, moment), _occupied(second, moment)
        if one is None or other is None:
            continue
        if start + one[0] < at + other[1] and at + other[0] < start + one[1]:
            return True
    return False


def _occupied(buffer: Buffer, step: int) -> tuple[int, int] | None:
    if not any(life.start <= step < life.end for life in buffer.lifetime):
        return None
    for window in buffer.windows:
        if window.lifetime.start <= step < window.lifetime.end:
            return window.start_byte, window.end_byte
    return 0, buffer.size_bytes
