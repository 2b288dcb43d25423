"""Problems so small that every plan can be tried, with every feature to be switched on or off.

They are made from numbers that `pick(low, high)` chooses, which is Hypothesis where failures should
shrink, and a random generator where many problems are wanted in little time.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, replace
from functools import cache
from random import Random

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from onearena.lifetime import Interval, Lifetime, merge
from onearena.problem import Buffer, Member, Memory, Problem, Window

FEATURES = (
    "alignment",
    "pins",
    "gaps",
    "windows",
    "groups",
    "pairs",
    "regions",
    "last",
    "arenas",
    "hints",
)

MAX_BUFFERS = 5
CROWD = 6
MAX_SIZE = 5
STEPS = 6
MAX_OFFSET = 9

Pick = Callable[[int, int], int]
"""Chooses a number, both ends included."""


def how_many(count: int) -> int:
    """The number of examples; ONEARENA_EXAMPLES=20 means twenty times as many."""
    return max(1, int(count * float(os.environ.get("ONEARENA_EXAMPLES", "1"))))


def examples(count: int) -> settings:
    """The same examples every time, unless ONEARENA_SEED is set."""
    return settings(
        max_examples=how_many(count),
        deadline=None,
        derandomize="ONEARENA_SEED" not in os.environ,
        database=None,
    )


@dataclass(frozen=True)
class Case:
    """A problem and the memories it is planned in."""

    problem: Problem
    memories: tuple[Memory, ...] = ()


@st.composite
def cases(draw: DrawFn, features: Collection[str] | None = None) -> Case:
    """A tiny problem with the given features, or with any of them."""
    return make_case(picker(draw), features)


def picker(draw: Callable[[SearchStrategy[int]], int]) -> Pick:
    """Numbers from Hypothesis."""
    return lambda low, high: draw(_integers(low, high))


@cache
def _integers(low: int, high: int) -> SearchStrategy[int]:
    return st.integers(low, high)


def seeded(name: str) -> Random:
    """Numbers that are the same every time, unless ONEARENA_SEED says otherwise."""
    return Random(f"{os.environ.get('ONEARENA_SEED', '')} {name}")


def random_cases(count: int, features: Collection[str] | None = None) -> Iterator[Case]:
    """Many tiny problems."""
    random = seeded(str(features))
    for _ in range(how_many(count)):
        yield make_case(random.randint, features)


def make_case(pick: Pick, features: Collection[str] | None) -> Case:
    """A problem with the given features, or with any of them."""
    if features is None:
        bits = pick(0, 2 ** len(FEATURES) - 1)
        features = [name for k, name in enumerate(FEATURES) if bits >> k & 1]
    count = pick(0, MAX_BUFFERS)
    buffers = [_buffer(pick, k, features) for k in range(count)]
    return _case(pick, buffers, features)


def crowded_cases(count: int, features: Collection[str]) -> Iterator[Case]:
    """Problems in which nothing is empty and much is alive at once, so that they are hard."""
    random = seeded(f"crowded {sorted(features)}")
    for _ in range(how_many(count)):
        buffers = []
        for k in range(random.randint(3, CROWD)):
            start = random.randint(0, STEPS - 1)
            lifetime = (Interval(start, random.randint(start + 1, min(STEPS, start + 4))),)
            buffer = _buffer(random.randint, k, [f for f in features if f not in _TIMED])
            size = random.randint(1, MAX_SIZE)
            buffers.append(replace(buffer, lifetime=lifetime, size_bytes=size))
        yield _case(random.randint, buffers, features)


_TIMED = ("gaps", "windows")


def _case(pick: Pick, buffers: list[Buffer], features: Collection[str]) -> Case:
    count = len(buffers)
    groups = _groups(pick, count) if "groups" in features else ()
    pairs: tuple[tuple[int, int], ...] = ()
    if "pairs" in features and count > 1:
        pairs = tuple(_two_of(pick, count) for _ in range(pick(0, 3)))
        buffers = _same_sizes(buffers, pairs)
    memories = _memories(pick) if "arenas" in features else ()
    return Case(Problem(tuple(buffers), groups, pairs), memories)


def _buffer(pick: Pick, k: int, features: Collection[str]) -> Buffer:
    size = pick(0, MAX_SIZE)
    lifetime = _gapped(pick) if "gaps" in features else _solid(pick)
    buffer = Buffer(k, size, 1, 1, lifetime, name=f"buffer {k}")
    if "alignment" in features:
        buffer = replace(buffer, alignment=(1, 2, 3, 4, 6)[pick(0, 4)])
    if "windows" in features:
        buffer = replace(buffer, windows=_windows(pick, lifetime, size))
    if "pins" in features and pick(0, 3) == 3:
        buffer = replace(buffer, offset=pick(0, MAX_OFFSET))
    if "regions" in features and pick(0, 2) == 2:
        low = pick(0, MAX_OFFSET)
        buffer = replace(buffer, region=Interval(low, low + pick(0, 2 * MAX_SIZE)))
    if "last" in features:
        buffer = replace(buffer, is_last=pick(0, 3) == 3)
    if "arenas" in features:
        others = tuple(pick(1, 2) for _ in range(pick(0, 2)))
        buffer = replace(buffer, arena=pick(1, 2), arenas=others)
    if "hints" in features and pick(0, 1):
        buffer = replace(buffer, hint=pick(0, 2 * MAX_OFFSET))
    return buffer


def _solid(pick: Pick) -> Lifetime:
    return merge([Interval(pick(0, STEPS - 1), pick(0, STEPS))])


def _gapped(pick: Pick) -> Lifetime:
    bits = pick(0, 2**STEPS - 1)
    return merge(Interval(s, s + 1) for s in range(STEPS) if bits >> s & 1)


def _windows(pick: Pick, lifetime: Lifetime, size: int) -> tuple[Window, ...]:
    result = []
    for life in lifetime:
        cuts = sorted(pick(life.start, life.end) for _ in range(pick(0, 4)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False):
            if start < end:
                low, high = sorted((pick(0, size), pick(0, size)))
                result.append(Window(Interval(start, end), low, high))
    return tuple(result)


def _groups(pick: Pick, count: int) -> tuple[tuple[Member, ...], ...]:
    groups: list[list[Member]] = [[], []]
    for k in range(count):
        which = pick(0, 3)
        if which < len(groups):
            groups[which].append(Member(k, pick(-4, 6)))
    return tuple(tuple(group) for group in groups if group)


def _two_of(pick: Pick, count: int) -> tuple[int, int]:
    one, other = pick(0, count - 1), pick(0, count - 2)
    return one, other + (other >= one)


def _same_sizes(buffers: list[Buffer], pairs: tuple[tuple[int, int], ...]) -> list[Buffer]:
    """The buffers with equal sizes in each pair; the larger ones are cut, with their windows."""
    sizes = [buffer.size_bytes for buffer in buffers]
    for _ in buffers:
        for one, other in pairs:
            sizes[one] = sizes[other] = min(sizes[one], sizes[other])
    return [_cut(buffer, size) for buffer, size in zip(buffers, sizes, strict=True)]


def _cut(buffer: Buffer, size: int) -> Buffer:
    windows = tuple(
        Window(w.lifetime, min(w.start_byte, size), min(w.end_byte, size)) for w in buffer.windows
    )
    return replace(buffer, size_bytes=size, windows=windows)


def _memories(pick: Pick) -> tuple[Memory, ...]:
    """Memories for some of the arenas, and perhaps one that no buffer names."""
    result = []
    for arena in (1, 2, 3):
        if pick(0, 1):
            capacity = pick(0, 3 * MAX_SIZE) if pick(0, 1) else None
            result.append(Memory(arena, capacity, pick(1, 3)))
    return tuple(result)
