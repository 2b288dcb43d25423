"""Random planning problems: tiny ones of every kind, and some that look like networks."""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations

from hypothesis import strategies as st
from hypothesis.strategies import DrawFn, SearchStrategy

from onearena.lifetime import Interval, Lifetime, merge
from onearena.problem import Buffer, Member, Problem

MAX_STEP = 6
lifetimes: SearchStrategy[Lifetime] = st.lists(
    st.builds(lambda a, n: Interval(a, a + n), st.integers(0, MAX_STEP), st.integers(1, 3)),
    max_size=3,
).map(merge)


def life(*spans: tuple[int, int]) -> Lifetime:
    """A lifetime from (start, end) pairs."""
    return merge(Interval(start, end) for start, end in spans)


def problem(
    *buffers: tuple[int, Lifetime],
    alignment: int = 1,
    groups: Sequence[Sequence[tuple[int, int]]] = (),
    may_share: Sequence[tuple[int, int]] = (),
    offsets: dict[int, int] | None = None,
) -> Problem:
    """A problem in one arena from (size, lifetime) pairs."""
    fixed = offsets or {}
    made = tuple(
        Buffer(k, size, alignment, 1, lifetime, fixed.get(k), f"buffer {k}")
        for k, (size, lifetime) in enumerate(buffers)
    )
    named = tuple(tuple(Member(b, d) for b, d in group) for group in groups)
    return Problem(made, named, tuple(may_share))


@st.composite
def tiny_problems(draw: DrawFn, max_buffers: int = 6, max_arenas: int = 2) -> Problem:
    """Up to `max_buffers` buffers with any mix of arenas, groups, pairs and fixed offsets.

    Groups keep their alignments satisfiable; everything that is fixed is one group, so that
    fixed offsets cannot contradict each other.
    """
    count = draw(st.integers(0, max_buffers))
    arenas = [draw(st.integers(1, max_arenas)) for _ in range(count)]
    sizes = [draw(st.integers(1, 6)) for _ in range(count)]
    alignments = [draw(st.sampled_from((1, 1, 2, 4))) for _ in range(count)]
    lives = [draw(lifetimes) for _ in range(count)]
    groups: list[tuple[Member, ...]] = []
    offsets: dict[int, int] = {}
    for arena in sorted(set(arenas)):
        free = [k for k in range(count) if arenas[k] == arena]
        if len(free) >= 2 and draw(st.booleans()):
            taken = free[: draw(st.integers(2, min(3, len(free))))]
            free = free[len(taken) :]
            groups.append(tuple(Member(k, alignments[k] * draw(st.integers(0, 6))) for k in taken))
        if free and draw(st.sampled_from((True, False, False, False))):
            fixed = free[: draw(st.integers(1, 2))]
            offsets.update((k, 4 * draw(st.integers(0, 3))) for k in fixed)
            groups.append(tuple(Member(k, offsets[k]) for k in fixed))
    buffers = tuple(
        Buffer(k, sizes[k], alignments[k], arenas[k], lives[k], offsets.get(k), f"buffer {k}")
        for k in range(count)
    )
    return Problem(buffers, tuple(groups), draw(_pairs(buffers, tuple(groups))))


def _pairs(
    buffers: tuple[Buffer, ...], groups: tuple[tuple[Member, ...], ...]
) -> SearchStrategy[tuple[tuple[int, int], ...]]:
    together = {
        frozenset(pair) for group in groups for pair in combinations([m.buffer for m in group], 2)
    }
    possible = [
        (a.id, b.id)
        for a, b in combinations(buffers, 2)
        if a.arena == b.arena
        and a.size_bytes == b.size_bytes
        and frozenset((a.id, b.id)) not in together
    ]
    if not possible:
        return st.just(())
    return st.lists(st.sampled_from(possible), unique=True, max_size=3).map(tuple)


def network(seed: int, blocks: int = 12) -> Problem:
    """Activations like those of an encoder-decoder: chains, skip connections, in-place pairs."""
    rng = random.Random(seed)
    sizes = [64 * rng.choice((16, 32, 64, 128)) * 2 ** rng.randint(0, 3) for _ in range(blocks)]
    starts: list[int] = []
    ends: list[int] = []
    out: list[int] = []
    step = 0
    for size in [*sizes, *reversed(sizes)]:
        for _ in range(rng.randint(1, 3)):
            starts.append(step)
            ends.append(step + 2)
            out.append(size)
            step += 1
    skips = rng.sample(range(len(out) // 2), k=blocks // 2)
    for skip in skips:
        ends[skip] = len(out) - skip
    buffers = tuple(
        Buffer(k, out[k], 64, 1, life((starts[k], max(ends[k], starts[k] + 1))), None, f"t{k}")
        for k in range(len(out))
    )
    pairs = tuple(
        (k, k + 1)
        for k in range(len(out) - 1)
        if out[k] == out[k + 1] and ends[k] == starts[k + 1] + 1 and rng.random() < 0.5
    )
    return Problem(buffers, (), pairs)
