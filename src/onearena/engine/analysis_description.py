"""What a description says about memory: lifetimes, alias groups, pairs that may share, views.

A re-planning runtime needs no more than this to make a planning problem for any sizes. The
buffers are those of `timeline/build.py` in which arena the file has them, without what belongs
to other methods (state has memory of its own at run time).
"""

from __future__ import annotations

from onearena.engine.binary import BinaryWriter
from onearena.lifetime import Lifetime
from onearena.timeline.build import Timeline

STATE = 1
PINNED = 2
VIEW = 4


def write_analysis(out: BinaryWriter, timeline: Timeline) -> None:
    """Writes the analysis of one method."""
    storage, method = timeline.storage, timeline.method
    out.u32(len(method.steps))
    out.u32s(method.first_step)
    out.u32(len(timeline.values))
    for number, value in enumerate(timeline.values):
        buffer = timeline.problem.buffers[number]
        flags = STATE * (value in storage.state) | PINNED * (value in storage.pinned)
        flags |= VIEW * (value in storage.views)
        out.packed("IQIB", value, buffer.size_bytes, buffer.alignment, flags)
        _write_lifetime(out, buffer.lifetime)
    buffer_of = timeline.buffer_of
    out.u32(len(storage.groups))
    for group in storage.groups:
        origin = min(storage.memories[value].start for value in group)
        out.u32(len(group))
        for value in group:
            out.packed("IQ", buffer_of[value], storage.memories[value].start - origin)
    out.u32(len(timeline.problem.may_share))
    for first, second in timeline.problem.may_share:
        out.packed("II", first, second)
    _write_handles(out, timeline)


def _write_lifetime(out: BinaryWriter, lifetime: Lifetime) -> None:
    out.u32(len(lifetime))
    for interval in lifetime:
        out.packed("II", interval.start, interval.end)


def _write_handles(out: BinaryWriter, timeline: Timeline) -> None:
    """Values that name the memory of others while the method runs (`et_view`, `MoveCall`)."""
    points = timeline.storage.accesses.points_to
    handles = {v: sorted(t) for v, t in points.items() if t and v not in t}
    out.u32(len(handles))
    for value, targets in sorted(handles.items()):
        out.u32(value)
        out.u32s(timeline.buffer_of[target] for target in targets)
