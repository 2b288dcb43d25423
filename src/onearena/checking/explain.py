"""What makes a quantity as large as it is: the step at the peak, and the largest parts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import StrEnum

from onearena.checking.amounts import Sizes
from onearena.checking.budget import WORKSPACE, Quantity
from onearena.sizes.file_parts import FileSizes
from onearena.summary.model import (
    ArenaSummary,
    DelegateSummary,
    Kind,
    MethodSummary,
    SourceLine,
    TensorSummary,
)

MAX_PARTS = 5


@dataclass(frozen=True, slots=True)
class Part:
    """One thing that takes bytes.

    Attributes:
        name: may come from the file: any characters.
        description: what it is; may come from the file, too.
    """

    name: str
    description: str
    size_bytes: int


class Subject(StrEnum):
    """What the parts are parts of."""

    ARENA = "arena"
    STATE = "state"
    WORKSPACE = "workspace"
    INDIRECTION = "indirection"
    FILE = "file"


@dataclass(frozen=True, slots=True)
class Explanation:
    """Why something is large.

    Attributes:
        method: None for the file.
        memory_id: of the arena, if it is one.
        step: in words, when most is taken; None where time plays no role.
        source: the line of the model that runs at that step, if the file says so.
        size_bytes: what the parts belong to: of an arena the bytes alive at the step.
        reserved_bytes: of an arena, its size: what its plan takes; None for everything else.
        parts: the largest ones.
        more: how many other parts there are.
    """

    subject: Subject
    method: str | None
    memory_id: int | None
    step: str | None
    source: SourceLine | None
    size_bytes: int
    reserved_bytes: int | None
    parts: tuple[Part, ...]
    more: int


def explain(sizes: Sizes, methods: Iterable[str], quantity: Quantity) -> tuple[Explanation, ...]:
    """What the quantity of these methods is made of, as far as the file tells."""
    if not quantity.is_per_method:
        return () if sizes.file is None else (_file(sizes.file),)
    found: list[Explanation] = []
    for name in methods:
        method = sizes.summary.method(name)
        if method is None:
            continue
        if quantity.name in ("arena", "total"):
            arenas = [a for a in method.arenas if quantity.memory_id in (None, a.memory_id)]
            found += [_peak(method, arena) for arena in arenas if arena.peak_step is not None]
        if quantity.name in ("workspace", "total"):
            found += _delegates(method, WORKSPACE)
        if quantity.name == "indirection":
            found += _delegates(method, quantity)
        if quantity.name == "state":
            found += _state(method)
    return tuple(found)


def _peak(method: MethodSummary, arena: ArenaSummary) -> Explanation:
    assert arena.peak_step is not None
    step = method.steps[arena.peak_step]
    parts = [_tensor(tensor) for tensor in method.alive_at(step.number, arena.memory_id)]
    return Explanation(
        Subject.ARENA,
        method.name,
        arena.memory_id,
        step.where,
        step.source,
        arena.peak_bytes,
        arena.size_bytes,
        tuple(parts[:MAX_PARTS]),
        max(0, len(parts) - MAX_PARTS),
    )


def _tensor(tensor: TensorSummary) -> Part:
    return Part(tensor.name, tensor.description, tensor.size_bytes)


def _delegates(method: MethodSummary, quantity: Quantity) -> list[Explanation]:
    subject = Subject(quantity.name)
    parts = []
    for delegate in method.delegates:
        is_workspace = subject is Subject.WORKSPACE
        size = delegate.workspace_bytes if is_workspace else delegate.indirection_bytes
        if delegate.calls and size:
            parts.append(Part(f"delegate {delegate.number}", _delegate_text(delegate), size))
    if not parts:
        return []
    parts.sort(key=lambda part: -part.size_bytes)
    # the shared workspace is as large as that of the largest delegate
    size = parts[0].size_bytes if subject is Subject.WORKSPACE else sum(p.size_bytes for p in parts)
    return [_without_step(subject, method.name, size, parts)]


def _delegate_text(delegate: DelegateSummary) -> str:
    calls = ", ".join(str(call) for call in delegate.calls[:3])
    several = len(delegate.calls) > 1
    more = ", ..." if len(delegate.calls) > 3 else ""
    return f"{delegate.backend}, instruction{'s' if several else ''} {calls}{more}"


def _state(method: MethodSummary) -> list[Explanation]:
    parts = [
        _tensor(method.tensors[block.tensors[0]])
        for block in method.blocks
        if block.kind is Kind.STATE and block.tensors
    ]
    if not parts:
        return []
    parts.sort(key=lambda part: -part.size_bytes)
    return [_without_step(Subject.STATE, method.name, method.state_bytes, parts)]


def _file(file: FileSizes) -> Explanation:
    """All parts, however many: they add up to the file."""
    parts = [Part(part.name, part.note, part.size_bytes) for part in file.parts]
    parts.sort(key=lambda part: -part.size_bytes)
    return _without_step(Subject.FILE, None, file.file_bytes, parts, len(parts))


def _without_step(
    subject: Subject,
    method: str | None,
    size_bytes: int,
    parts: list[Part],
    most: int = MAX_PARTS,
) -> Explanation:
    shown, more = tuple(parts[:most]), max(0, len(parts) - most)
    return Explanation(subject, method, None, None, None, size_bytes, None, shown, more)
