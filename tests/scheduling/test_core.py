"""The scheduler against all orders, and on networks where moving one operation at a time fails."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from onearena import _core
from onearena.errors import PlanError
from onearena.ordering import Operation, Sizes, lower_live_bytes
from onearena.scheduling.core import (
    ScheduledMemory,
    ScheduledOperation,
    ScheduledStep,
    ScheduleProblem,
    _native,
    find_schedule,
    peak_bytes,
)
from tests.native.strategies import examples, picker
from tests.scheduling.reference import all_orders, least_peak, make_problem, network, peak_of


@st.composite
def problems(draw: st.DrawFn) -> ScheduleProblem:
    return make_problem(picker(draw))


@given(problems())
@examples(200)
def test_no_order_is_better(problem: ScheduleProblem) -> None:
    orders = {order: peak_of(problem, order) for order in all_orders(problem)}
    found = find_schedule(problem)
    assert orders[found.order] == found.peak_bytes == min(orders.values())
    assert found.bound_bytes == found.peak_bytes
    assert found.optimal


@given(problems(), st.sampled_from([1, 2, 5, 20]), st.integers(1, 3), st.sampled_from([2, 3, 40]))
@examples(150)
def test_a_search_that_gives_up_is_honest(
    problem: ScheduleProblem, states: int, width: int, window: int
) -> None:
    orders = {order: peak_of(problem, order) for order in all_orders(problem)}
    order, peak, bound, _ = _core.schedule(*_native(problem), states, width, window)
    assert orders[tuple(order)] == peak
    assert bound <= min(orders.values()) <= peak
    assert peak <= orders[tuple(range(len(problem.operations)))]


@given(problems())
@examples(60)
def test_peaks_of_given_orders(problem: ScheduleProblem) -> None:
    orders = set(all_orders(problem))
    for order in list(orders)[:20]:
        assert peak_bytes(problem, order) == peak_of(problem, order)
    backwards = tuple(range(len(problem.operations)))[::-1]
    if backwards not in orders:
        with pytest.raises(PlanError, match="may not run in this order"):
            peak_bytes(problem, backwards)


def greedy_peak(problem: ScheduleProblem) -> int:
    """Of the order that moving operations one by one ends at."""
    writes = {k: k + 1 for k in range(len(problem.operations))}
    operations = [
        Operation(frozenset(op.steps[0].touched) - {writes[k]}, frozenset({writes[k]}))
        for k, op in enumerate(problem.operations)
    ]
    sizes = {k: memory.size_bytes for k, memory in enumerate(problem.memories)}
    kept = {k for k, memory in enumerate(problem.memories) if memory.to_end}
    return peak_of(problem, lower_live_bytes(operations, Sizes(sizes, frozenset(kept))))


def test_branches_run_one_after_another() -> None:
    """Two wide branches that end narrow: layer by layer both are wide at once."""
    #      input   wide    wide    narrow  narrow  output
    sizes = [8, 64, 64, 64, 64, 4, 4, 8]
    operands = [[0], [0], [1], [2], [3], [4], [5, 6]]
    problem = network(sizes, operands)
    assert peak_of(problem, range(7)) == 192
    found = find_schedule(problem)
    assert found.peak_bytes == found.bound_bytes == least_peak(problem) == 136


def test_the_branch_with_the_higher_hill_runs_first() -> None:
    """A branch that needs much on its way, and one that leaves much behind."""
    sizes = [1, 40, 60, 30, 2, 1]
    operands = [[0], [0], [1], [2], [3, 4]]
    problem = network(sizes, operands)
    found = find_schedule(problem)
    assert found.order == (1, 3, 0, 2, 4)
    assert found.peak_bytes == found.bound_bytes == least_peak(problem) == 72
    assert peak_of(problem, (0, 2, 1, 3, 4)) == 92


def test_in_place_operations_count_once() -> None:
    problem = network([10, 10, 10, 10], [[0], [1], [1, 2]], in_place=True)
    assert find_schedule(problem).peak_bytes == 20
    assert find_schedule(network([10, 10, 10, 10], [[0], [1], [1, 2]])).peak_bytes == 30


def test_a_block_is_not_interrupted() -> None:
    """The same two branches; now the wide layers are one call."""
    sizes = [8, 64, 64, 64, 64, 4, 4, 8]
    operands = [[0], [0], [1], [2], [3], [4], [5, 6]]
    free = network(sizes, operands)
    operations = tuple(
        ScheduledOperation(op.steps, 0 if k in (0, 1) else None)
        for k, op in enumerate(free.operations)
    )
    problem = ScheduleProblem(free.memories, operations, free.precedes)
    found = find_schedule(problem)
    assert found.peak_bytes == found.bound_bytes == min(map_peaks(problem))
    assert abs(found.order.index(0) - found.order.index(1)) == 1
    assert found.peak_bytes > find_schedule(free).peak_bytes


def map_peaks(problem: ScheduleProblem) -> list[int]:
    return [peak_of(problem, order) for order in all_orders(problem)]


def random_network(random: Random, count: int, reach: int) -> ScheduleProblem:
    """A randomly wired network: each operation reads some of the last results; whatever nobody
    read, the last one does."""
    sizes = [random.choice([1, 2, 4, 8, 16, 32, 64]) for _ in range(count + 2)]
    operands = [
        sorted({random.randint(max(0, k + 1 - reach), k) for _ in range(random.choice([1, 1, 2]))})
        for k in range(count)
    ]
    read = {r for found in operands for r in found}
    operands.append([r for r in range(count + 1) if r not in read])
    return network(sizes, operands)


@pytest.mark.parametrize("seed", range(12))
def test_randomly_wired_networks(seed: int) -> None:
    problem = random_network(Random(seed), 13, 9)
    found = find_schedule(problem)
    assert found.peak_bytes == found.bound_bytes == least_peak(problem)
    assert peak_of(problem, found.order) == found.peak_bytes <= greedy_peak(problem)


def test_randomly_wired_networks_that_moving_one_by_one_does_not_solve() -> None:
    networks = [random_network(Random(seed), 13, 9) for seed in range(40)]
    worse = [greedy_peak(p) / find_schedule(p).peak_bytes for p in networks]
    assert sum(ratio > 1 for ratio in worse) > 20
    assert max(worse) > 1.3


def test_large_networks_are_solved_in_few_states() -> None:
    """Far too many sets for all of them to be looked at: 2^12 at each of 15 places."""
    sizes, operands = [1], list[list[int]]()
    for _ in range(15):
        start = len(sizes) - 1
        for branch in range(12):
            operands += [[start], [len(sizes)]]
            sizes += [50 + branch, 2]
        operands.append([start + 2 * k + 2 for k in range(12)])
        sizes.append(1)
    problem = network(sizes, operands)
    found = find_schedule(problem)
    assert found.optimal
    assert peak_of(problem, found.order) == found.peak_bytes
    assert found.peak_bytes < peak_of(problem, range(len(operands)))


def test_what_is_too_large_to_prove_gets_better_all_the_same() -> None:
    random = Random(5)
    problem = random_network(random, 150, 40)
    found = find_schedule(problem)
    as_it_is = peak_of(problem, range(len(problem.operations)))
    assert peak_of(problem, found.order) == found.peak_bytes < as_it_is
    assert found.bound_bytes <= found.peak_bytes <= greedy_peak(problem)
    assert find_schedule(problem) == found


def test_where_nothing_is_gained_nothing_moves() -> None:
    chain = network([4, 8, 2, 8, 4], [[0], [1], [2], [3]])
    assert find_schedule(chain).order == (0, 1, 2, 3)
    equal = network([1, 5, 5, 5, 1], [[0], [0], [0], [1, 2, 3]])
    assert find_schedule(equal).order == (0, 1, 2, 3)


def test_an_empty_problem() -> None:
    found = find_schedule(ScheduleProblem((ScheduledMemory(7, True, False),), (), ()))
    assert (found.order, found.peak_bytes, found.bound_bytes) == ((), 7, 7)


ONE = ScheduledOperation((ScheduledStep((0,)),))


@pytest.mark.parametrize(
    ("memories", "operations", "precedes", "message"),
    [
        ([-1], [ONE], [], "memory 0: its size is negative"),
        ([1 << 61, 1], [ONE], [], "too large together"),
        ([1 << 64], [ONE], [], "a number does not fit"),
        ([], [ONE], [], "operation 0: it touches a memory that is not there"),
        ([1], [ScheduledOperation(())], [], "operation 0: it has no step"),
        ([1], [ScheduledOperation(ONE.steps, 5)], [], "operation 0: there is no block 5"),
        ([1], [ONE, ONE], [(1, 0)], "operation 1 cannot precede 0"),
        ([1], [ONE], [(0, 1)], "operation 0 cannot precede 1"),
        (
            [1],
            [ScheduledOperation(ONE.steps, 0), ONE, ScheduledOperation(ONE.steps, 0)],
            [],
            "block 0 is not in one piece",
        ),
        (
            [1, 2],
            [ScheduledOperation((ScheduledStep((0, 1), ((0, 1),)),))],
            [],
            "an overlay of two sizes",
        ),
        (
            [1, 1],
            [ScheduledOperation((ScheduledStep((0,), ((0, 1),)),))],
            [],
            "an overlay of what the step does not touch",
        ),
    ],
)
def test_malformed_problems(
    memories: list[int],
    operations: list[ScheduledOperation],
    precedes: list[tuple[int, int]],
    message: str,
) -> None:
    sizes = tuple(ScheduledMemory(size) for size in memories)
    with pytest.raises(PlanError, match=message):
        find_schedule(ScheduleProblem(sizes, tuple(operations), tuple(precedes)))


def test_any_number_of_memories_may_take_the_place_of_others() -> None:
    count = 9
    old = tuple(ScheduledMemory(10, from_start=True) for _ in range(count))
    new = tuple(ScheduledMemory(10, to_end=True) for _ in range(count))
    pairs = tuple((k, count + k) for k in range(count))
    step = ScheduledStep(tuple(range(2 * count)), pairs)
    problem = ScheduleProblem((*old, *new), (ScheduledOperation((step,)),), ())
    assert peak_bytes(problem, [0]) == find_schedule(problem).bound_bytes == 10 * count
