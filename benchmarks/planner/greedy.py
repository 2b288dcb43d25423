"""Two greedy planners: one to start CP-SAT from, and ExecuTorch's default."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from onearena.problem import Buffer, Problem

from .instances import occupied
from .tasks import Answer, Task, Unsupported, timed

MOST_BUFFERS = 20_000
_Box = tuple[int, int, int, int]


def first_fit(problem: Problem) -> tuple[int, ...]:
    """Pins first, then from the largest on, each as low as it goes."""
    offsets = [0] * len(problem.buffers)
    boxes: list[_Box] = []
    for buffer in sorted(problem.buffers, key=lambda b: (b.offset is None, -b.size_bytes, b.id)):
        offset = _lowest(buffer, boxes) if buffer.offset is None else buffer.offset
        offsets[buffer.id] = offset
        boxes += [(b, e, offset + low, offset + high) for b, e, low, high in occupied(buffer)]
    return tuple(offsets)


def _lowest(buffer: Buffer, boxes: list[_Box]) -> int:
    blocked = sorted(
        (low - last, high - first)
        for begin, end, first, last in occupied(buffer)
        for start, stop, low, high in boxes
        if start < end and begin < stop
    )
    offset = 0
    for low, high in blocked:  # offsets strictly between the two are not possible
        if low < offset < high:
            offset = -(-high // buffer.alignment) * buffer.alignment
    return offset


@dataclass
class _Bucket:
    size: int
    inside: list[tuple[int, Buffer]] = field(default_factory=list)

    def room(self, buffer: Buffer, size: int, *, in_front: bool) -> int | None:
        """Where the buffer may lie: at 0 if nobody is there at the time, else behind all."""
        life = buffer.lifetime[0]
        behind = 0
        for at, other in self.inside:
            span = other.lifetime[0]
            if span.start < life.end and life.start < span.end:
                behind = max(behind, at + _rounded(other))
        if in_front or behind == 0:
            return 0 if behind == 0 else None
        return behind if behind + size <= self.size else None


def executorch(task: Task) -> Iterator[Answer]:
    """ExecuTorch's greedy planner, written anew: buckets as large as their first, largest buffer.

    Buffers of equal size come in the order of their lifetimes, there their order is left open.
    """
    buffers = task.instance.problem.buffers
    if any(b.windows or len(b.lifetime) != 1 or b.offset is not None for b in buffers):
        raise Unsupported("no pins, no gaps")
    if len({b.alignment for b in buffers}) > 1:
        raise Unsupported("one alignment only")
    if len(buffers) > MOST_BUFFERS:
        raise Unsupported("too large")
    offsets, seconds = timed(lambda: _in_buckets(buffers))
    yield Answer(0, offsets, seconds, note="buckets")


def _in_buckets(buffers: tuple[Buffer, ...]) -> tuple[int, ...]:
    buckets: list[_Bucket] = []
    places: dict[int, tuple[_Bucket, int]] = {}
    for buffer in sorted(buffers, key=lambda b: (-_rounded(b), b.lifetime)):
        size = _rounded(buffer)
        bucket, at = _room(buckets, buffer, size)
        if bucket is None:
            bucket = _Bucket(size)
            buckets.append(bucket)
        bucket.inside.append((at, buffer))
        places[buffer.id] = (bucket, at)
    starts: dict[int, int] = {}
    low = 0
    for bucket in buckets:
        starts[id(bucket)] = low
        low += bucket.size
    return tuple(starts[id(bucket)] + at for bucket, at in (places[b.id] for b in buffers))


def _room(buckets: list[_Bucket], buffer: Buffer, size: int) -> tuple[_Bucket | None, int]:
    for in_front in (True, False):
        for bucket in buckets:
            at = bucket.room(buffer, size, in_front=in_front)
            if at is not None:
                return bucket, at
    return None, 0


def _rounded(buffer: Buffer) -> int:
    return -(-buffer.size_bytes // buffer.alignment) * buffer.alignment
