"""How much memory a method takes, and where."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class MethodMemory:
    """A method's memory, in bytes where nothing else is said.

    Attributes:
        program_bytes: the file, which is mapped and shared by all methods and processes.
        planned_bytes: the arenas that the file declares for the method.
        arena_bytes: what the method takes of the shared arena: the plan in use, or in a run
            without a plan the most that was in use at once.
        arena_resident_bytes: what the operating system has given to the shared arena, for
            everything that used it since it was trimmed.
        state_bytes: the program's state (mutable buffers, caches), kept from run to run.
        private_bytes: planned memory that the method keeps for itself, because some of it is
            not understood (see the method's notes in `onearena inspect`).
        method_allocator_bytes: what delegates took when they were loaded.
        loaded_bytes: values: tensors, lists, numbers.
        executor_bytes: instructions.
        input_bytes: of the arena, what the inputs are copied into.
        temp_bytes: the most that one instruction asked for so far.
        temp_elsewhere_bytes: of that, what had no place in the arena in the last run.
        delegate_bytes: the most that one delegate had of the arena for itself.
        persistent_bytes: what delegates that say so keep from run to run.
        workspace_bytes: XNNPACK's own memory for activations, outside the arena: in the last
            run, or predicted from the file where it cannot be planned.
        runs: how often the method ran.
        planning: "static" (the plan in the file), "shapes" or "simple".
        cached_plans: plans kept now, one for each set of input shapes.
        plans: how many were made so far.
        lazy_runs: runs without a plan, in which sizes were observed.
        plan_us: the time that the last plan took, in microseconds.
        bind_us: the time that it took to give the tensors other places, the last time that was
            necessary, in microseconds.
    """

    program_bytes: int
    planned_bytes: int
    arena_bytes: int
    arena_resident_bytes: int
    state_bytes: int
    private_bytes: int
    method_allocator_bytes: int
    loaded_bytes: int
    executor_bytes: int
    input_bytes: int
    temp_bytes: int
    temp_elsewhere_bytes: int
    delegate_bytes: int
    persistent_bytes: int
    workspace_bytes: int
    runs: int
    planning: str
    cached_plans: int
    plans: int
    lazy_runs: int
    plan_us: float
    bind_us: float

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return asdict(self)
