"""When only a part of a value is occupied: values that calls read or write in strips of rows.

While a call consumes a value strip by strip, the rows that no later strip reads are free; while
it makes one, the rows that no strip has written yet are free too. So the rows of a result may
take the place of the rows that it was computed from.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import groupby

from onearena.delegates.xnnpack.call import XnnpackCall
from onearena.delegates.xnnpack.occupancy import Use, occupied
from onearena.lifetime import Interval
from onearena.problem import Window
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage


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
    steps, whole = Interval(max(first, life[0].start), min(end, life[0].end)), Interval(0, size)
    start = steps.start
    for part, equal in groupby(occupied(uses, steps, size)):
        until = start + len(list(equal))
        if part != whole:
            yield Window(Interval(start, until), part.start, part.end)
        start = until


def _uses(method: MethodSteps, instruction: int, value: int, size: int) -> Iterator[Use]:
    """What the nodes of a call read and write of a value, at any moment at which they may."""
    call, first = method.calls[instruction], method.first_step[instruction]
    order = call.order
    for node in call.graph.nodes:
        own = first + node.index
        late, early = first + order.read_until[node.index], first + order.write_from[node.index]
        for part in _parts(call, node.inputs, value, size):
            yield Use(Interval(own, max(own, late) + 1), part, is_write=False)
        for part in _parts(call, node.outputs, value, size):
            yield Use(Interval(min(own, early), own + 1), part, is_write=True)


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


def _outside(life: Interval, first: int, end: int, size: int) -> Iterator[Use]:
    """What was there before the call is all written, what is alive behind it all read."""
    if life.start < first:
        yield Use(Interval(life.start, first), Interval(0, size), is_write=True)
    if life.end > end:
        yield Use(Interval(end, life.end), Interval(0, size), is_write=False)
