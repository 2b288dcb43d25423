"""Runs a method in the abstract: for every read, which write do its bytes come from?

The trace follows bytes, not lifetimes. Every step reads its operands and then writes its
outputs into a map of the arenas; values that a `MoveCall` or `et_view` re-points are followed
through their handles. An output that may be written early is written at both moments, an
operand that may be read late is read at both, so the answer covers either order. Where paths
meet, the possible origins are joined; loops are followed until nothing changes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from onearena.bytemap import ByteMap
from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.rules import SAME_BYTES
from onearena.pte.schema import Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.timeline.steps import MethodSteps, Step


@dataclass(frozen=True, slots=True)
class Origin:
    """Where bytes come from.

    Attributes:
        kind: `write` (by an instruction), `loaded` (initial state in the file), `before`
            (whatever the bytes held before the run).
        instruction: of a write; -1 for the caller's inputs.
        content: what was written or loaded: the method's value, or, written inside an
            XNNPACK call, `payload_content` of the payload's value. For `before`, the arena.
    """

    kind: str
    instruction: int
    content: int


@dataclass(frozen=True, slots=True)
class Piece:
    """Bytes [start, start + size_bytes) of a value, and their possible origins.

    Each origin comes with the position of the first byte inside it.
    """

    start: int
    size_bytes: int
    origins: frozenset[tuple[Origin, int]]


Pieces = tuple[Piece, ...]


@dataclass(frozen=True, slots=True)
class Extent:
    """A planned value's place."""

    arena: int
    start: int
    end: int


@dataclass
class Trace:
    """What a run reads.

    Attributes:
        reads: by (step, value): the pieces read, one entry per memory the handle may name,
            and one per moment at which the read may happen.
        written: by value, the origins it may hold after a step has written it.
        loaded: values with initial state.
        at_exit: by value, the pieces of its own memory after the run.
    """

    reads: dict[tuple[int, int], frozenset[Pieces]] = field(default_factory=dict)
    written: dict[int, set[Origin]] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)
    at_exit: dict[int, Pieces] = field(default_factory=dict)


def payload_content(identifier: int) -> int:
    """The content number of an XNNPACK payload's value: negative, unlike the method's values."""
    return -identifier - 2


def describe(origin: Origin) -> str:
    """An origin in words."""
    if origin.kind == "loaded":
        return f"the initial state of value {origin.content}"
    if origin.kind == "before":
        return "an earlier run"
    if origin.instruction < 0:
        return f"input value {origin.content}"
    if origin.content < 0:
        return f"XNNPACK value {-origin.content - 2} of instruction {origin.instruction}"
    return f"value {origin.content} (written at instruction {origin.instruction})"


def extents_of(method: MethodSteps) -> dict[int, Extent]:
    """The place of every planned value of known, positive size."""
    result: dict[int, Extent] = {}
    for index, entry in enumerate(method.plan.values or ()):
        tensor = entry.val
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            size = tensor_bytes(tensor)
            if size:
                start = tensor.allocation_info.offset
                result[index] = Extent(tensor.allocation_info.memory_id, start, start + size)
    return result


Seeds = Mapping[int, Iterable[tuple[int, int, Origin, int]]]
"""By value: (start, end) inside it, the origin of these bytes, the position inside the origin."""

_Owner = tuple[Origin, int]
"""An origin and the address at which its byte 0 would lie; for `before`, always 0."""
_Map = ByteMap[frozenset[_Owner]]


class _State:
    def __init__(self) -> None:
        self.arenas: dict[int, _Map] = {}
        self.handles: dict[int, frozenset[int]] = {}

    def copy(self) -> _State:
        other = _State()
        other.arenas = {arena: owned.copy() for arena, owned in self.arenas.items()}
        other.handles = dict(self.handles)
        return other


