"""What a simulation found, as data and as JSON."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Clobber:
    """Bytes that do not hold what they should when they are needed.

    Attributes:
        kind: `overwritten`, `expired` (the analysis says that nobody needs them any more),
            `unwritten` (nothing wrote them where they are read), `scratch` (a kernel needs more
            than its scratch has), `red zone` (bytes that belong to no value were written) or
            `bounds` (a value does not lie inside its arena).
        input: which of the inputs showed it first, from 0; -1 where none had to be run.
        arena: memory_id.
        start, end: the bytes, offsets in the arena.
        victim: the value whose bytes they are; None for bytes of no value.
        base: the value in whose memory the victim lies when it is a view; else the victim.
        culprit: the value under whose name they were overwritten; None where nobody did.
        instruction: which overwrote them, or after which they expired; None where neither
            happened, -1 for the caller's inputs.
        written: the instruction that had written the victim; None where nothing had, -1 for the
            caller's inputs.
        needed: the instruction that read them first after that (the count of instructions
            stands for the caller, who reads the outputs); None where nobody did.
        last_needed: the last instruction that reads the victim.
        text: all of this in one line.
    """

    kind: str
    input: int
    arena: int
    start: int
    end: int
    victim: int | None
    base: int | None
    culprit: int | None
    instruction: int | None
    written: int | None
    needed: int | None
    last_needed: int | None
    text: str


@dataclass(frozen=True)
class MethodSimulation:
    """One method.

    Attributes:
        name: the method's.
        inputs: how many sets of inputs were run.
        executed: instructions that ran, over all inputs.
        arena_bytes: by memory_id, from 1.
        scratch_calls: calls of operators that take scratch, over all inputs.
        clobbers: what is wrong with the plan; empty when nothing is.
    """

    name: str
    inputs: int
    executed: int
    arena_bytes: tuple[int, ...]
    scratch_calls: int
    clobbers: tuple[Clobber, ...]


@dataclass(frozen=True)
class SimulationReport:
    """A program."""

    path: str
    methods: tuple[MethodSimulation, ...]
    notes: tuple[str, ...] = ()

    @property
    def safe(self) -> bool:
        """True when every read found the bytes that it should."""
        return not any(method.clobbers for method in self.methods)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "path": self.path,
            "safe": self.safe,
            "methods": [asdict(method) for method in self.methods],
            "notes": list(self.notes),
        }
