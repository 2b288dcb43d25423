"""Checks a plan with the compiled verifier, which shares no code with the compiled planner."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onearena import _core
from onearena.errors import PlanError
from onearena.native_problem import to_native
from onearena.problem import Memory, Plan, Problem
from onearena.verification.violation import Violation


def verify_plan(
    problem: Problem, plan: Plan, memories: Sequence[Memory] = ()
) -> tuple[Violation, ...]:
    """All violations of `problem` by `plan`; empty when the plan is valid.

    Args:
        memories: capacities of arenas; others are unlimited.

    Raises:
        PlanError: the problem is malformed, or a number does not fit into 64 bits.
    """
    count = len(problem.buffers)
    if len(plan.offsets) != count or len(plan.arenas) not in (0, count):
        found = f"the plan has {len(plan.offsets)} offsets for {count} buffers"
        return (Violation("bounds", "", found),)
    arenas = sorted({*problem.arenas, *(memory.arena for memory in memories)})
    if not arenas:
        return ()
    lies_in = plan.arenas or tuple(buffer.arena for buffer in problem.buffers)
    words = _Words(problem, plan, arenas, lies_in)
    return tuple(
        Violation(kind, "", words.message(kind, first, second))
        for kind, first, second in _faults(problem, plan, memories, arenas, lies_in)
    )


def _faults(
    problem: Problem,
    plan: Plan,
    memories: Sequence[Memory],
    arenas: Sequence[int],
    lies_in: Sequence[int],
) -> list[tuple[str, int, int]]:
    index = {arena: k for k, arena in enumerate(arenas)}
    native = to_native(problem, memories)
    places = [index.get(arena, -1) for arena in lies_in]
    heights = [plan.height_bytes.get(arena, 0) for arena in arenas]
    try:
        return _core.verify(native, list(plan.offsets), places, heights)
    except TypeError:
        raise PlanError("a number of the plan does not fit into 64 bits") from None
    except ValueError as error:
        raise PlanError(str(error)) from None


@dataclass(frozen=True)
class _Words:
    """Says what a fault is, with the bytes."""

    problem: Problem
    plan: Plan
    arenas: Sequence[int]
    lies_in: Sequence[int]

    def message(self, kind: str, first: int, second: int) -> str:
        if kind == "capacity":
            arena = self.arenas[first]
            return f"arena {arena} cannot have {self.plan.height_bytes.get(arena, 0)} bytes"
        if second < 0:
            return self._of_one(kind, first)
        one, other = self._placed(first), self._placed(second)
        if kind == "alias":
            return f"{one} is not where {other}, its memory, says it is"
        if kind == "last":
            return f"{other} is not below {one}, above which nothing may lie"
        return f"{one} and {other} of arena {self.lies_in[first]} are alive at once"

    def _of_one(self, kind: str, k: int) -> str:
        buffer, offset, arena = self.problem.buffers[k], self.plan.offsets[k], self.lies_in[k]
        if kind == "alignment":
            return f"{self._name(k)} at {offset} is not aligned to {buffer.alignment}"
        if kind == "pinned":
            return f"{self._name(k)} must stay at {buffer.offset}, is at {offset}"
        if kind == "region" and buffer.region:
            region = f"[{buffer.region.start}, {buffer.region.end})"
            return f"{self._placed(k)} must lie in {region}"
        if kind == "memory":
            return f"{self._name(k)} must not lie in arena {arena}"
        height = self.plan.height_bytes.get(arena, 0)
        return f"{self._placed(k)} is outside of arena {arena}, which has {height} bytes"

    def _name(self, k: int) -> str:
        return self.problem.buffers[k].name or f"buffer {k}"

    def _placed(self, k: int) -> str:
        offset = self.plan.offsets[k]
        return f"{self._name(k)} at [{offset}, {offset + self.problem.buffers[k].size_bytes})"
