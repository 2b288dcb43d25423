"""Every kind of fault, planted by hand in a problem as small as can be, and near misses."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from onearena import _core

FREE = -1
MAX = 2**63 - 1
HUGE = 2**62
Gap = tuple[int, int, int, int]
Found = list[tuple[str, int, int]]


@dataclass(frozen=True)
class B:
    """A buffer as the core takes it."""

    size: int = 4
    life: tuple[int, int] = (0, 2)
    alignment: int = 1
    gaps: tuple[Gap, ...] = ()
    offset: int = FREE
    hint: int = FREE
    region: tuple[int, int] = (0, MAX)
    last: bool = False
    memories: tuple[int, ...] = ()


@dataclass(frozen=True)
class P:
    """A problem as the core takes it."""

    buffers: tuple[B, ...]
    groups: tuple[tuple[tuple[int, int], ...], ...] = ()
    pairs: tuple[tuple[int, int], ...] = ()
    memories: tuple[tuple[int, int], ...] = ((MAX, 1),)


def native(problem: P) -> _core.Problem:
    result = _core.Problem()
    for capacity, weight in problem.memories:
        result.add_memory(capacity, weight)
    for b in problem.buffers:
        memories, gaps = list(b.memories), list(b.gaps)
        result.add_buffer(
            b.size, b.alignment, *b.life, gaps, b.offset, b.hint, *b.region, b.last, memories
        )
    for group in problem.groups:
        result.add_group(list(group))
    for one, other in problem.pairs:
        result.add_pair(one, other)
    return result


def found(
    problem: P,
    offsets: list[int],
    memories: list[int] | None = None,
    heights: list[int] | None = None,
) -> Found:
    lies_in = memories or [0] * len(offsets)
    return _core.verify(native(problem), offsets, lies_in, heights or [MAX] * len(problem.memories))


def two(first: B, second: B) -> P:
    return P((first, second))


@pytest.mark.parametrize(
    ("buffer", "offset", "height", "kinds"),
    [
        (B(), 0, 4, ""),
        (B(), 0, 3, "bounds"),
        (B(), 1, 4, "bounds"),
        (B(), -1, 4, "bounds"),
        (B(), 4, 3, "bounds"),
        (B(size=0), 4, 4, ""),
        (B(size=0), 5, 4, "bounds"),
        (B(life=(0, 0)), 1, 4, "bounds"),
        (B(alignment=3), 6, 10, ""),
        (B(alignment=3), 4, 10, "alignment"),
        (B(alignment=MAX), 0, 10, ""),
        (B(alignment=3), -2, 10, "bounds alignment"),
        (B(alignment=3), -3, 10, "bounds"),
        (B(offset=0), 0, 10, ""),
        (B(offset=0), 1, 10, "pinned"),
        (B(offset=5, size=0), 4, 10, "pinned"),
        (B(hint=5), 4, 10, ""),
        (B(region=(2, 6)), 2, 10, ""),
        (B(region=(2, 6)), 1, 10, "region"),
        (B(region=(2, 6)), 3, 10, "region"),
        (B(region=(2, 5)), 2, 10, "region"),
        (B(region=(2, 2), size=0), 2, 10, ""),
        (B(region=(2, 2), size=0), 1, 10, "region"),
        (B(region=(0, 4)), -1, 10, "bounds region"),
        (B(size=HUGE), HUGE - 1, MAX, ""),
        (B(size=HUGE), HUGE, MAX, "bounds"),
        (B(size=MAX), MAX, MAX, "bounds"),
        (B(size=MAX), 0, MAX, ""),
        (B(size=HUGE, region=(5, MAX)), HUGE, MAX, "bounds region"),
        (B(size=MAX), -(2**63), MAX, "bounds"),
    ],
)
def test_a_buffer_alone(buffer: B, offset: int, height: int, kinds: str) -> None:
    expected = [(kind, 0, -1) for kind in kinds.split()]
    assert found(P((buffer,)), [offset], heights=[height]) == expected


@pytest.mark.parametrize(
    ("allowed", "memory", "kinds"),
    [
        ((), 1, []),
        ((1,), 1, []),
        ((2, 1), 1, []),
        ((0,), 1, ["memory"]),
        ((0, 2), 1, ["memory"]),
        ((), 3, ["memory"]),
        ((), -1, ["memory"]),
        ((1,), 2**31 - 1, ["memory"]),
    ],
)
def test_memories(allowed: tuple[int, ...], memory: int, kinds: list[str]) -> None:
    problem = P((B(memories=allowed),), memories=((MAX, 1),) * 3)
    assert [fault[0] for fault in found(problem, [0], [memory])] == kinds


@pytest.mark.parametrize(
    ("heights", "expected"),
    [
        ([10, 7], []),
        ([11, 7], [("capacity", 0, -1)]),
        ([10, 8], [("capacity", 1, -1)]),
        ([10, -1], [("capacity", 1, -1)]),
        ([MAX, MAX], [("capacity", 0, -1), ("capacity", 1, -1)]),
    ],
)
def test_capacities_are_of_heights(heights: list[int], expected: Found) -> None:
    assert found(P((), memories=((10, 1), (7, 0))), [], [], heights) == expected


OVERLAP: Found = [("overlap", 0, 1)]
# during step 1 the first half, during step 2 nothing at all
PARTLY = B(life=(0, 4), gaps=((1, 2, 0, 2), (2, 3, 0, 0)))


@pytest.mark.parametrize(
    ("problem", "offsets", "expected"),
    [
        (two(B(), B()), [0, 4], []),
        (two(B(), B()), [4, 0], []),
        (two(B(), B()), [0, 3], OVERLAP),
        (two(B(), B()), [3, 0], OVERLAP),
        (two(B(size=8), B(size=1)), [0, 7], OVERLAP),
        (two(B(size=8), B(size=1)), [0, 8], []),
        (two(B(size=1), B(size=8)), [3, 0], OVERLAP),
        (two(B(), B(life=(2, 3))), [0, 0], []),
        (two(B(), B(life=(1, 3))), [0, 0], OVERLAP),
        (two(B(), B(life=(1, 1))), [0, 0], []),
        (two(B(), B(life=(2, 1))), [0, 0], []),
        (two(B(), B(size=0)), [0, 2], []),
        (two(PARTLY, B(life=(1, 2))), [0, 2], []),
        (two(PARTLY, B(life=(1, 2))), [0, 1], OVERLAP),
        (two(PARTLY, B(life=(2, 3))), [0, 0], []),
        (two(PARTLY, B(life=(1, 3))), [0, 2], []),
        (two(PARTLY, B(life=(0, 2))), [0, 2], OVERLAP),
        (two(PARTLY, B(life=(2, 4))), [0, 2], OVERLAP),
        (two(PARTLY, PARTLY), [0, 4], []),
        (two(PARTLY, PARTLY), [0, 3], OVERLAP),
        (two(B(gaps=((0, 2, 3, 3),)), B()), [0, 0], []),
        (two(B(gaps=((1, 1, 0, 0),)), B()), [0, 3], OVERLAP),
        (two(B(gaps=((1, 2, 3, 4), (0, 1, 0, 1))), B(life=(0, 1))), [0, 1], []),
        (two(B(gaps=((1, 2, 3, 4), (0, 1, 0, 1))), B(life=(1, 2))), [0, 1], OVERLAP),
        (two(B(size=HUGE), B(size=HUGE)), [0, HUGE], []),
        (two(B(size=HUGE), B(size=HUGE - 1)), [0, HUGE], []),
        (two(B(size=HUGE), B(size=HUGE - 1)), [0, HUGE - 1], OVERLAP),
        (two(B(size=MAX), B(size=1)), [0, MAX - 1], OVERLAP),
        (two(B(life=(-(2**63), MAX)), B(life=(MAX - 1, MAX))), [0, 0], OVERLAP),
        (two(B(life=(-(2**63), 0)), B(life=(0, MAX))), [0, 0], []),
    ],
)
def test_overlaps(problem: P, offsets: list[int], expected: Found) -> None:
    height = [max(at + b.size for at, b in zip(offsets, problem.buffers, strict=True))]
    expected = [*([("bounds", 1, -1)] if height[0] > MAX else []), *expected]
    assert found(problem, offsets, heights=[min(height[0], MAX)]) == expected


def test_in_different_memories_nothing_meets() -> None:
    problem = P((B(), B(last=True)), memories=((MAX, 1),) * 2)
    assert found(problem, [0, 0], [0, 1]) == []
    assert found(problem, [0, 0], [1, 1]) == [("overlap", 0, 1), ("last", 1, 0)]


SHARED = P((B(), B()), pairs=((1, 0),))
HALVES = P((B(gaps=((0, 2, 0, 2),)), B(gaps=((0, 2, 1, 4),))), pairs=((0, 1),))
CHAIN = P((B(), B(), B()), pairs=((0, 1), (1, 2)))


@pytest.mark.parametrize(
    ("problem", "offsets", "expected"),
    [
        (SHARED, [3, 3], []),
        (SHARED, [3, 7], []),
        (SHARED, [3, 4], OVERLAP),
        (HALVES, [0, 0], []),
        (HALVES, [0, 1], []),
        (HALVES, [1, 0], OVERLAP),
        (CHAIN, [0, 0, 4], []),
        (CHAIN, [0, 4, 4], []),
        (CHAIN, [0, 0, 0], [("overlap", 0, 2)]),
    ],
)
def test_pairs(problem: P, offsets: list[int], expected: Found) -> None:
    assert found(problem, offsets) == expected


GROUP = P((B(), B(size=2), B()), groups=(((1, 7), (0, 5)),))
WIDE = P((B(size=0), B(size=0)), groups=(((0, -(2**63)), (1, MAX)),))


@pytest.mark.parametrize(
    ("problem", "offsets", "expected"),
    [
        (GROUP, [0, 2, 4], []),
        (GROUP, [10, 12, 6], []),
        (GROUP, [0, 3, 5], [("alias", 0, 1)]),
        (GROUP, [2, 0, 6], [("alias", 0, 1)]),
        (GROUP, [2, 4, 0], [("overlap", 0, 2)]),
        (GROUP, [2, 4, 5], [("overlap", 0, 2), ("overlap", 1, 2)]),
        (WIDE, [1, 0], [("alias", 1, 0)]),
        (WIDE, [0, MAX], [("alias", 1, 0)]),
    ],
)
def test_groups(problem: P, offsets: list[int], expected: Found) -> None:
    assert found(problem, offsets) == expected


def test_a_group_lies_in_one_memory() -> None:
    problem = P((B(), B()), groups=(((0, 0), (1, 0)),), memories=((MAX, 1),) * 2)
    assert found(problem, [0, 0], [1, 1]) == []
    assert found(problem, [0, 0], [0, 1]) == [("alias", 1, 0)]


LAST: Found = [("last", 0, 1)]


@pytest.mark.parametrize(
    ("problem", "offsets", "expected"),
    [
        (two(B(last=True), B()), [4, 0], []),
        (two(B(last=True), B()), [0, 4], LAST),
        (two(B(last=True), B()), [3, 0], [*OVERLAP, *LAST]),
        (two(B(last=True), B()), [0, 99], LAST),
        (two(B(last=True), B(life=(2, 3))), [0, 99], []),
        (two(B(life=(2, 3)), B(last=True)), [99, 0], []),
        (two(B(life=(1, 3)), B(last=True)), [99, 0], [("last", 1, 0)]),
        (two(B(last=True, life=(1, 3)), B()), [0, 99], LAST),
        (two(B(last=True), B(last=True)), [0, 4], LAST),
        (two(B(last=True), B(size=0)), [0, 9], []),
        (two(B(last=True, size=0), B()), [0, 9], []),
        (two(B(last=True), PARTLY), [2, 0], [*OVERLAP, *LAST]),
        (two(B(last=True, life=(1, 2)), PARTLY), [2, 0], []),
        (two(B(last=True, life=(1, 2)), PARTLY), [1, 0], [*OVERLAP, *LAST]),
        (two(B(last=True, life=(2, 3)), PARTLY), [0, 9], []),
        # of the last one, too, only what is occupied counts
        (two(B(last=True, gaps=((0, 2, 2, 4),)), B(size=2)), [0, 0], []),
        (two(B(last=True, gaps=((0, 2, 0, 2),)), B(size=2)), [0, 2], LAST),
        (P((B(last=True), B(size=2)), groups=(((0, 0), (1, 9)),)), [0, 9], []),
        (P((B(last=True), B()), pairs=((0, 1),)), [3, 3], []),
        (P((B(last=True), B()), pairs=((0, 1),)), [3, 7], LAST),
    ],
)
def test_last(problem: P, offsets: list[int], expected: Found) -> None:
    assert found(problem, offsets) == expected


@pytest.mark.parametrize(
    ("problem", "message"),
    [
        (P((), memories=()), "no memories"),
        (P((), memories=((1, 1), (-1, 1))), "memory 1: negative capacity"),
        (P((), memories=((1, -1),)), "memory 0: negative weight"),
        (P((B(), B(size=-1))), "buffer 1: negative size"),
        (P((B(alignment=0),)), "buffer 0: alignment is not positive"),
        (P((B(offset=-2),)), "buffer 0: negative offset"),
        (P((B(region=(-1, 5)),)), "buffer 0: region is not a range of bytes"),
        (P((B(region=(3, 2)),)), "buffer 0: region is not a range of bytes"),
        (P((B(memories=(1,)),)), "buffer 0: there is no memory 1"),
        (P((B(memories=(-1,)),)), "buffer 0: there is no memory -1"),
        (P((B(gaps=((1, 3, 0, 0),)),)), "buffer 0: gap outside its life"),
        (P((B(life=(0, 0), gaps=((0, 1, 0, 0),)),)), "buffer 0: gap outside its life"),
        (P((B(gaps=((0, 1, 0, 5),)),)), "buffer 0: gap with bytes outside the buffer"),
        (P((B(gaps=((0, 1, -1, 2),)),)), "buffer 0: gap with bytes outside the buffer"),
        (P((B(gaps=((1, 2, 0, 0), (0, 2, 0, 0))),)), "buffer 0: gaps overlap each other"),
        (P((B(),), groups=(((1, 0),),)), "group 0: there is no buffer 1"),
        (P((B(),), groups=((), ((-1, 0),))), "group 1: there is no buffer -1"),
        (P((B(),), groups=(((0, 0),), ((0, 0),))), "buffer 0: member of a group twice"),
        (P((B(),), groups=(((0, 0), (0, 0)),)), "buffer 0: member of a group twice"),
        (P((B(),), pairs=((0, 1),)), "pair 0: there is no buffer 1"),
        (P((B(),), pairs=((0, 0),)), "pair 0: both are the same buffer"),
        (P((B(), B(size=3)), pairs=((0, 1),)), "pair 0: the buffers have different sizes"),
    ],
)
def test_malformed_problems_are_refused(problem: P, message: str) -> None:
    with pytest.raises(ValueError, match=f"^{message}$"):
        found(problem, [0] * len(problem.buffers))
