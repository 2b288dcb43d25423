"""Exporting quickly gives the same programs."""

from __future__ import annotations

import pytest

from tests.cases.quick_export import kept_facts
from tests.cases.random_cases import Variant
from tests.cases.random_checks import exported
from tests.cases.random_graphs import Graph, Step

SHAPE = (1, 4, 8, 8)
STEPS = (
    Step("pad_conv", (0,), (4, 3, 1, 1, 1, 1, True)),
    Step("hardswish", (1,)),
    Step("up", (2,), (2, False)),
    Step("cat", (3, 3, 3), (1, (0, 1))),
    Step("softplus", (4,)),
    Step("attention", (5,), (1,)),
)
QUANTIZED = (Step("conv_relu", (0,), (4, 3, 1, 1, 1, 1, True)), Step("add", (1, 0)))
CASES = {
    "fp32": (Graph(3, (SHAPE,), STEPS, (6, 2)), Variant()),
    "dynamic": (Graph(4, (SHAPE,), STEPS, (6,)), Variant(any_height=True, per_op=True)),
    "int8": (Graph(5, (SHAPE,), QUANTIZED, (2,)), Variant(int8="static")),
}


@pytest.mark.parametrize("name", CASES)
def test_programs_are_the_same(name: str) -> None:
    graph, variant = CASES[name]
    plain = exported(graph, variant)
    with kept_facts():
        first = exported(graph, variant)
        second = exported(graph, variant)
    assert plain == first == second
    assert exported(graph, variant) == plain
