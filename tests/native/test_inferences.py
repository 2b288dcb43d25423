"""Every inference and heuristic saves work somewhere: leaving it out costs nodes, or the optimum.

The bits are those of `Switch` in cpp/src/valley.h. The counts of nodes are the same everywhere.
"""

from __future__ import annotations

from functools import cache

import pytest
from benchmarks.planner import families
from benchmarks.planner.instances import published

from onearena import _core
from onearena.lifetime import Interval
from onearena.native_problem import to_native
from onearena.problem import Buffer, Member, Memory, Problem

MEMO, STACKING, DOMINANCE, COMPONENTS, TWINS, PEELING = (1 << bit for bit in range(6))
VALLEY, LOCAL_SEARCH, FIRST_FIT, TIGHT, FILL, OFFSET_ORDER = (1 << bit for bit in range(6, 12))
NODE_LIMIT = 50_000


@cache
def _challenging(name: str) -> _core.Problem:
    (found,) = (each for each in published("minimalloc") if each.name == name)
    return to_native(found.problem, (Memory(1, found.capacity),))


def _nodes(problem: _core.Problem, switched_off: int = 0, fit_only: bool = False) -> int:
    """Nodes until a plan was found; the limit when none was."""
    found = _core.plan(problem, 60.0, 1, 0, fit_only, NODE_LIMIT, switched_off)
    done = found.status == "optimal" or (fit_only and found.status == "feasible")
    return found.nodes if done else NODE_LIMIT


@pytest.mark.parametrize(
    ("name", "switch"),
    [
        ("D", MEMO),
        ("F", MEMO),
        ("J", STACKING),
        ("D", STACKING),
        ("A", DOMINANCE),
        ("H", COMPONENTS),
        ("J", TWINS),
        ("G", PEELING),
        ("H", PEELING),
    ],
)
def test_an_inference_saves_nodes_of_a_published_instance(name: str, switch: int) -> None:
    problem = _challenging(name)
    assert _nodes(problem, 0, fit_only=True) < _nodes(problem, switch, fit_only=True)


@pytest.mark.parametrize(
    ("family", "buffers", "seed", "switch"),
    [
        ("pinned", 20, 5, MEMO),
        ("pinned", 20, 5, STACKING),
        ("aligned", 40, 0, DOMINANCE),
        ("aligned", 40, 10, COMPONENTS),
        ("mixed", 40, 8, PEELING),
    ],
)
def test_an_inference_halves_the_nodes_of_a_made_instance(
    family: str, buffers: int, seed: int, switch: int
) -> None:
    instance = families.make(family, buffers, seed)
    problem = to_native(instance.problem)
    with_it = _core.plan(problem, 60.0, 1, 0, False, NODE_LIMIT)
    assert with_it.heights == [instance.optimum]
    assert 2 * with_it.nodes < _nodes(problem, switch)


def test_the_search_in_offset_order_saves_nodes() -> None:
    """Where alignments differ it answers sooner whether some height has a plan."""
    problem = to_native(families.make("mixed", 30, 3).problem)
    with_it = _core.plan(problem, 60.0, 1, 0, False, 100_000)
    without = _core.plan(problem, 60.0, 1, 0, False, 100_000, OFFSET_ORDER)
    assert (with_it.status, without.status) == ("optimal", "optimal")
    assert with_it.nodes < without.nodes


def _program(name: str) -> Problem:
    (found,) = (each for each in published("plans") if each.name == name)
    return found.problem


def test_valley_fill_saves_the_search() -> None:
    problem = to_native(_program("convnext"))
    assert _nodes(problem) == 0
    assert _nodes(problem, FILL | FIRST_FIT) >= 0
    few_orders = _core.plan(problem, 60.0, 1, 0, False, 0, FILL | FIRST_FIT | VALLEY | LOCAL_SEARCH)
    all_orders = _core.plan(problem, 60.0, 1, 0, False, 0, VALLEY | LOCAL_SEARCH)
    assert all_orders.heights[0] <= few_orders.heights[0]
    assert all_orders.status == "optimal"


def _height(problem: _core.Problem, node_limit: int, switched_off: int = 0) -> int:
    found: int = _core.plan(problem, 60.0, 1, 0, False, node_limit, switched_off).heights[0]
    return found


def test_more_orders_of_first_fit_find_a_lower_plan() -> None:
    problem = to_native(families.make("pinned", 150, 0).problem)
    assert _height(problem, 6_000) < _height(problem, 6_000, FIRST_FIT)


def test_local_search_finds_a_lower_plan() -> None:
    problem = to_native(families.make("pinned", 600, 0).problem)
    assert _height(problem, 60_000) < _height(problem, 60_000, LOCAL_SEARCH)


def test_tight_search_proves_what_first_fit_cannot() -> None:
    """A group that is hollow at one step: the layout is not one for the search over valleys."""
    buffers = (
        Buffer(0, 2, 1, 1, (Interval(0, 2),)),
        Buffer(1, 2, 1, 1, (Interval(0, 2),)),
        Buffer(2, 3, 1, 1, (Interval(0, 1),)),
        Buffer(3, 4, 1, 1, (Interval(1, 2),)),
    )
    group = (Member(0, 0), Member(1, 5))
    problem = to_native(Problem(buffers, (group,)))
    assert _core.plan(problem, 60.0).status == "optimal"
    without = _core.plan(problem, 60.0, 1, 0, False, 1000, TIGHT)
    assert without.status == "feasible"
