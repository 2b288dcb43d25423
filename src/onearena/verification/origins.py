"""Where bytes come from: the names that the trace gives to writes."""

from __future__ import annotations

from dataclasses import dataclass

from onearena.delegates.xnnpack.simplify_names import original
from onearena.timeline.steps import MethodSteps, Step

UNKNOWN = -1
"""The content of what an operator that is not understood may have written."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where bytes come from.

    Attributes:
        kind: `write` (by an instruction), `loaded` (initial state in the file), `before`
            (whatever the bytes held before the run), `temp` (what an instruction left in the
            temp region).
        instruction: of a write; -1 for the caller's inputs.
        content: what was written or loaded: the method's value, or, written inside an
            XNNPACK call, `payload_content` of the payload's value; or `UNKNOWN`. For
            `before`, the arena.
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


def payload_content(identifier: int) -> int:
    """The content number of an XNNPACK payload's value: negative, unlike the method's values."""
    return -identifier - 2


def describe(origin: Origin) -> str:
    """An origin in words."""
    if origin.kind == "loaded":
        return f"the initial state of value {origin.content}"
    if origin.kind == "before":
        return "an earlier run"
    if origin.kind == "temp":
        return f"the temp memory of instruction {origin.instruction}"
    if origin.instruction < 0:
        return f"input value {origin.content}"
    if origin.content == UNKNOWN:
        return f"something that instruction {origin.instruction} may have written"
    if origin.content < 0:
        return f"XNNPACK value {-origin.content - 2} of instruction {origin.instruction}"
    return f"value {origin.content} (written at instruction {origin.instruction})"


_MOVING_KERNELS = frozenset(
    f"aten::{name}"
    for name in (
        "slice_copy",
        "select_copy",
        "narrow_copy",
        "split_copy",
        "split_with_sizes_copy",
        "unbind_copy",
        "cat",
    )
)


def moves_bytes(step: Step) -> bool:
    """True for kernels that copy parts of tensors and compute nothing. Exporters elide them by
    placing their outputs inside their operands, or the other way round; custom operators that
    then do nothing have `_nop` in their name."""
    name = step.label.partition(".")[0]
    return step.call is None and (name in _MOVING_KERNELS or "_nop" in name)


def content_of(step: Step, value: int) -> int:
    """What a step writes: values of a payload are named by the payload, whose numbers are the
    same before and after opening, and a copy has the name of what was copied. What is written
    into a piece of a value is that value's content."""
    if step.call is None or step.node is None:
        return value
    pieces = step.call.pieces
    for identifier in step.node.outputs:
        if step.call.values((identifier,)) == (value,):
            named = pieces[identifier].whole if identifier in pieces else identifier
            return payload_content(step.call.names[named])
    return value


def piece_of(step: Step, value: int) -> tuple[int, int] | None:
    """The value that an argument of an XNNPACK call is a part of, and the offset in it."""
    return None if step.call is None else step.call.parts.get(value)


def parts_of(method: MethodSteps) -> dict[int, tuple[int, int]]:
    """By value that is a part of another one, that one and the offset in it."""
    return {value: part for call in method.calls.values() for value, part in call.parts.items()}


def copied_values(step: Step) -> tuple[int, ...]:
    """The payload's values that hold just what a node writes, since it only copies or restores an
    order of elements, the nearest first; none for other steps."""
    if step.call is None or step.node is None or len(step.node.outputs) != 1:
        return ()
    call, touched = step.call, (*step.node.inputs, *step.node.outputs)
    if call.pieces.keys() & touched:
        return ()  # what a part of a value holds is named after the value
    return original(call.graph, call.names, step.node)


def append_piece(pieces: list[Piece], piece: Piece) -> None:
    """Adds a piece, joined with the one before it when it only continues it."""
    if pieces:
        last = pieces[-1]
        moved = frozenset((origin, at + last.size_bytes) for origin, at in last.origins)
        if moved == piece.origins and last.start + last.size_bytes == piece.start:
            pieces[-1] = Piece(last.start, last.size_bytes + piece.size_bytes, last.origins)
            return
    pieces.append(piece)


def cut_pieces(pieces: Pieces, start: int, end: int) -> Pieces:
    """The bytes [start, end) of a value, counted from `start`."""
    result: list[Piece] = []
    for piece in pieces:
        first, last = max(piece.start, start), min(piece.start + piece.size_bytes, end)
        if first < last:
            origins = frozenset((o, at + first - piece.start) for o, at in piece.origins)
            append_piece(result, Piece(first - start, last - first, origins))
    return tuple(result)
