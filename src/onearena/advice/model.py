"""The answers of `explain`."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from onearena.shapes.effects import LiveFootprint
from onearena.summary.model import ProgramSummary, StepSummary, TensorSummary


class AdviceKind(StrEnum):
    """What to change."""

    OPTIMIZE = "optimize"
    GRAPH_BREAK = "graph-break"
    UNPLANNED_INPUTS = "unplanned-inputs"
    UNPLANNED_OUTPUTS = "unplanned-outputs"
    INT8_INPUTS = "int8-inputs"
    INT8_OUTPUTS = "int8-outputs"
    LAST_TOKEN = "last-token"
    CONCAT = "concat"
    SHARE_ARENAS = "share-arenas"
    DYNAMIC_BOUND = "dynamic-bound"


class Basis(StrEnum):
    """What a saving is counted from."""

    AS_IS = "as it stands"
    OPTIMIZED = "after optimize"
    REPLANNED = "planned anew"


@dataclass(frozen=True)
class Advice:
    """One change and its effect.

    Attributes:
        method: the method, or None for the whole program.
        title: what to change, in a few words.
        how: how to do it.
        basis: what `before_bytes` is: the file as it stands, or as `optimize` would plan it.
        before_bytes, after_bytes: arenas and workspace without and with the change alone.
        where: instructions, values or dimensions that it is about.
        notes: what the number rests on.
    """

    kind: AdviceKind
    method: str | None
    title: str
    how: str
    basis: Basis
    before_bytes: int
    after_bytes: int
    where: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def saved_bytes(self) -> int:
        """Positive when it helps."""
        return self.before_bytes - self.after_bytes


@dataclass(frozen=True)
class ArenaPeak:
    """The step at which most of an arena is alive.

    Attributes:
        tensors: one per block of memory alive there, the largest first.
    """

    memory_id: int
    size_bytes: int
    live_bytes: int
    step: StepSummary
    tensors: tuple[TensorSummary, ...]


@dataclass(frozen=True)
class LargestCall:
    """The delegate call that sets the size of the workspace."""

    instruction: int
    backend: str
    workspace_bytes: int


@dataclass(frozen=True)
class MethodExplanation:
    """What sets a method's memory, and what would lower it, the largest saving first.

    Attributes:
        total_bytes: arenas and workspace; None where the workspace is not known.
        optimized_bytes: the same after `optimize`; None where it could not be planned.
        live: the memory at the input shapes that were asked for; None if none were.
    """

    name: str
    total_bytes: int | None
    arena_bytes: int
    workspace_bytes: int | None
    optimized_bytes: int | None
    peaks: tuple[ArenaPeak, ...]
    largest_call: LargestCall | None
    advice: tuple[Advice, ...]
    notes: tuple[str, ...]
    live: LiveFootprint | None = None


@dataclass(frozen=True)
class Explanation:
    """The result of `explain`.

    Attributes:
        advice: what concerns the program as a whole.
    """

    summary: ProgramSummary
    methods: tuple[MethodExplanation, ...]
    advice: tuple[Advice, ...]
