"""Random problems of every kind that files can hold, and one that has everything."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from onearena.lifetime import Interval, Lifetime, merge
from onearena.problem import Buffer, Member, Memory, Plan, Problem, Window

MAX = (1 << 63) - 1

names = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
steps = st.integers(-9, 40) | st.integers(-(1 << 63), MAX)
lifetimes: SearchStrategy[Lifetime] = st.lists(
    st.tuples(steps, steps).map(lambda pair: Interval(min(pair), max(pair))), max_size=3
).map(merge)
byte_counts = st.integers(0, 99) | st.integers(0, MAX)


@st.composite
def _windows(draw: DrawFn, lifetime: Lifetime, size: int) -> tuple[Window, ...]:
    windows = []
    for life in lifetime:
        cuts = sorted(draw(st.sets(st.integers(life.start, life.end), max_size=4)))
        for start, end in zip(cuts[::2], cuts[1::2], strict=False):
            low, high = sorted((draw(st.integers(0, size)), draw(st.integers(0, size))))
            windows.append(Window(Interval(start, end), low, high))
    return tuple(draw(st.permutations(windows)))


@st.composite
def buffers(draw: DrawFn, index: int = 0, name: str = "") -> Buffer:
    size = draw(byte_counts)
    lifetime = draw(lifetimes)
    arenas = draw(st.lists(st.integers(0, 3), min_size=1, max_size=3, unique=True))
    low, high = sorted((draw(byte_counts), draw(byte_counts)))
    return Buffer(
        index,
        size,
        draw(st.sampled_from((1, 2, 64, MAX))),
        arenas[0],
        lifetime,
        draw(st.none() | byte_counts),
        name,
        draw(_windows(lifetime, size)),
        draw(st.none() | st.just(Interval(low, high))),
        draw(st.booleans()),
        tuple(arenas[1:]),
        draw(st.none() | byte_counts),
    )


@st.composite
def problems(draw: DrawFn, unique_names: bool = False) -> Problem:
    """Any problem without groups and pairs."""
    called = draw(st.lists(names, max_size=5, unique=unique_names))
    made = tuple(draw(buffers(k, name)) for k, name in enumerate(called))
    if made and unique_names and not any(called):  # CSV calls nameless ones by position
        made = (replace(made[0], name="a"), *made[1:])
    return Problem(made)


@st.composite
def grouped_problems(draw: DrawFn) -> Problem:
    """Any problem."""
    made = draw(problems())
    order = draw(st.permutations(range(len(made.buffers))))
    cut = draw(st.integers(0, len(order)))
    deltas = st.integers(-MAX - 1, MAX)
    groups = tuple(
        tuple(Member(k, draw(deltas)) for k in part) for part in (order[:cut], order[cut:]) if part
    )
    pairs = ((order[0], order[1]), (order[1], order[0])) if len(order) > 1 else ()
    return replace(made, groups=groups, may_share=pairs)


memories = st.lists(
    st.builds(Memory, st.integers(0, MAX), st.none() | byte_counts, st.integers(1, MAX)),
    max_size=3,
    unique_by=lambda memory: memory.arena,
).map(tuple)


@st.composite
def plans(draw: DrawFn) -> Plan:
    """Any plan, of no particular problem."""
    offsets = tuple(draw(st.lists(byte_counts, max_size=5)))
    arenas = draw(st.lists(st.integers(0, 9), min_size=1, max_size=3, unique=True))
    chosen = draw(st.just(()) | st.tuples(*(st.sampled_from(arenas) for _ in offsets)))
    return Plan(
        offsets,
        {arena: draw(byte_counts) for arena in arenas},
        {arena: draw(byte_counts) for arena in arenas},
        draw(names),
        draw(st.booleans()),
        chosen,
    )


def everything() -> Problem:
    """A problem in two arenas that uses all that CSV can say."""
    return Problem(
        (
            Buffer(0, 64, 16, 0, (Interval(0, 4), Interval(6, 9)), None, "a, or b"),
            Buffer(1, 32, 1, 0, (Interval(-3, 5),), 128, 'the "second"', arenas=(1,)),
            Buffer(
                2,
                48,
                4,
                1,
                (Interval(2, 8),),
                None,
                "third",
                (Window(Interval(2, 4), 0, 16), Window(Interval(5, 6), 8, 8)),
                Interval(0, 4096),
                True,
                (),
                256,
            ),
        )
    )
