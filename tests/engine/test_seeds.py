"""The files that fuzzing starts from: committed, so that they need no exporter."""

from __future__ import annotations

from pathlib import Path

import pytest

from onearena.pte import open_pte
from onearena.runtime.inputplan import InputSource, MethodFacts
from tests.cases.running import Call
from tests.engine.agreeing import agree

SEEDS = sorted((Path(__file__).parents[1] / "fuzz" / "seeds").glob("*.pte"))


def random_runs(path: Path) -> list[Call]:
    """Three runs of each method with random inputs."""
    calls: list[Call] = []
    with open_pte(path) as file:
        for plan in file.program.execution_plan or ():
            facts = MethodFacts.of(file, plan)
            source = InputSource(facts, facts.default_plan(0))
            calls += [Call(facts.signature.name, tuple(source.inputs(run))) for run in range(3)]
    return calls


@pytest.mark.parametrize("path", SEEDS, ids=lambda path: path.stem)
def test_a_seed_runs_as_on_the_stock_runtime(path: Path) -> None:
    calls = random_runs(path)
    assert calls
    agree(path, calls)
