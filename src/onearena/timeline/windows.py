"""When only a part of a value is occupied: values that calls read or write in strips of rows.

While a call consumes a value strip by strip, the rows that no later strip reads are free; while
it makes one, the rows that no strip has written yet are free too. So the rows of a result may
take the place of the rows that it was computed from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from onearena.delegates.xnnpack.call import XnnpackCall
from onearena.lifetime import Interval
from onearena.problem import Window
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage


@dataclass(frozen=True)
class _Use:
    """Bytes of a value that are read or written at some of the steps."""

    steps: Interval
    bytes: Interval
    is_write: bool


def windows_of(method: MethodSteps, storage: Storage) -> dict[int, tuple[Window, ...]]:
    """By value, the windows in which only a part of it is occupied."""
    result: dict[int, tuple[Window, ...]] = {}
    grouped = {value for group in storage.groups for value in group}
    for instruction, call in method.calls.items() if method.flow.is_straight else ():
        wholes = {call.whole_of(piece) for piece in call.pieces.values()}
        for value in sorted(wholes):
            fixed = value in grouped or value in storage.state or value in storage.pinned
            named = storage.accesses.points_to.get(value) == frozenset((value,))
            if value in result or fixed or not named or value not in storage.memories:
                result[value] = ()  # in strips in two calls, it is occupied as a whole
            else:
                result[value] = tuple(_windows(method, storage, instruction, value))
    return {value: windows for value, windows in result.items() if windows}


def _windows(
    method: MethodSteps, storage: Storage, instruction: int, value: int
) -> Iterator[Window]:
    size = storage.memories[value].size_bytes
    (first, end), life = method.first_step[instruction : instruction + 2], storage.lifetimes[value]
    if len(life) != 1:
        return
    uses = [*_uses(method, instruction, value, size), *_outside(life[0], first, end, size)]
    start, occupied = 0, Interval(0, size)
    for step in range(max(first, life[0].start), min(end, life[0].end)):
        now = _occupied(uses, step, size)
        if now != occupied:
            if occupied != Interval(0, size):
                yield Window(Interval(start, step), occupied.start, occupied.end)
            start, occupied = step, now
    if occupied != Interval(0, size):
        yield Window(Interval(start, min(end, life[0].end)), occupied.start, occupied.end)


def _uses(method: MethodSteps, instruction: int, value: int, size: int) -> Iterator[_Use]:
    """What the nodes of a call read and write of a value, at any moment at which they may."""
    call, first = method.calls[instruction], method.first_step[instruction]
    order = call.order
    for node in call.graph.nodes:
        own = first + node.index
        late, early = first + order.read_until[node.index], first + order.write_from[node.index]
        for part in _parts(call, node.inputs, value, size):
            yield _Use(Interval(own, max(own, late) + 1), part, is_write=False)
        for part in _parts(call, node.outputs, value, size):
            yield _Use(Interval(min(own, early), own + 1), part, is_write=True)


def _parts(
    call: XnnpackCall, identifiers: Iterable[int], value: int, size: int
) -> Iterator[Interval]:
    for identifier in identifiers:
        found = call.graph.values[identifier]
        if found.is_external and call.args[found.tensor.external_id] == value:
            piece = call.pieces.get(identifier)
            if piece is None:
                yield Interval(0, size)
            else:
                yield Interval(piece.offset_bytes, piece.offset_bytes + (found.size_bytes or size))


def _outside(life: Interval, first: int, end: int, size: int) -> Iterator[_Use]:
    """What was there before the call is all written, what is alive behind it all read."""
    if life.start < first:
        yield _Use(Interval(life.start, first), Interval(0, size), is_write=True)
    if life.end > end:
        yield _Use(Interval(end, life.end), Interval(0, size), is_write=False)


def _occupied(uses: Iterable[_Use], step: int, size: int) -> Interval:
    """The bytes that hold something that is still needed, and those that are being touched."""
    written = [use.bytes for use in uses if use.is_write and use.steps.start <= step]
    needed = [use.bytes for use in uses if not use.is_write and use.steps.end > step]
    touched = [use.bytes for use in uses if use.steps.start <= step < use.steps.end]
    held = _hull(written), _hull(needed)
    parts = list(touched)
    if held[0] is not None and held[1] is not None:
        low, high = max(held[0].start, held[1].start), min(held[0].end, held[1].end)
        if low < high:
            parts.append(Interval(low, high))
    return _hull(parts) or Interval(0, size)


def _hull(parts: Iterable[Interval]) -> Interval | None:
    low, high = None, None
    for part in parts:
        low = part.start if low is None else min(low, part.start)
        high = part.end if high is None else max(high, part.end)
    return None if low is None or high is None else Interval(low, high)
