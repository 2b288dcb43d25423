"""A few random programs; `python -m tests.cases.random_programs` checks as many as you like."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cases.random_graphs import Graph, Network, Step
from tests.cases.random_programs import Case, UnusableError, draw_case, examine, shrunk

SEEDS = range(25)


@pytest.mark.parametrize("seed", SEEDS)
def test_random_program(seed: int, tmp_path: Path) -> None:
    try:
        examine(draw_case(seed), tmp_path)
    except UnusableError as error:
        pytest.skip(str(error))


def test_a_seed_gives_one_case() -> None:
    assert draw_case(7) == draw_case(7)
    assert draw_case(7) != draw_case(8)


def test_shrinking_keeps_what_fails() -> None:
    steps = (
        Step("relu", (0,)),
        Step("softplus", (1,)),
        Step("add", (1, 2)),
        Step("tanh", (3,)),
        Step("abs", (0,)),
    )
    case = Case(Graph(0, ((1, 4, 8, 8),), steps, (4, 5)))

    def fails(candidate: Case) -> bool:
        return any(step.name == "softplus" for step in candidate.graph.steps)

    small = shrunk(case, fails)
    assert small.graph.steps == (Step("softplus", (0,)),)
    assert small.graph.outputs == (1,)
    assert Network(small.graph).shapes == [(1, 4, 8, 8)] * 2