def trace_method(
    method: MethodSteps, seeds: Seeds | None = None, numbers: Sequence[int] = ()
) -> Trace:
    """Traces a method.

    Args:
        seeds: origins of bytes before the run, for comparing with another file.
        numbers: what to call each instruction, for comparing with another order; by default
            its position.
    """
    return _Tracer(method, seeds or {}, numbers).run()


class _Tracer:
    def __init__(self, method: MethodSteps, seeds: Seeds, numbers: Sequence[int]) -> None:
        self._method = method
        self._numbers = numbers
        self._extents = extents_of(method)
        self._seeds = seeds
        self._early: dict[int, list[tuple[int, int]]] = {}
        self._late: dict[int, list[tuple[int, int]]] = {}
        for position, step in enumerate(method.steps):
            for value, when in step.early_writes:
                self._early.setdefault(when, []).append((position, value))
            for value, when in step.late_reads:
                self._late.setdefault(when, []).append((position, value))
        self._trace = Trace()

    def run(self) -> Trace:
        state = self._entry()
        if self._method.flow.is_straight:
            for position in range(len(self._method.steps)):
                self._step(state, position, record=True)
        else:
            state = self._fixpoint(state)
        for value in self._extents:
            self._trace.at_exit[value] = self._pieces(state, value)
        return self._trace

    def _entry(self) -> _State:
        state = _State()
        for value, extent in self._extents.items():
            tensor = self._method.tensor(value)
            if tensor.data_buffer_idx:
                self._trace.loaded.add(value)
                self._write(state, value, Origin("loaded", -1, value))
            for start, end, origin, position in self._seeds.get(value, ()):
                arena = state.arenas.setdefault(extent.arena, ByteMap())
                base = extent.start + start - position
                arena.write(extent.start + start, extent.start + end, frozenset(((origin, base),)))
        return state

    def _fixpoint(self, entry: _State) -> _State:
        arrivals: dict[int, _State] = {0: entry}
        pending = [0]
        while pending:
            position = pending.pop()
            state = arrivals[position].copy()
            self._step(state, position, record=False)
            for target in self._successors(position):
                known = arrivals.get(target)
                merged = state if known is None else _join(known, state)
                if known is None or not _same(known, merged):
                    arrivals[target] = merged
                    pending.append(target)
        for position, state in arrivals.items():
            self._step(state.copy(), position, record=True)
        return arrivals.get(self._method.exit_step, entry)

    def _successors(self, position: int) -> tuple[int, ...]:
        method = self._method
        if position == method.exit_step:
            return ()
        instruction = method.steps[position].instruction
        if instruction < 0 or method.steps[position + 1].instruction == instruction:
            return (position + 1,)
        return tuple(method.first_step[t] for t in method.flow.successors[instruction])

    def _step(self, state: _State, position: int, record: bool) -> None:
        step = self._method.steps[position]
        if record:
            for value in step.roles.reads:
                self._read(state, position, value)
            for reader, value in self._late.get(position, ()):
                self._read(state, reader, value)
        for base, view in step.roles.aliases:
            state.handles[view] = self._handles(state, base)
        source = step.call.same_bytes_operand(step.node) if step.call and step.node else None
        for value in step.roles.writes:
            if source in self._extents and value in self._extents:
                self._copy(state, source, value)
            else:
                self._write(state, value, self._origin(step, value))
        for writer, value in self._early.get(position, ()):
            origin = self._origin(self._method.steps[writer], value)
            self._write(state, value, origin)

    def _origin(self, step: Step, value: int) -> Origin:
        number = step.instruction
        if self._numbers and 0 <= number < len(self._numbers):
            number = self._numbers[number]
        return Origin("write", number, _content(step, value))

    def _copy(self, state: _State, source: int, target: int) -> None:
        """A reshape or copy: the target's bytes come from where the source's came from."""
        extent = self._extents[target]
        pieces = self._pieces(state, source)
        arena = state.arenas.setdefault(extent.arena, ByteMap())
        held = self._trace.written.setdefault(target, set())
        for piece in pieces:
            start = extent.start + piece.start
            owners = frozenset((origin, start - at) for origin, at in piece.origins)
            arena.write(start, start + piece.size_bytes, owners)
            held.update(origin for origin, _ in piece.origins)

    def _handles(self, state: _State, value: int) -> frozenset[int]:
        return state.handles.get(value, frozenset((value,)))

    def _write(self, state: _State, value: int, origin: Origin) -> None:
        targets = self._handles(state, value)
        for target in targets:
            extent = self._extents.get(target)
            if extent is None:
                continue
            self._trace.written.setdefault(target, set()).add(origin)
            arena = state.arenas.setdefault(extent.arena, ByteMap())
            owner = frozenset(((origin, extent.start),))
            if len(targets) == 1:
                arena.write(extent.start, extent.end, owner)
                continue
            for start, end, old in arena.read(extent.start, extent.end):
                arena.write(start, end, owner | (old or frozenset()))

    def _read(self, state: _State, position: int, value: int) -> None:
        found = frozenset(
            self._pieces(state, target)
            for target in self._handles(state, value)
            if target in self._extents
        )
        key = (position, value)
        self._trace.reads[key] = self._trace.reads.get(key, frozenset()) | found

    def _pieces(self, state: _State, value: int) -> Pieces:
        extent = self._extents[value]
        arena = state.arenas.get(extent.arena)
        raw = arena.read(extent.start, extent.end) if arena else ()
        raw = raw or ((extent.start, extent.end, None),)
        pieces: list[Piece] = []
        for start, end, owners in raw:
            if owners is None:
                # bytes keep their identity by their address
                owner = Origin("before", -1, extent.arena)
                origins = frozenset(((owner, start),))
            else:
                origins = frozenset((origin, start - base) for origin, base in owners)
            _append(pieces, Piece(start - extent.start, end - start, origins))
        return tuple(pieces)


