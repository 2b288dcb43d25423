"""MiniMalloc's instance D: the planner found a plan at the load, so nothing can be smaller.

Its optimum was known to lie in [986,112, 996,352] only. Finding it takes some seconds and luck with
the seed, so the plan is kept here and checked.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from benchmarks.planner.instances import published

from onearena import read_problem
from onearena.planners import lower_bound_bytes
from onearena.problem import Plan
from onearena.verification.native import verify_plan as verify_in_cpp
from onearena.verification.plan import verify_plan as verify_in_python

OPTIMUM = 986_112


def test_the_plan_of_d_is_valid_and_reaches_the_load() -> None:
    (instance,) = (each for each in published("minimalloc") if each.name == "D")
    problem = instance.problem
    (arena,) = problem.arenas
    assert lower_bound_bytes(problem, arena) == OPTIMUM

    kept = read_problem(Path(__file__).parent / "data" / "D.986112.csv").problem
    offsets = {}
    for buffer in kept.buffers:
        assert buffer.offset is not None
        offsets[buffer.name] = buffer.offset
    plan = Plan(
        tuple(offsets[buffer.name] for buffer in problem.buffers),
        {arena: OPTIMUM},
        {arena: OPTIMUM},
        "found before",
    )
    assert verify_in_cpp(problem, plan) == ()
    assert verify_in_python(problem, plan) == ()
    assert verify_in_cpp(problem, replace(plan, height_bytes={arena: OPTIMUM - 1})) != ()
