"""Problems to plan, and what is known about them."""

from __future__ import annotations

import csv
import io
import tarfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

from onearena.lifetime import Interval
from onearena.problem import Buffer, Problem

DATA = Path(__file__).resolve().parent / "data"
ARENA = 1


@dataclass(frozen=True)
class Instance:
    """A problem with one arena.

    Attributes:
        family: what it belongs to.
        name: unique inside the family.
        capacity: what the arena has, or None.
        optimum: the height of the best plan, or None where that is not known.
        witness: offsets that reach the optimum, or none.
    """

    family: str
    name: str
    problem: Problem
    capacity: int | None = None
    optimum: int | None = None
    witness: tuple[int, ...] = ()

    @property
    def buffers(self) -> int:
        """How many."""
        return len(self.problem.buffers)


def published(archive: str) -> list[Instance]:
    """The instances of an archive in ``data``, from the smallest on."""
    found = []
    with tarfile.open(DATA / f"{archive}.tar.xz") as files:
        for member in files:
            content = files.extractfile(member)
            if content is not None:
                text = io.TextIOWrapper(content, encoding="utf-8", newline="")
                found.append(_from_table(archive, Path(member.name).name, csv.DictReader(text)))
    return sorted(found, key=lambda instance: (instance.buffers, instance.name))


def _from_table(family: str, file: str, rows: Iterable[dict[str, str]]) -> Instance:
    parts = file.removesuffix(".csv").split(".")
    capacity = int(parts.pop()) if parts[-1].isdecimal() and len(parts) > 1 else None
    spans = ((int(row["lower"]), int(row["upper"]), int(row["size"])) for row in rows)
    return Instance(family, ".".join(parts), problem_of(spans), capacity)


def problem_of(rectangles: Iterable[tuple[int, int, int]]) -> Problem:
    """The problem of plain buffers: begin, end, size."""
    return Problem(
        tuple(
            Buffer(k, size, 1, ARENA, (Interval(begin, end),), name=str(k))
            for k, (begin, end, size) in enumerate(rectangles)
        )
    )


def occupied(buffer: Buffer) -> list[tuple[int, int, int, int]]:
    """What a buffer keeps from others: begin, end, first byte and end of bytes in it."""
    pieces = []
    for life in buffer.lifetime:
        step = life.start
        for window in sorted(buffer.windows, key=lambda w: w.lifetime.start):
            if life.start <= window.lifetime.start < life.end:
                pieces.append((step, window.lifetime.start, 0, buffer.size_bytes))
                span = (window.start_byte, window.end_byte)
                pieces.append((window.lifetime.start, window.lifetime.end, *span))
                step = window.lifetime.end
        pieces.append((step, life.end, 0, buffer.size_bytes))
    return [piece for piece in pieces if piece[0] < piece[1] and piece[2] < piece[3]]


def load(problem: Problem) -> int:
    """The largest sum of occupied bytes at a step: no plan is smaller."""
    changes: dict[int, int] = {}
    for buffer in problem.buffers:
        for begin, end, low, high in occupied(buffer):
            changes[begin] = changes.get(begin, 0) + high - low
            changes[end] = changes.get(end, 0) - (high - low)
    return max(accumulate(changes[step] for step in sorted(changes)), default=0)


def is_plain(problem: Problem) -> bool:
    """Whether there is nothing but lifetimes and sizes."""
    return not (problem.groups or problem.may_share) and all(
        buffer.alignment == 1
        and buffer.offset is None
        and buffer.region is None
        and not buffer.windows
        and not buffer.is_last
        and len(buffer.lifetime) == 1
        for buffer in problem.buffers
    )


def height(problem: Problem, offsets: Sequence[int]) -> int:
    """Where the last byte of a plan ends."""
    ends = (o + b.size_bytes for b, o in zip(problem.buffers, offsets, strict=True))
    return max(ends, default=0)
