"""Finds the step at which a method's memory peaks, and what is alive there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onearena.export_record import ExportedMethod
from onearena.pte.tensors import ScalarType, is_dynamic
from onearena.record import TempRecord
from onearena.results import LiveTensor, Peak
from onearena.summary.blocks import live_bytes, temp_pieces
from onearena.summary.model import Rectangle
from onearena.timeline.build import Timeline
from onearena.timeline.steps import debug_handle, where_text

MAX_TENSORS = 10


def find_peak(
    timeline: Timeline,
    offsets: Mapping[int, int] | None = None,
    arenas: Mapping[int, int] | None = None,
    temp: TempRecord | None = None,
    exported: ExportedMethod | None = None,
) -> Peak | None:
    """The step at which most bytes of an arena are taken; None when the method plans nothing.

    Args:
        offsets, arenas: by value, where it lies; as in the file, if there are none.
        temp: where the temp region lies, if there is one.
        exported: what the exporter noted of this method, if it did.
    """
    storage, method = timeline.storage, timeline.method
    where = offsets or {value: memory.start for value, memory in storage.memories.items()}
    lies_in = arenas or {value: memory.arena for value, memory in storage.memories.items()}
    pieces = [
        (lies_in[value], Rectangle(i.start, i.end, where[value], where[value] + memory.size_bytes))
        for value, memory in storage.memories.items()
        for i in storage.lifetimes[value]
    ]
    region = temp_pieces(timeline, temp)
    pieces += region
    curves = live_bytes(pieces, len(method.steps))
    arena = max(curves, key=lambda a: max(curves[a], default=0), default=None)
    if arena is None or not any(curves[arena]):
        return None
    bytes_ = max(curves[arena])
    step = curves[arena].index(bytes_)
    alive = (
        value
        for value in storage.memories
        if lies_in[value] == arena
        and any(i.start <= step < i.end for i in storage.lifetimes[value])
    )
    tensors = tuple(
        LiveTensor(value, storage.memories[value].size_bytes, _describe(timeline, value))
        for value in _distinct(timeline, where, alive)[:MAX_TENSORS]
    )
    at = method.steps[step]
    node = at.node.index if at.node is not None else None
    where_it_is = where_text(at.instruction, len(method.instructions), at.label, node)
    line = exported.line_of(at.instruction, debug_handle(at)) if exported else None
    if line is not None:
        where_it_is += f", from {line}"
    if temp is not None and any(a == arena and r.start <= step < r.end for a, r in region):
        where_it_is += f", with {temp.size_bytes:,} B of temp memory"
    return Peak(where_it_is, bytes_, tensors)


def _distinct(
    timeline: Timeline, where: Mapping[int, int], alive: Iterable[int]
) -> tuple[int, ...]:
    """The largest first, without those that lie inside others: names of the same bytes."""
    memories = timeline.storage.memories
    found: list[int] = []
    for value in sorted(alive, key=lambda v: (-memories[v].size_bytes, v)):
        start, end = where[value], where[value] + memories[value].size_bytes
        if not any(where[v] <= start and end <= where[v] + memories[v].size_bytes for v in found):
            found.append(value)
    return tuple(found)


def _describe(timeline: Timeline, value: int) -> str:
    method = timeline.method
    tensor = method.tensor(value)
    kind = "activation"
    if value in timeline.storage.state:
        kind = "state"
    elif value in method.inputs:
        kind = "input"
    elif value in method.outputs:
        kind = "output"
    elif value in timeline.added:
        kind = "inside XNNPACK"
    shape = "x".join(str(size) for size in tensor.sizes or ()) or "scalar"
    bound = " at most" if is_dynamic(tensor) else ""
    return f"{ScalarType(tensor.scalar_type).name.lower()}{bound} {shape} ({kind})"
