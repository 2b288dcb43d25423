"""Does a rewritten method read the same bytes as the original, everywhere?"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import combinations

from onearena.pte.tensors import tensor_bytes
from onearena.timeline.steps import MethodSteps
from onearena.verification.instructions import instruction_changes, instructions_gone
from onearena.verification.memory_state import extents_of
from onearena.verification.origins import Origin, Pieces, cut_pieces
from onearena.verification.trace import trace_method
from onearena.verification.trace_result import Reading, Trace, displaced
from onearena.verification.violation import Violation

_Parts = Mapping[tuple[int, int], tuple[int, int]]
"""By (instruction, argument that is a part of another one): that one, and the offset in it."""
_ByInstruction = Mapping[tuple[int, int], frozenset[Reading]]


def verify_rewrite(
    before: MethodSteps,
    after: MethodSteps,
    order: Sequence[int] = (),
    views: Collection[int] | None = None,
    arenas: Collection[int] = (),
) -> tuple[Violation, ...]:
    """All reads of `after` whose bytes do not come from where they came from in `before`.

    `after` may have more values (opened activations), more steps inside a delegate call and
    another order of instructions; the values of `before` keep their numbers.

    Args:
        order: by instruction of `after`, its number in `before`; empty when nothing moved or
            went.
        views: of the arguments of calls that are not understood, those that are views; by
            default, those whose bytes come from one memory in either file.
        arenas: where values may have moved to; by default each stays in its own.
    """
    name = after.plan.name or ""
    order = order or range(len(after.instructions))
    shape = _shape_changes(before, after, name, arenas) or instruction_changes(before, after, order)
    if shape:
        return tuple(shape)
    gone = instructions_gone(before, order)
    old = trace_method(before, views=views, copied=gone)
    numbers = (*order, len(before.instructions))  # the exit is behind all of them
    new = trace_method(after, _seeds(old), numbers, views)
    count = len(before.plan.values or ())
    ignored = _uncertain(before, old, views)
    expected = _by_instruction(before, old, ignored, ())
    found = _by_instruction(after, new, ignored, numbers)
    parts = _parts(after, order)
    read = found.keys() | {(key[0], parts[key][0]) for key in found if key in parts}
    return (
        *_new_overlaps(before, after),
        *_reads(name, expected, found, count),
        *_lost_reads(before, old, {key for key in expected.keys() - read if key[0] not in gone}),
        *_inner_reads(after, new, found, count, parts),
        *_part_reads(name, expected, found, parts, count, new),
        *_survivors(before, old, new, ignored),
    )


def _uncertain(
    before: MethodSteps, old: Trace, views: Collection[int] | None
) -> frozenset[tuple[int, int]]:
    """(instruction, value) of reads that may be none and cannot mean anything.

    A call that is not understood names its outputs among its arguments. If such a value's
    bytes come from several places, or from before the run although others use them too, it
    is an output: a view has one owner, and state has its bytes for itself.
    """
    extents = extents_of(before)
    result: set[tuple[int, int]] = set()
    for (position, value), alternatives in old.reads.items():
        step = before.steps[position]
        if value not in step.roles.maybe_reads or value not in extents:
            continue
        origins = {o for _, pieces in alternatives for p in pieces for o, _ in p.origins}
        crowded = any(
            other != value
            and place.arena == extents[value].arena
            and place.start < extents[value].end
            and extents[value].start < place.end
            for other, place in extents.items()
        )
        is_old = any(origin.kind == "before" for origin in origins)
        is_output = views is not None and value not in views and not is_old
        if is_output or len(origins) > 1 or (crowded and is_old):
            result.add((step.instruction, value))
    return frozenset(result)


def _shape_changes(
    before: MethodSteps, after: MethodSteps, name: str, arenas: Collection[int]
) -> list[Violation]:
    found: list[str] = []
    old, new = before.plan, after.plan
    if old.inputs != new.inputs or old.outputs != new.outputs:
        found.append("inputs or outputs changed")
    for index, (one, other) in enumerate(zip(old.values or (), new.values or (), strict=False)):
        if type(one.val) is not type(other.val):
            found.append(f"value {index} is another kind of value")
    for index in extents_of(before).keys() & extents_of(after).keys():
        if tensor_bytes(before.tensor(index)) != tensor_bytes(after.tensor(index)):
            found.append(f"value {index} has another size")
        a, b = before.tensor(index).allocation_info, after.tensor(index).allocation_info
        if a is not None and b is not None and b.memory_id not in (a.memory_id, *arenas):
            found.append(f"value {index} moved to another arena")
    if extents_of(before).keys() - extents_of(after).keys():
        found.append("a planned value lost its place")
    return [Violation("order", name, message) for message in found]


def _new_overlaps(before: MethodSteps, after: MethodSteps) -> Iterable[Violation]:
    """Arguments of a call that is not understood overlap as they did in the original, where
    that was on purpose, or not at all."""
    old, new = extents_of(before), extents_of(after)
    for step in after.steps:
        if step.roles.understood and not step.roles.maybe_reads:
            continue
        values = sorted({*step.roles.reads, *step.roles.writes} & new.keys() & old.keys())
        for one, other in combinations(values, 2):
            a, b = new[one], new[other]
            if a.arena != b.arena or a.start >= b.end or b.start >= a.end:
                continue
            if b.start - a.start != old[other].start - old[one].start:
                message = (
                    f"values {one} and {other}, both named by instruction {step.instruction}, "
                    "overlap in another way than in the original"
                )
                yield Violation("order", after.plan.name or "", message)


def _seeds(old: Trace) -> dict[int, list[tuple[int, int, Origin, int]]]:
    """What the bytes held before the run, by value: known in the original by their address."""
    seeds: dict[int, list[tuple[int, int, Origin, int]]] = {}
    for readings in old.reads.values():
        for value, pieces in readings:
            for piece in pieces:
                for origin, position in piece.origins:
                    if origin.kind == "before":
                        seed = (piece.start, piece.start + piece.size_bytes, origin, position)
                        seeds.setdefault(value, []).append(seed)
    return seeds


def _by_instruction(
    method: MethodSteps,
    trace: Trace,
    ignored: frozenset[tuple[int, int]],
    order: Sequence[int],
) -> _ByInstruction:
    result: dict[tuple[int, int], frozenset[Reading]] = {}
    for (position, value), alternatives in trace.reads.items():
        number = method.steps[position].instruction
        if 0 <= number < len(order):
            number = order[number]
        key = (number, value)
        if key not in ignored:
            result[key] = result.get(key, frozenset()) | alternatives
    return result


def _reads(
    name: str, expected: _ByInstruction, found: _ByInstruction, count: int
) -> Iterable[Violation]:
    for (instruction, value), pieces in sorted(found.items(), key=lambda item: item[0]):
        if value >= count:
            continue
        if pieces != expected.get((instruction, value), pieces):
            yield Violation(
                "alias",
                name,
                f"value {value}, read at instruction {instruction}, no longer holds the bytes it "
                "held in the original",
            )


def _lost_reads(
    before: MethodSteps, old: Trace, lost: Collection[tuple[int, int]]
) -> Iterable[Violation]:
    """Reads that the original has and the new method has not, unless nothing came of them."""
    needed = set()
    for position, value in old.reads:
        step = before.steps[position]
        dead = step.call and step.node and not step.call.graph.live.intersection(step.node.outputs)
        if not dead:
            needed.add((step.instruction, value))
    for instruction, value in sorted(needed.intersection(lost)):
        yield Violation(
            "order",
            before.plan.name or "",
            f"value {value} is no longer read at instruction {instruction}",
        )


def _parts(method: MethodSteps, order: Sequence[int]) -> _Parts:
    return {
        (order[position], value): part
        for position, call in method.calls.items()
        for value, part in call.parts.items()
    }


def _inner_reads(
    after: MethodSteps, trace: Trace, found: _ByInstruction, count: int, parts: _Parts
) -> Iterable[Violation]:
    """Opened activations hold, when they are read, what their own call wrote into them; a part
    of one, that part of it."""
    extents = extents_of(after)
    for (instruction, value), alternatives in sorted(found.items(), key=lambda item: item[0]):
        whole, offset = parts.get((instruction, value), (value, None))
        if whole < count or value not in extents:
            continue
        for _, pieces in alternatives:
            if not _is_as_written(trace, whole, pieces, offset):
                yield Violation(
                    "overlap",
                    after.plan.name or "",
                    f"opened value {value}, read at instruction {instruction}, was overwritten",
                )
                break


def _is_as_written(trace: Trace, whole: int, pieces: Pieces, offset: int | None) -> bool:
    """Whether bytes are what was written into a value, at one place of it: at `offset`, if that
    is known."""
    held = trace.written.get(whole, set())
    origins = {origin for piece in pieces for origin, _ in piece.origins}
    distances = {at - p.start for p in pieces for _, at in p.origins}
    is_one = origins <= held and len(distances) <= 1 and offset in (None, *distances)
    return is_one and (offset is not None or displaced(trace, whole, pieces) is None)


def _is_by(instruction: int, pieces: Pieces) -> bool:
    """Whether an instruction wrote all of some bytes."""
    origins = (origin for piece in pieces for origin, _ in piece.origins)
    return all((o.kind, o.instruction) == ("write", instruction) for o in origins)


def _part_reads(
    name: str,
    expected: _ByInstruction,
    found: _ByInstruction,
    parts: _Parts,
    count: int,
    trace: Trace,
) -> Iterable[Violation]:
    """A part of a value of the original holds that part of what the value held there; or, when
    a call makes the value and did not read it, what that very call wrote into that part: what
    it stands for is checked with the nodes of the call (`strips.py`)."""
    for (instruction, value), alternatives in sorted(found.items(), key=lambda item: item[0]):
        whole, offset = parts.get((instruction, value), (count, 0))
        if whole >= count or value < count:
            continue  # a part that the original has is compared with itself
        whole_read = expected.get((instruction, whole), frozenset())
        if not whole_read and all(
            _is_as_written(trace, whole, pieces, offset) and _is_by(instruction, pieces)
            for _, pieces in alternatives
        ):
            continue
        if not whole_read:
            found_text = f"value {value} is a part of value {whole}, which "
            found_text += f"instruction {instruction} did not read"
            yield Violation("alias", name, found_text)
            continue
        size = max(p.start + p.size_bytes for _, pieces in alternatives for p in pieces)
        wanted = {cut_pieces(pieces, offset, offset + size) for _, pieces in whole_read}
        if {pieces for _, pieces in alternatives} != wanted:
            yield Violation(
                "overlap",
                name,
                f"value {value}, a part of value {whole}, read at instruction {instruction}, was "
                "overwritten",
            )


def _survivors(
    before: MethodSteps, old: Trace, new: Trace, ignored: Collection[tuple[int, int]]
) -> Iterable[Violation]:
    """State that the original keeps from run to run is kept by the rewritten method."""
    # a copy of state that was made in this run is none
    written = {v for step in before.steps for v in step.roles.writes}
    state = (
        old.loaded
        | (before.known_state & old.at_exit.keys())
        | {
            target
            for (position, value), readings in old.reads.items()
            if (before.steps[position].instruction, value) not in ignored
            for target, pieces in readings
            if _has_before(pieces)
            and (target not in written or (position, target) in old.unwritten)
        }
    )
    held = {origin for value in state for origin in old.written.get(value, ())}
    for value in sorted(state):
        writers = {
            origin
            for pieces in old.at_exit[value]
            for piece in pieces
            for origin, _ in piece.origins
            if origin.kind == "write"
        }
        if writers <= held and old.at_exit[value] != new.at_exit[value]:
            found = f"the state in value {value} does not survive the run any more"
            yield Violation("state", before.plan.name or "", found)


def _has_before(pieces: Pieces) -> bool:
    return any(origin.kind == "before" for piece in pieces for origin, _ in piece.origins)
