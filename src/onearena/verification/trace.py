"""Runs a method in the abstract: for every read, which write do its bytes come from?

The trace follows bytes, not lifetimes. Every step reads its operands and then writes its
outputs into a map of the arenas; values that a `MoveCall` or `et_view` re-points are followed
through their handles. An output that may be written early is written at both moments, an
operand that may be read late is read at both, so the answer covers either order. Paths are
told apart by what the handles name, as long as somebody still reads them; where they meet
otherwise, the possible origins are joined. Loops are followed until nothing changes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from onearena.bytemap import ByteMap
from onearena.delegates.xnnpack.simplify_names import may_keep_elements
from onearena.errors import AnalysisError
from onearena.timeline.access import successors
from onearena.timeline.roles import COPY_INDEX_OPERATOR
from onearena.timeline.steps import MethodSteps, Step
from onearena.verification.handles import live_handles
from onearena.verification.memory_state import (
    START,
    Extent,
    Owner,
    OwnerMap,
    PathKey,
    State,
    extents_of,
    join_states,
    same_states,
)
from onearena.verification.origins import (
    UNKNOWN,
    Origin,
    Piece,
    Pieces,
    append_piece,
    content_of,
    copied_values,
    cut_pieces,
    moves_bytes,
    piece_of,
)
from onearena.verification.sharing import copied_by_kernel, copies_of
from onearena.verification.trace_result import Trace

MAX_STATES = 4096
"""Combinations of what handles name that are followed at one step."""


Seeds = Mapping[int, Iterable[tuple[int, int, Origin, int]]]
"""By value: (start, end) inside it, the origin of these bytes, the position inside the origin."""


def trace_method(
    method: MethodSteps,
    seeds: Seeds | None = None,
    numbers: Sequence[int] = (),
    views: Collection[int] | None = None,
    clobbers: Mapping[int, Extent] | None = None,
    copied: Collection[int] = (),
) -> Trace:
    """Traces a method.

    Args:
        seeds: origins of bytes before the run, for comparing with another file.
        numbers: what to call each instruction, for comparing with another order; by default
            its position.
        views: values that count as views although a call that is not understood may have
            written them; by default, those whose bytes come from one memory.
        clobbers: by step, bytes that are overwritten after its operands are read and before its
            outputs are written: the temp region.
        copied: instructions that only copy, whose outputs hold what their operands held.

    Raises:
        AnalysisError: there are more combinations of branches than can be followed.
    """
    return _Tracer(method, seeds or {}, numbers, views, clobbers or {}, copied).run()


class _Tracer:
    def __init__(
        self,
        method: MethodSteps,
        seeds: Seeds,
        numbers: Sequence[int],
        views: Collection[int] | None,
        clobbers: Mapping[int, Extent],
        copied: Collection[int],
    ) -> None:
        self._method, self._copied = method, copied
        self._clobbers = clobbers
        self._numbers = numbers
        self._views = views
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
        entry = self._entry()
        if self._method.flow.is_straight:
            for position in range(len(self._method.steps)):
                self._step(entry, position, record=True)
            last = [entry]
        else:
            last = self._all_paths(entry)
        for value in self._extents:
            self._trace.at_exit[value] = frozenset(self._pieces(s, value) for s in last)
        return self._trace

    def _entry(self) -> State:
        state = State()
        for value, extent in self._extents.items():
            if self._method.tensor(value).data_buffer_idx:
                self._trace.loaded.add(value)
                self._write(state, value, Origin("loaded", -1, value))
            for start, end, origin, position in self._seeds.get(value, ()):
                arena = state.arenas.setdefault(extent.arena, ByteMap())
                base = extent.start + start - position
                arena.write(extent.start + start, extent.start + end, frozenset(((origin, base),)))
        return state

    def _all_paths(self, entry: State) -> list[State]:
        """Follows every path; returns the states at the exit."""
        live = live_handles(self._method)
        arrivals: dict[int, dict[PathKey, State]] = {0: {START: entry}}
        pending: list[tuple[int, PathKey]] = [(0, START)]
        while pending:
            position, key = pending.pop()
            state = arrivals[position][key].copy()
            self._step(state, position, record=False)
            for target in successors(self._method, position):
                arrived = state.copy()
                arrived.handles = {v: t for v, t in state.handles.items() if v in live[target]}
                new = (tuple(sorted(arrived.handles.items())), arrived.begun)
                known = arrivals.setdefault(target, {})
                merged = arrived if new not in known else join_states(known[new], arrived)
                if new not in known or not same_states(known[new], merged):
                    known[new] = merged
                    pending.append((target, new))
                    self._check_count(len(known))
        for position, states in arrivals.items():
            for state in states.values():
                self._step(state.copy(), position, record=True)
        return list(arrivals.get(self._method.exit_step, {START: entry}).values())

    def _check_count(self, count: int) -> None:
        if count > MAX_STATES:
            raise AnalysisError(
                f"{self._method.what}: more than {MAX_STATES} combinations of branch results are "
                "alive at once"
            )

    def _step(self, state: State, position: int, record: bool) -> None:
        step = self._method.steps[position]
        if record:
            for value in step.roles.reads:
                self._read(state, position, value)
            for reader, value in self._late.get(position, ()):
                self._read(state, reader, value)
            for value in step.roles.writes:
                self._touch(state, position, value)
        if position in self._clobbers:
            self._clobber(state, step, self._clobbers[position])
        state.begun -= {state.target(value) for value in step.roles.reads}
        for base, view in step.roles.aliases:
            state.handles[view] = state.target(base)
        self._remember(state, position)
        if step.instruction in self._copied:
            self._copy_parts(state, step)
        copied = self._copied_pieces(state, step)
        for value in step.roles.writes if step.instruction not in self._copied else ():
            if copied is not None and state.target(value) in self._extents:
                self._copy(state, copied, value)
            elif not step.roles.understood:
                # nobody knows which of its values it wrote: they all hold something of it
                self._write(state, value, Origin("write", self._number(step), UNKNOWN), base=0)
            elif value in step.roles.maybe_reads and self._is_view(state, value):
                self._adopt(state, value)
            elif step.label.startswith(COPY_INDEX_OPERATOR):
                target = state.target(value)
                self._write(state, value, self._origin(step, value), keep=target in state.begun)
                state.begun |= {target}
            elif moves_bytes(step):
                self._move_into(state, step, value)
            else:
                # written early, it keeps what others have written there since: there may be
                # no second write
                keep = any(early == value for early, _ in step.early_writes)
                self._compute(state, step, value, keep)
        for writer, value in self._early.get(position, ()):
            self._touch(state, writer, value)
            self._compute(state, self._method.steps[writer], value)

    def _clobber(self, state: State, step: Step, place: Extent) -> None:
        origin = Origin("temp", self._number(step), UNKNOWN)
        arena = state.arenas.setdefault(place.arena, ByteMap())
        arena.write(place.start, place.end, frozenset(((origin, 0),)))

    def _remember(self, state: State, position: int) -> None:
        """Before a node writes: what there is now where its operand lies, or was where that came
        from. When a later node restores the order, that memory may be another value's."""
        steps = self._method.steps
        step = steps[position]
        if position == 0 or steps[position - 1].instruction != step.instruction:
            state.arenas = {key: held for key, held in state.arenas.items() if isinstance(key, int)}
        if step.call is None or step.node is None or not may_keep_elements(step.node):
            return
        operand, output = step.node.inputs[0], step.node.outputs[0]
        held: dict[int | tuple[int, int], OwnerMap] = {
            (output, key[1]): image
            for key, image in state.arenas.items()
            if not isinstance(key, int) and key[0] == operand
        }
        for value in step.call.values((operand,)):
            if state.target(value) in self._extents:
                held[output, operand] = self._image(state, state.target(value))
        state.arenas.update(held)

    def _image(self, state: State, value: int) -> OwnerMap:
        result: OwnerMap = ByteMap()
        for piece in self._pieces(state, value):
            owners = frozenset((origin, piece.start - at) for origin, at in piece.origins)
            result.write(piece.start, piece.start + piece.size_bytes, owners)
        return result

    def _copied_pieces(self, state: State, step: Step) -> Pieces | None:
        """What a step writes, where it copies what planned memory holds or held; else None."""
        if step.call is None or step.node is None:
            source = copied_by_kernel(self._method, step)
            if source is None or state.target(source) not in self._extents:
                return None
            return self._pieces(state, state.target(source))
        output = step.node.outputs[0]
        for value in copied_values(step):
            image = state.arenas.get((output, value))
            if image is not None:
                owned = image.items()
                return tuple(
                    Piece(start, end - start, frozenset((o, start - base) for o, base in owners))
                    for start, end, owners in owned
                )
        return None

    def _origin(self, step: Step, value: int) -> Origin:
        return Origin("write", self._number(step), content_of(step, value))

    def _number(self, step: Step) -> int:
        number = step.instruction
        if self._numbers and 0 <= number < len(self._numbers):
            number = self._numbers[number]
        return number

    def _move_into(self, state: State, step: Step, value: int) -> None:
        """A kernel that only moves bytes, on tensors that an exporter placed inside each other:
        where the output lies over an operand, the operand's bytes are already there."""
        target = state.target(value)
        extent = self._extents.get(target)
        in_place: list[tuple[int, int, frozenset[Owner]]] = []
        for operand in step.roles.reads:
            source = self._extents.get(state.target(operand))
            if extent is not None and source is not None and source.arena == extent.arena:
                low, high = max(source.start, extent.start), min(source.end, extent.end)
                arena = state.arenas.get(extent.arena)
                for start, end, owners in arena.read(low, high) if arena and low < high else ():
                    if owners is not None:
                        in_place.append((start, end, owners))
        self._write(state, value, self._origin(step, value))
        for start, end, owners in in_place:
            assert extent is not None
            state.arenas[extent.arena].write(start, end, owners)
            self._hold(target, owners)

    def _copy_parts(self, state: State, step: Step) -> None:
        """All outputs of a kernel that copies parts of its operands."""
        held: dict[int, list[tuple[int, Piece]]] = {}
        for value in step.roles.writes:
            for operand, first, start, count in copies_of(self._method, step, value):
                pieces = self._pieces(state, state.target(operand))
                for piece in cut_pieces(pieces, first, first + count):
                    held.setdefault(value, []).append((start, piece))
        for value in step.roles.writes:
            self._write(state, value, self._origin(step, value))
            target = state.target(value)
            extent = self._extents.get(target)
            if extent is None:
                continue  # nobody reads it, and it has no place
            for start, piece in held.get(value, ()):
                at = extent.start + start + piece.start
                owners = frozenset((origin, at - first) for origin, first in piece.origins)
                state.arenas[extent.arena].write(at, at + piece.size_bytes, owners)
                self._hold(target, owners)

    def _is_view(self, state: State, value: int) -> bool:
        """True when all bytes of an argument that may be a view come from one memory."""
        if self._views is not None:
            return value in self._views
        target = state.target(value)
        pieces = self._pieces(state, target) if target in self._extents else ()
        origins = {origin for piece in pieces for origin, _ in piece.origins}
        contents = {origin.content for origin in origins}
        return len(contents) == 1 and all(origin.kind != "before" for origin in origins)

    def _adopt(self, state: State, value: int) -> None:
        """Lets a view hold what its memory holds."""
        target = state.target(value)
        state.defined |= {target}
        for piece in self._pieces(state, target):
            start = self._extents[target].start + piece.start
            self._hold(target, [(origin, start - at) for origin, at in piece.origins])

    def _copy(self, state: State, pieces: Pieces, value: int) -> None:
        """A reshape or copy: the target's bytes come from where the source's came from."""
        target = state.target(value)
        state.defined |= {target}
        extent = self._extents[target]
        arena = state.arenas.setdefault(extent.arena, ByteMap())
        for piece in pieces:
            start = extent.start + piece.start
            owners = frozenset((origin, start - at) for origin, at in piece.origins)
            arena.write(start, start + piece.size_bytes, owners)
            self._hold(target, owners)

    def _hold(self, target: int, owners: Collection[Owner]) -> None:
        """Notes that bytes with these owners have been written into a value."""
        start = self._extents[target].start if target in self._extents else 0
        self._trace.written.setdefault(target, set()).update(origin for origin, _ in owners)
        held = self._trace.held.setdefault(target, set())
        held.update((origin, start - base) for origin, base in owners)

    def _compute(self, state: State, step: Step, value: int, keep: bool = False) -> None:
        """Writes a value, or as a piece of another one a part of that one's content."""
        origin, piece = self._origin(step, value), piece_of(step, value)
        extent = self._extents.get(state.target(value))
        if piece is None or extent is None:
            self._write(state, value, origin, keep)
            return
        whole, offset = piece
        base = extent.start - offset
        self._write(state, value, origin, keep, base)
        state.defined |= {whole}
        # whoever reads the whole finds it if it lies where it belongs
        self._hold(whole, [(origin, self._extents[whole].start if whole in self._extents else 0)])

    def _write(
        self,
        state: State,
        value: int,
        origin: Origin,
        keep: bool = False,
        base: int | None = None,
    ) -> None:
        target = state.target(value)
        extent = self._extents.get(target)
        if extent is None:
            return
        state.defined |= {target}
        owner = frozenset(((origin, extent.start if base is None else base),))
        self._hold(target, owner)
        arena = state.arenas.setdefault(extent.arena, ByteMap())
        if keep:
            for start, end, old in arena.read(extent.start, extent.end):
                arena.write(start, end, owner | (old or frozenset()))
        else:
            arena.write(extent.start, extent.end, owner)

    def _touch(self, state: State, position: int, value: int) -> int:
        target = state.target(value)
        self._trace.targets.setdefault((position, value), set()).add(target)
        return target

    def _read(self, state: State, position: int, value: int) -> None:
        target = self._touch(state, position, value)
        if target not in state.defined:
            self._trace.unwritten.add((position, target))
        part = piece_of(self._method.steps[position], value)
        if part is not None and part[0] in state.defined:
            self._trace.of_written.add((position, value))
        if target in self._extents:
            found = frozenset(((target, self._pieces(state, target)),))
            key = (position, value)
            self._trace.reads[key] = self._trace.reads.get(key, frozenset()) | found

    def _pieces(self, state: State, value: int) -> Pieces:
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
            append_piece(pieces, Piece(start - extent.start, end - start, origins))
        return tuple(pieces)