def _content(step: Step, value: int) -> int:
    """What a step writes: values of a payload are named by the payload, whose numbers are the
    same before and after opening, and a copy has the name of what was copied."""
    if step.call is None or step.node is None:
        return value
    graph = step.call.graph
    for identifier in step.node.outputs:
        if step.call.values((identifier,)) == (value,):
            return payload_content(_copied_from(graph, identifier))
    return value


def _copied_from(graph: Graph, identifier: int) -> int:
    node = graph.producer.get(identifier)
    while node is not None and node.kind in SAME_BYTES:
        identifier = node.inputs[0]
        node = graph.producer.get(identifier)
    return identifier


def _append(pieces: list[Piece], piece: Piece) -> None:
    """Adds a piece, joined with the one before it when it only continues it."""
    if pieces:
        last = pieces[-1]
        moved = frozenset((origin, at + last.size_bytes) for origin, at in last.origins)
        if moved == piece.origins and last.start + last.size_bytes == piece.start:
            pieces[-1] = Piece(last.start, last.size_bytes + piece.size_bytes, last.origins)
            return
    pieces.append(piece)


def _join(first: _State, second: _State) -> _State:
    result = _State()
    empty: _Map = ByteMap()
    for arena in {*first.arenas, *second.arenas}:
        a, b = first.arenas.get(arena, empty), second.arenas.get(arena, empty)
        joined: _Map = ByteMap()
        for one, other in ((a, b), (b, a)):
            for start, end, owners in one.items():
                for low, high, also in other.read(start, end):
                    before = frozenset(((Origin("before", -1, arena), 0),))
                    joined.write(low, high, owners | (before if also is None else also))
        result.arenas[arena] = joined
    for value in {*first.handles, *second.handles}:
        own = frozenset((value,))
        result.handles[value] = first.handles.get(value, own) | second.handles.get(value, own)
    return result


def _same(first: _State, second: _State) -> bool:
    if first.handles != second.handles or first.arenas.keys() != second.arenas.keys():
        return False
    return all(
        tuple(first.arenas[arena].items()) == tuple(second.arenas[arena].items())
        for arena in first.arenas
    )
