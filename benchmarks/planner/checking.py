"""Checks plans without any code of the planners: every answer that counts went through here."""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Sequence

from onearena.problem import Problem

from .instances import occupied


def fault(problem: Problem, offsets: Sequence[int]) -> str | None:
    """What is wrong with a plan of a problem without groups and pairs, or None."""
    if len(offsets) != len(problem.buffers):
        return f"{len(offsets)} offsets for {len(problem.buffers)} buffers"
    events: list[tuple[int, bool, int, int, int]] = []
    for buffer, offset in zip(problem.buffers, offsets, strict=True):
        if offset < 0 or offset % buffer.alignment:
            return f"offset {offset} of {buffer.id} is not a multiple of {buffer.alignment}"
        if buffer.offset not in (None, offset):
            return f"{buffer.id} lies at {offset}, not at {buffer.offset}"
        for begin, end, low, high in occupied(buffer):
            events.append((begin, True, offset + low, offset + high, buffer.id))
            events.append((end, False, offset + low, offset + high, buffer.id))
    alive: list[tuple[int, int, int]] = []  # apart from each other, in order
    for _, is_born, low, high, number in sorted(events):
        place = bisect_left(alive, (low, high, number))
        if not is_born:
            alive.pop(place)
            continue
        for _, end, other in alive[max(0, place - 1) : place]:
            if end > low:
                return f"{other} and {number} overlap"
        for start, _, other in alive[place : place + 1]:
            if start < high:
                return f"{number} and {other} overlap"
        insort(alive, (low, high, number))
    return None
