"""The summary of a program. All sizes and offsets are in bytes, all intervals half-open steps.

A step is one instant of a method's timeline: step 0 is before the first instruction, an
instruction is one step, a delegate call that is understood has a step per node, the last step
is after the last instruction. What a file cannot tell is None, never 0.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from onearena.lifetime import Lifetime
from onearena.timeline.steps import where_text


class Kind(StrEnum):
    """What a planned tensor is for."""

    INPUT = "input"
    OUTPUT = "output"
    ACTIVATION = "activation"
    INNER = "opened"
    SCRATCH = "scratch"
    STATE = "state"


KIND_WORDS: Mapping[Kind, str] = {
    Kind.INPUT: "input",
    Kind.OUTPUT: "output",
    Kind.ACTIVATION: "activation",
    Kind.INNER: "activation of an opened delegate",
    Kind.SCRATCH: "scratch",
    Kind.STATE: "state",
}


class StepKind(StrEnum):
    """What runs at a step."""

    ENTRY = "entry"
    KERNEL = "kernel"
    NODE = "node"
    DELEGATE = "delegate"
    CONTROL = "control"
    EXIT = "exit"


@dataclass(frozen=True, slots=True)
class SourceLine:
    """The innermost frame of the stack trace that the exporter kept for an instruction."""

    file: str
    line: int
    function: str
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass(frozen=True, slots=True)
class StepSummary:
    """One step.

    Attributes:
        instruction: position in the method; -1 at the entry, the count at the exit.
        node: position in the payload, where the step is one node of a delegate call.
        label: the operator, node or backend.
        delegate: number of the delegate that runs, or None.
        source: where in the model it comes from, if the file says so.
    """

    number: int
    instruction: int
    node: int | None
    label: str
    kind: StepKind
    delegate: int | None
    source: SourceLine | None

    @property
    def where(self) -> str:
        """In words."""
        # the number of the exit is the count
        count = self.instruction + (self.kind is not StepKind.EXIT)
        return where_text(self.instruction, count, self.label, self.node)


@dataclass(frozen=True, slots=True)
class TensorSummary:
    """A planned tensor.

    Attributes:
        value: index among the method's values.
        name: what people call it; "value 12" where the file has no name.
        shape: upper bounds where `is_dynamic`.
        arena: its `memory_id`.
        lifetime: when its bytes must not be touched by others; empty if never used.
        producers, consumers: steps that write and read it, ascending.
        block: number of its block; tensors of one block are names of the same memory.
        pinned: why it keeps its offset; None when it may move.
    """

    value: int
    name: str
    kind: Kind
    dtype: str
    shape: tuple[int, ...]
    is_dynamic: bool
    size_bytes: int
    arena: int
    offset: int
    lifetime: Lifetime
    producers: tuple[int, ...]
    consumers: tuple[int, ...]
    block: int
    pinned: str | None

    @property
    def shape_text(self) -> str:
        """Like 1x3x224x224."""
        return "x".join(str(size) for size in self.shape) or "scalar"

    @property
    def description(self) -> str:
        """Element type, shape and kind in words."""
        bound = " at most" if self.is_dynamic else ""
        return f"{self.dtype}{bound} {self.shape_text} ({KIND_WORDS[self.kind]})"


@dataclass(frozen=True, slots=True)
class Rectangle:
    """The bytes [low, high) are taken during the steps [start, end)."""

    start: int
    end: int
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Block:
    """Memory that one or more tensors name.

    Attributes:
        tensors: positions in `MethodSummary.tensors`, the largest first.
        rectangles: what is taken when; apart from each other.
    """

    number: int
    arena: int
    kind: Kind
    tensors: tuple[int, ...]
    rectangles: tuple[Rectangle, ...]


@dataclass(frozen=True, slots=True)
class ArenaSummary:
    """One planned arena.

    Attributes:
        memory_id: its number in the file.
        size_bytes: as the file declares it.
        live_bytes: by step, the bytes that something alive takes, each once.
        bound_bytes: no plan for this order needs less, also if operators work in place where
            they may.
        peak_step: the first step at which most is alive; None when nothing is planned.
    """

    memory_id: int
    size_bytes: int
    live_bytes: tuple[int, ...]
    bound_bytes: int
    peak_step: int | None

    @property
    def peak_bytes(self) -> int:
        """The most that is alive at a step."""
        return max(self.live_bytes, default=0)


@dataclass(frozen=True, slots=True)
class DelegateSummary:
    """One delegate of a method.

    Attributes:
        number: its index in the method.
        backend: its name, e.g. "XnnpackBackend".
        calls: instructions that call it.
        is_opened: whether its activations are arguments, planned with all others.
        closed: why nothing inside it can be planned; None when it can, or already is.
        payload_bytes: what it takes in the file.
        nodes: operators in the payload.
        workspace_bytes: what it allocates for activations and scratch, predicted.
        indirection_bytes: pointers that convolutions and the like keep on the heap, estimated.
        weights_bytes: constants of the payload, inside it or in named data; packed copies of them
            live on the heap.
        notes: what the predictions rest on.
    """

    number: int
    backend: str
    calls: tuple[int, ...]
    is_opened: bool
    closed: str | None
    payload_bytes: int | None
    nodes: int | None
    workspace_bytes: int | None
    indirection_bytes: int | None
    weights_bytes: int | None
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Workspace:
    """Predicted workspace of all delegates under each sharing mode; None where not known.

    Attributes:
        separate_bytes: every delegate has its own (sharing disabled).
        per_model_bytes: the delegates of this program share one.
        global_bytes: all delegates of the process share one; this program's part.
        unknown: backends that are not understood.
    """

    separate_bytes: int | None
    per_model_bytes: int | None
    global_bytes: int | None
    unknown: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Unplanned:
    """An input or output whose memory the caller must bring."""

    value: int
    name: str
    kind: Kind
    description: str
    size_bytes: int | None


@dataclass(frozen=True, slots=True)
class MethodSummary:
    """One method.

    Attributes:
        arenas: by memory_id, without the reserved number 0.
        workspace_by_step: what the delegate that runs there needs in its closed part; None
            where that is not known.
        state_bytes: bytes that survive from run to run (part of the arenas).
        optimized_by: the version of onearena that planned it, or None.
    """

    name: str
    steps: tuple[StepSummary, ...]
    tensors: tuple[TensorSummary, ...]
    blocks: tuple[Block, ...]
    arenas: tuple[ArenaSummary, ...]
    delegates: tuple[DelegateSummary, ...]
    workspace: Workspace
    workspace_by_step: tuple[int | None, ...]
    unplanned: tuple[Unplanned, ...]
    state_bytes: int
    optimized_by: str | None
    notes: tuple[str, ...]

    @property
    def arena_bytes(self) -> int:
        """All arenas."""
        return sum(arena.size_bytes for arena in self.arenas)

    @property
    def bound_bytes(self) -> int:
        """All arenas, at least."""
        return sum(arena.bound_bytes for arena in self.arenas)

    @property
    def total_bytes(self) -> int | None:
        """Arenas and workspace, as shared by default; None where the latter is not known."""
        shared = self.workspace.global_bytes
        return None if shared is None else self.arena_bytes + shared

    @property
    def calls_delegates(self) -> bool:
        """Whether an instruction calls one."""
        return any(delegate.calls for delegate in self.delegates)

    def peak_arena(self) -> ArenaSummary | None:
        """The arena with the largest peak."""
        used = [arena for arena in self.arenas if arena.peak_step is not None]
        return max(used, key=lambda arena: arena.peak_bytes, default=None)

    def alive_at(self, step: int, memory_id: int) -> tuple[TensorSummary, ...]:
        """One tensor per block that is alive then, the largest first."""
        found = []
        for block in self.blocks:
            if block.arena != memory_id:
                continue
            if any(r.start <= step < r.end for r in block.rectangles):
                alive = [self.tensors[t] for t in block.tensors]
                named = [t for t in alive if any(i.start <= step < i.end for i in t.lifetime)]
                found.append((named or alive)[0])
        return tuple(sorted(found, key=lambda t: (-t.size_bytes, t.value)))


@dataclass(frozen=True, slots=True)
class ProgramSummary:
    """A program.

    Attributes:
        constants_bytes: weights that kernels use.
        description_bytes: everything outside of segments: values, instructions, names, padding.
    """

    path: str
    file_bytes: int
    description_bytes: int
    constants_bytes: int
    methods: tuple[MethodSummary, ...]

    def method(self, name: str) -> MethodSummary | None:
        """By name."""
        return next((method for method in self.methods if method.name == name), None)
