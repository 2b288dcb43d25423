"""Checks one method of a program as it stands in a file, without knowing how it was planned."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence

from onearena.pte.schema import Tensor
from onearena.pte.tensors import ELEMENT_BYTES, tensor_bytes
from onearena.timeline.steps import MethodSteps
from onearena.verification.clashes import _contains, clashing_steps, method_name, where_of
from onearena.verification.joined import JoinedValues
from onearena.verification.memory_state import Extent, extents_of
from onearena.verification.origins import Origin, Piece, Pieces, describe, parts_of
from onearena.verification.trace import trace_method
from onearena.verification.trace_result import Trace, displaced
from onearena.verification.violation import Violation


def verify_method(
    method: MethodSteps,
    trace: Trace | None = None,
    joined: Sequence[tuple[int, int, int]] = (),
) -> tuple[Violation, ...]:
    """All violations in a method (`trace` is its trace, when there is one already; `joined` are
    its values that lie inside each other without a copy, by their record):

    * a planned tensor outside its arena, or not aligned to its element size;
    * a value whose bytes were overwritten by another one before it is read;
    * a view whose bytes do not come from one memory;
    * state that another value overwrites;
    * outputs of one step that overlap each other, or its operands in a way that is not legal.
    """
    extents = extents_of(method)
    trace = trace or trace_method(method)
    written = _written(method)
    mates = JoinedValues(joined, written, _in_parts(method, written), extents)
    return (
        *_bounds(method),
        *(Violation("alias", method_name(method), found) for found in mates.misplaced()),
        *_sources(method, trace, extents, mates),
        *_state(method, trace, extents),
        *clashing_steps(method, trace, extents),
    )


def _bounds(method: MethodSteps) -> Iterable[Violation]:
    sizes = method.plan.non_const_buffer_sizes or ()
    for index, entry in enumerate(method.plan.values or ()):
        tensor = entry.val
        if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
            continue
        info = tensor.allocation_info
        size = tensor_bytes(tensor)
        if size is None:
            yield Violation("bounds", method_name(method), f"value {index} has an unknown size")
            continue
        if not 0 < info.memory_id < len(sizes):
            if size:
                found = f"value {index} lies in arena {info.memory_id}, which does not exist"
                yield Violation("bounds", method_name(method), found)
            continue
        if info.offset + size > sizes[info.memory_id]:
            yield Violation(
                "bounds",
                method_name(method),
                f"value {index} ends at byte {info.offset + size} of arena {info.memory_id}, which "
                f"has {sizes[info.memory_id]}",
            )
        if info.offset % min(ELEMENT_BYTES[tensor.scalar_type], 8):
            yield Violation(
                "alignment",
                method_name(method),
                f"value {index} at offset {info.offset} is not aligned to its elements",
            )


def _written(method: MethodSteps) -> set[int]:
    """Values that some step writes under their own names."""
    return {v for step in method.steps for v in step.roles.writes}


def _in_parts(method: MethodSteps, written: Collection[int]) -> set[int]:
    """Values of which some step writes a part that has a name of its own."""
    return {whole for part, (whole, _) in parts_of(method).items() if part in written}


def _sources(
    method: MethodSteps, trace: Trace, extents: Mapping[int, Extent], mates: JoinedValues
) -> Iterable[Violation]:
    written = _written(method)
    in_place = {v for step in method.steps for v in step.roles.in_place}
    parts, in_parts = parts_of(method), _in_parts(method, written)
    own_names = written | in_parts
    seen: set[tuple[int, str]] = set()
    for (position, value), readings in sorted(trace.reads.items(), key=lambda item: item[0]):
        step = method.steps[position]
        if value in step.roles.maybe_reads:
            continue
        for target, pieces in sorted(readings, key=lambda reading: reading[0]):
            named = target in own_names and (position, target) not in trace.unwritten
            own = named or target in in_parts
            if mates.covers(target):
                problem = mates.fault(trace, target, pieces)
            else:
                inside = _written_inside(trace, extents, {target, *in_place}, target)
                problem = _fault(trace, target, pieces, own, inside)
                if problem is None and named:
                    problem = _place_fault(displaced(trace, target, pieces))
            if problem is None and value in parts:
                behind = (position, value) in trace.of_written
                problem = _part_fault(trace, pieces, parts[value], own_names, behind)
            if problem is not None and (value, problem) not in seen:
                seen.add((value, problem))
                name = f"value {value}" if target == value else f"value {value} (value {target})"
                message = f"{name}, read {where_of(method, step)}, {problem}"
                yield Violation("overlap", method_name(method), message)


def _written_inside(
    trace: Trace, extents: Mapping[int, Extent], names: Iterable[int], value: int
) -> frozenset[Origin]:
    """What was written under these names as far as they lie inside a value."""
    inside = _names_inside(extents, names, value)
    return frozenset(origin for name in inside for origin in trace.written.get(name, ()))


def _names_inside(extents: Mapping[int, Extent], names: Iterable[int], value: int) -> list[int]:
    place = extents[value]
    known = ((name, extents[name]) for name in names if name in extents)
    return [name for name, at in known if at.arena == place.arena and _contains(place, at)]


def _fault(
    trace: Trace, value: int, pieces: Pieces, is_written: bool, inside: frozenset[Origin]
) -> str | None:
    """What is wrong with the origins of a read, or None.

    Args:
        is_written: some step has written it, under this name and on every path.
        inside: what was written under this name, and in place inside it.
    """
    origins = {origin for piece in pieces for origin, _ in piece.origins}
    temps = [origin for origin in origins if origin.kind == "temp"]
    if temps:
        return f"is overwritten by {describe(min(temps, key=_rank))}"
    if any(origin.kind == "before" for origin in origins):
        # state, which is checked for the whole method
        strange = {origin for origin in origins if origin.kind != "before"} - inside
        return f"is partly overwritten by {describe(min(strange, key=_rank))}" if strange else None
    if is_written or value in trace.loaded:
        strange = origins - trace.written.get(value, set())
        if strange:
            return f"is overwritten by {describe(min(strange, key=_rank))}"
        return None
    if len({origin.content for origin in origins}) > 1:
        names = ", ".join(describe(origin) for origin in sorted(origins, key=_rank))
        return f"is a view of bytes that come from {names}"
    if not _is_one_place(pieces):
        return "does not hold the bytes that were written in their order"
    return None


def _part_fault(
    trace: Trace,
    pieces: Pieces,
    part: tuple[int, int],
    written: Collection[int],
    is_behind: bool,
) -> str | None:
    """What is wrong with what a part of another value holds, or None.

    Args:
        is_behind: the other value was written before, on every path.
    """
    whole, offset = part
    # what is left of an earlier run is state, which is checked for the whole method
    held = [(o, at - p.start) for p in pieces for o, at in p.origins if o.kind != "before"]
    strange = {origin for origin, _ in held} - trace.written.get(whole, set())
    if whole in written and strange:
        return f"is overwritten by {describe(min(strange, key=_rank))}"
    if whole in written and any(distance != offset for _, distance in held):
        return f"is not that part of value {whole}"
    return _place_fault(displaced(trace, whole, pieces, offset)) if is_behind else None


def _place_fault(culprit: Origin | None) -> str | None:
    if culprit is None:
        return None
    if culprit.kind == "before":
        return "is overwritten by a copy of what was there before the run"
    return f"is overwritten by another copy of {describe(culprit)}"


def _rank(origin: Origin) -> tuple[int, int]:
    return origin.instruction, origin.content


def _is_one_place(pieces: Pieces) -> bool:
    """True when all bytes keep the same distance to the start of what they come from."""
    distances: set[int] = set()
    for piece in pieces:
        distances.update(at - piece.start for _, at in piece.origins)
    return len(distances) <= 1


def _state(method: MethodSteps, trace: Trace, extents: Mapping[int, Extent]) -> Iterable[Violation]:
    """State is loaded from the file, named by its exporter, or read before anything wrote it.
    After the run it holds what was there before, or what was written under one of its own names."""
    state = {v for v in extents if method.tensor(v).data_buffer_idx}
    state |= method.known_state & extents.keys()
    # a copy of state that was made in this run is none
    written = _written(method)
    parts = parts_of(method)
    for (position, value), readings in trace.reads.items():
        if value not in method.steps[position].roles.maybe_reads:
            for target, pieces in readings:
                whole, _ = parts.get(target, (target, 0))
                unwritten = whole == target and (position, target) in trace.unwritten
                if _has_before(pieces) and (whole not in written or unwritten):
                    state.add(whole)
    names = state | {v for step in method.steps for v in step.roles.in_place}
    for value in sorted(state):
        held = _written_inside(trace, extents, names, value)
        seen: set[Origin] = set()
        for pieces in trace.at_exit[value]:
            origins = {origin for piece in pieces for origin, _ in piece.origins}
            for origin in sorted(origins - held - seen, key=_rank):
                if origin.kind in ("write", "temp"):
                    seen.add(origin)
                    found = f"the state in value {value} is overwritten by {describe(origin)}"
                    yield Violation("state", method_name(method), found)
            inside = _names_inside(extents, names, value)
            if not all(_is_its_own(trace, extents, inside, value, piece) for piece in pieces):
                found = f"the state in value {value} is overwritten by a copy of other state"
                yield Violation("state", method_name(method), found)


def _is_its_own(
    trace: Trace, extents: Mapping[int, Extent], inside: Sequence[int], value: int, piece: Piece
) -> bool:
    """Whether bytes from before the run are where they were, or where a copy put them that was
    made under one of the names inside a value."""
    place = extents[value]
    start = place.start + piece.start
    for origin, at in piece.origins:
        if origin.kind == "before" and (origin.content, at) != (place.arena, start):
            known = ((name, at - (start - extents[name].start)) for name in inside)
            if not any((origin, distance) in trace.held.get(n, ()) for n, distance in known):
                return False
    return True


def _has_before(pieces: Pieces) -> bool:
    return any(origin.kind == "before" for piece in pieces for origin, _ in piece.origins)
