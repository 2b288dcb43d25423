"""Checks one method of a program as it stands in a file, without knowing how it was planned."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onearena.pte.schema import Tensor
from onearena.pte.tensors import ELEMENT_BYTES, tensor_bytes
from onearena.timeline.steps import MethodSteps, Step
from onearena.verification.origins import Origin, Pieces, describe
from onearena.verification.trace import (
    Extent,
    Trace,
    extents_of,
    trace_method,
)
from onearena.verification.violation import Violation


def verify_method(method: MethodSteps) -> tuple[Violation, ...]:
    """All violations in a method:

    * a planned tensor outside its arena, or not aligned to its element size;
    * a value whose bytes were overwritten by another one before it is read;
    * a view whose bytes do not come from one memory;
    * state that another value overwrites;
    * outputs of one step that overlap each other, or its operands in a way that is not legal.
    """
    extents = extents_of(method)
    trace = trace_method(method)
    return (
        *_bounds(method),
        *_sources(method, trace),
        *_state(method, trace, extents),
        *_steps(method, trace, extents),
    )


def _name(method: MethodSteps) -> str:
    return method.plan.name or ""


def _where(method: MethodSteps, step: Step) -> str:
    if step.instruction < 0:
        return "at the start"
    if step.instruction >= len(method.instructions):
        return "at the end"
    node = f", node {step.node.index}" if step.node is not None else ""
    return f"at instruction {step.instruction} ({step.label}{node})"


def _bounds(method: MethodSteps) -> Iterable[Violation]:
    sizes = method.plan.non_const_buffer_sizes or ()
    for index, entry in enumerate(method.plan.values or ()):
        tensor = entry.val
        if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
            continue
        info = tensor.allocation_info
        size = tensor_bytes(tensor)
        if size is None:
            yield Violation("bounds", _name(method), f"value {index} has an unknown size")
            continue
        if not 0 < info.memory_id < len(sizes):
            if size:
                found = f"value {index} lies in arena {info.memory_id}, which does not exist"
                yield Violation("bounds", _name(method), found)
            continue
        if info.offset + size > sizes[info.memory_id]:
            yield Violation(
                "bounds",
                _name(method),
                f"value {index} ends at byte {info.offset + size} of arena {info.memory_id}, which "
                f"has {sizes[info.memory_id]}",
            )
        if info.offset % min(ELEMENT_BYTES[tensor.scalar_type], 8):
            yield Violation(
                "alignment",
                _name(method),
                f"value {index} at offset {info.offset} is not aligned to its elements",
            )


def _sources(method: MethodSteps, trace: Trace) -> Iterable[Violation]:
    written = {v for step in method.steps for v in step.roles.writes}
    seen: set[tuple[int, str]] = set()
    for (position, value), readings in sorted(trace.reads.items(), key=lambda item: item[0]):
        step = method.steps[position]
        if value in step.roles.maybe_reads:
            continue
        for target, pieces in sorted(readings, key=lambda reading: reading[0]):
            problem = _fault(trace, target, pieces, target in written)
            if problem is not None and (value, problem) not in seen:
                seen.add((value, problem))
                name = f"value {value}" if target == value else f"value {value} (value {target})"
                message = f"{name}, read {_where(method, step)}, {problem}"
                yield Violation("overlap", _name(method), message)


def _fault(trace: Trace, value: int, pieces: Pieces, is_written: bool) -> str | None:
    """What is wrong with the origins of a read, or None."""
    origins = {origin for piece in pieces for origin, _ in piece.origins}
    before = {origin for origin in origins if origin.kind == "before"}
    if before:
        # all of it is state, which is checked for the whole method
        return None if before == origins else "is only partly written"
    if is_written or value in trace.loaded:
        strange = origins - trace.written.get(value, set())
        if strange:
            return f"is overwritten by {describe(min(strange, key=_rank))}"
    elif len({origin.content for origin in origins}) > 1:
        names = ", ".join(describe(origin) for origin in sorted(origins, key=_rank))
        return f"is a view of bytes that come from {names}"
    if not _is_one_place(pieces):
        return "does not hold the bytes that were written in their order"
    return None


def _rank(origin: Origin) -> tuple[int, int]:
    return origin.instruction, origin.content


def _is_one_place(pieces: Pieces) -> bool:
    """True when all bytes keep the same distance to the start of what they come from."""
    distances: set[int] = set()
    for piece in pieces:
        distances.update(at - piece.start for _, at in piece.origins)
    return len(distances) <= 1


def _state(method: MethodSteps, trace: Trace, extents: Mapping[int, Extent]) -> Iterable[Violation]:
    """State is loaded from the file, or read before anything wrote it. After the run it holds
    what was there before, or what was written under one of its own names."""
    state = {v for v in extents if method.tensor(v).data_buffer_idx}
    for (position, value), readings in trace.reads.items():
        if value not in method.steps[position].roles.maybe_reads:
            state.update(target for target, pieces in readings if _is_all_before(pieces))
    names = state | {v for step in method.steps for v in step.roles.in_place}
    for value in sorted(state):
        same = [v for v in names if v in extents and extents[v] == extents[value]]
        held = {origin for name in same for origin in trace.written.get(name, ())}
        seen: set[Origin] = set()
        for pieces in trace.at_exit[value]:
            origins = {origin for piece in pieces for origin, _ in piece.origins}
            for origin in sorted(origins - held - seen, key=_rank):
                if origin.kind == "write":
                    seen.add(origin)
                    found = f"the state in value {value} is overwritten by {describe(origin)}"
                    yield Violation("state", _name(method), found)


def _is_all_before(pieces: Pieces) -> bool:
    return all(origin.kind == "before" for piece in pieces for origin, _ in piece.origins)


def _steps(method: MethodSteps, trace: Trace, extents: Mapping[int, Extent]) -> Iterable[Violation]:
    for position, step in enumerate(method.steps):
        touched = {
            value: [t for t in trace.targets.get((position, value), ()) if t in extents]
            for value in (*step.roles.reads, *step.roles.writes)
        }
        writes = [(value, t) for value in step.roles.writes for t in touched[value]]
        for index, (value, target) in enumerate(writes):
            for other, place in writes[:index]:
                if other != value and _overlap(extents[target], extents[place]):
                    found = (
                        f"values {other} and {value}, both written {_where(method, step)}, overlap"
                    )
                    yield Violation("order", _name(method), found)
            for operand in step.roles.reads:
                for source in touched[operand]:
                    if operand != value and not _is_legal(
                        step, operand, value, extents[source], extents[target]
                    ):
                        found = (
                            f"value {value}, written {_where(method, step)}, overlaps its operand"
                        )
                        yield Violation("order", _name(method), f"{found} {operand}")


def _overlap(first: Extent, second: Extent) -> bool:
    return first.arena == second.arena and first.start < second.end and second.start < first.end


def _is_legal(step: Step, operand: int, output: int, source: Extent, target: Extent) -> bool:
    """An operand and an output may be one memory for operators that are known to allow it;
    exporters also use exactly equal places for kernels that work in place."""
    if not _overlap(source, target):
        return True
    if source != target:
        return False
    if step.call is None or step.node is None:
        return True
    return operand in step.call.in_place_operands(step.node) or operand == (
        step.call.same_bytes_operand(step.node)
    )
