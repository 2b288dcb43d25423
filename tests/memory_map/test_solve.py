"""Who lies in which region: against every choice there is, on small random problems."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import pytest

from onearena.errors import InfeasibleError, PlanError
from onearena.lifetime import Interval
from onearena.memory_map import assign as assigning
from onearena.memory_map.assign import Assignment, Cut, Shelf, assign
from onearena.memory_map.bound import cost_bound
from onearena.memory_map.misfit import find_enlargements
from onearena.memory_map.regions import parse_memory_map
from onearena.memory_map.solve import solve_regions
from onearena.memory_map.units import collect_units
from onearena.planners import plan
from onearena.problem import Buffer, Member, Memory, Problem
from onearena.verification.native import verify_plan

SEEDS = range(60)


def buffer(number: int, size: int, start: int, end: int, arenas: Sequence[int] = (1, 2)) -> Buffer:
    life = (Interval(start, end),) if end > start else ()
    return Buffer(number, size, 16, arenas[0], life, None, f"b{number}", arenas=tuple(arenas[1:]))


def draw(
    seed: int, count: int = 7, memories: Sequence[int] = (1, 2)
) -> tuple[Problem, dict[int, int]]:
    """Buffers with lifetimes, holes, a group, buffers that may share, one that stays."""
    rng = random.Random(seed)
    buffers = []
    for number in range(count):
        start = rng.randrange(8)
        made = buffer(number, 16 * rng.randint(1, 6), start, start + rng.randint(1, 4), memories)
        if rng.random() < 0.2:
            later = made.lifetime[0].end + 1
            made = replace(made, lifetime=(*made.lifetime, Interval(later, later + 1)))
        buffers.append(made)
    groups: tuple[tuple[Member, ...], ...] = ()
    if rng.random() < 0.4:
        groups = ((Member(0, 0), Member(1, 16 * rng.randint(0, 3))),)
    pairs: tuple[tuple[int, int], ...] = ()
    if rng.random() < 0.5:
        buffers[3] = replace(buffers[3], size_bytes=buffers[2].size_bytes)
        pairs = ((2, 3),)
    if rng.random() < 0.3:
        fixed = rng.choice(memories)
        buffers[6] = replace(buffers[6], arena=fixed, arenas=(), offset=16 * rng.randrange(3))
    traffic = {number: rng.randrange(1000) for number in range(count)}
    return Problem(tuple(buffers), groups, pairs), traffic


def cheapest(problem: Problem, traffic: dict[int, int], shelves: Sequence[Shelf]) -> int | None:
    """Every choice of regions, packed by the planner; None when none fits."""
    memories = [Memory(s.arena, s.capacity_bytes) for s in shelves]
    best: int | None = None
    for choice in product(shelves, repeat=len(problem.buffers)):
        if any(
            s.arena not in (b.arena, *b.arenas)
            for b, s in zip(problem.buffers, choice, strict=True)
        ):
            continue
        if any(len({choice[m.buffer].arena for m in group}) > 1 for group in problem.groups):
            continue
        cost = sum(traffic[k] * shelf.cost for k, shelf in enumerate(choice))
        if best is not None and cost >= best:
            continue
        buffers = tuple(
            replace(b, arena=shelf.arena, arenas=())
            for b, shelf in zip(problem.buffers, choice, strict=True)
        )
        try:
            plan(replace(problem, buffers=buffers), memories=memories, fit_only=True)
        except InfeasibleError:
            continue
        best = cost
    return best


@pytest.mark.parametrize("seed", SEEDS)
def test_no_choice_is_cheaper(seed: int) -> None:
    problem, traffic = draw(seed)
    rng = random.Random(1000 + seed)
    shelves = (Shelf(1, 16 * rng.randint(2, 10), 1), Shelf(2, 16 * rng.randint(4, 14), 3))
    expected = cheapest(problem, traffic, shelves)
    if expected is None:
        with pytest.raises(InfeasibleError):
            solve_regions(problem, traffic, shelves, 1.0)
        return
    found = solve_regions(problem, traffic, shelves, 1.0)
    assert found.cost == found.cost_bound == expected
    assert found.plan.optimal
    memories = [Memory(s.arena, s.capacity_bytes) for s in shelves]
    assert verify_plan(problem, found.plan, memories) == ()
    price = {s.arena: s.cost for s in shelves}
    assert found.cost == sum(traffic[k] * price[a] for k, a in enumerate(found.plan.arenas))


@pytest.mark.parametrize("seed", range(12))
def test_three_regions(seed: int) -> None:
    problem, traffic = draw(seed, 7, (1, 4, 2))
    rng = random.Random(seed)
    shelves = tuple(
        Shelf(arena, 16 * rng.randint(3, 9), cost) for arena, cost in ((1, 1), (4, 2), (2, 7))
    )
    expected = cheapest(problem, traffic, shelves)
    if expected is None:
        with pytest.raises(InfeasibleError):
            solve_regions(problem, traffic, shelves, 1.0)
    else:
        assert solve_regions(problem, traffic, shelves, 1.0).cost == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_bound_and_short_search_are_valid(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    problem, traffic = draw(seed)
    rng = random.Random(2000 + seed)
    shelves = (Shelf(1, 16 * rng.randint(2, 10), 1), Shelf(2, 16 * rng.randint(8, 20), 3))
    expected = cheapest(problem, traffic, shelves)
    if expected is None:
        return
    assert cost_bound(collect_units(problem, traffic), shelves) <= expected
    monkeypatch.setattr(assigning, "MAX_STATES", 1)
    found = solve_regions(problem, traffic, shelves, 1.0)
    assert found.cost_bound <= expected <= found.cost
    memories = [Memory(s.arena, s.capacity_bytes) for s in shelves]
    assert verify_plan(problem, found.plan, memories) == ()


def test_bound_is_not_trivial() -> None:
    problem = Problem(tuple(buffer(k, 64, 0, 1) for k in range(3)))
    shelves = (Shelf(1, 128, 1), Shelf(2, 1024, 5))
    units = collect_units(problem, {0: 10, 1: 20, 2: 30})
    assert cost_bound(units, shelves) == 60 + 4 * 10


def test_what_does_not_pack_is_cut() -> None:
    """Live bytes fit, no plan does: the classic case of three regions of time."""
    sizes_and_lives = [(32, 0, 2), (16, 1, 3), (32, 2, 5), (16, 0, 1), (16, 4, 6), (32, 5, 7)]
    problem = Problem(tuple(buffer(k, s, a, b) for k, (s, a, b) in enumerate(sizes_and_lives)))
    units = collect_units(problem, dict.fromkeys(range(6), 1))
    shelves = (Shelf(1, 48, 1), Shelf(2, 48, 2))
    free = assign(units, shelves, ())
    assert isinstance(free, Assignment)
    assert free.regions == (0,) * 6
    cut = assign(units, shelves, (Cut(frozenset(range(6)), 0),))
    assert isinstance(cut, Assignment)
    assert sorted(cut.regions) == [0, 0, 0, 0, 0, 1]
    assert cut.cost == free.cost + 1
    everywhere = [Cut(frozenset((k,)), region) for k in range(6) for region in (0, 1)]
    assert assign(units, shelves, everywhere) is True


def test_memory_that_is_never_alive_only_needs_a_place() -> None:
    problem = Problem((buffer(0, 64, 0, 0), buffer(1, 64, 0, 1)))
    found = solve_regions(problem, {1: 5}, (Shelf(1, 64, 1), Shelf(2, 64, 2)), 1.0)
    assert found.cost == 5
    with pytest.raises(InfeasibleError):
        solve_regions(problem, {1: 5}, (Shelf(1, 32, 1), Shelf(2, 32, 2)), 1.0)


@pytest.mark.parametrize("seed", range(40))
def test_smallest_enlargement(seed: int) -> None:
    problem, traffic = draw(seed)
    memory_map = parse_memory_map("a:48:1,b:64:2")
    shelves = tuple(Shelf(r.memory_id, r.capacity_bytes, r.cost) for r in memory_map.regions)
    if cheapest(problem, traffic, shelves) is not None:
        return
    found = find_enlargements(problem, memory_map, shelves, 1.0)
    fixed_outside = {b.arena for b in problem.buffers if b.offset is not None}
    for change in found:
        position = next(k for k, r in enumerate(memory_map.regions) if r.name == change.region)
        assert fits(problem, shelves, position, change.over_bytes)
        if change.is_least:
            assert not fits(problem, shelves, position, change.over_bytes - 16)
    assert found or fixed_outside
    assert [c.over_bytes for c in found] == sorted(c.over_bytes for c in found)


def fits(problem: Problem, shelves: Sequence[Shelf], position: int, over: int) -> bool:
    memories = [
        Memory(s.arena, s.capacity_bytes + (over if k == position else 0))
        for k, s in enumerate(shelves)
    ]
    try:
        plan(problem, memories=memories, fit_only=True, time_limit_s=5.0)
    except PlanError:
        return False
    return True
