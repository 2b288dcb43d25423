"""Which values are alive where most is alive."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from onearena.timeline.build import Timeline

_NEAR = 0.97
"""Steps with at least this share of the peak count as peaks."""
_EXPONENT = 24


def soft_peak(live_bytes: Sequence[int]) -> float:
    """The peak, with something added for every other step that is nearly as high.

    The 24-norm: where several steps are equally high, lowering one of them lowers it.
    """
    peak = max(live_bytes, default=0)
    if not peak:
        return 0.0
    return float(peak * sum((size / peak) ** _EXPONENT for size in live_bytes) ** (1 / _EXPONENT))


def values_at_peak(timeline: Timeline) -> tuple[int, ...]:
    """The method's values that are alive at the peak, and where nearly as much is; those of the
    highest step first, and of each step the largest first.

    A pair that may have one address is counted once where it meets, a group as one.
    """
    live = live_bytes(timeline)
    peak = max(live, default=0)
    problem, found = timeline.problem, dict[int, None]()
    steps = sorted(
        (k for k, size in enumerate(live) if size >= _NEAR * peak), key=lambda k: -live[k]
    )
    for step in steps:
        alive = [
            buffer
            for buffer in problem.buffers[: len(timeline.values)]
            if any(part.start <= step < part.end for part in buffer.lifetime)
        ]
        for buffer in sorted(alive, key=lambda buffer: -buffer.size_bytes):
            found[timeline.values[buffer.id]] = None
    return tuple(found)


def live_bytes(timeline: Timeline) -> list[int]:
    """By step, about how many bytes are alive."""
    change = [0] * (len(timeline.method.steps) + 1)
    problem = timeline.problem
    grouped = {member.buffer for group in problem.groups for member in group[1:]}
    for buffer in problem.buffers:
        for part in buffer.lifetime if buffer.id not in grouped else ():
            change[part.start] += buffer.size_bytes
            change[part.end] -= buffer.size_bytes
        for window in buffer.windows:
            free = buffer.size_bytes - (window.end_byte - window.start_byte)
            change[window.lifetime.start] -= free
            change[window.lifetime.end] += free
    shared: set[int] = set()
    for first, second in problem.may_share:
        a, b = problem.buffers[first].lifetime, problem.buffers[second].lifetime
        if a and b and second not in shared and a[-1].end == b[0].start + 1:
            shared.add(second)
            change[b[0].start] -= problem.buffers[second].size_bytes
            change[b[0].start + 1] += problem.buffers[second].size_bytes
    return list(accumulate(change[:-1]))
