"""Lifetimes that are too short, what outputs are, and files as ExecuTorch exports them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="simulates with torch")

from onearena.lifetime import Interval  # noqa: E402
from onearena.pipeline import verify  # noqa: E402
from onearena.program import analyse_steps  # noqa: E402
from onearena.pte.reader import open_pte  # noqa: E402
from onearena.runtime.inputplan import InputSource, MethodFacts  # noqa: E402
from onearena.simulator import simulate as module  # noqa: E402
from onearena.simulator.names import memory_names  # noqa: E402
from onearena.simulator.scratch import unknown_need  # noqa: E402
from onearena.timeline.steps import MethodSteps  # noqa: E402
from onearena.timeline.storage import Storage, analyse_storage  # noqa: E402
from tests.simulator import nets  # noqa: E402
from tests.simulator.conftest import Exported  # noqa: E402
from tests.simulator.programs import chain, clobbers, simulated  # noqa: E402


def test_a_lifetime_that_is_too_short(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing overlaps, but the analysis says that b (value 1) is not needed after step 2."""

    def short(method: MethodSteps, added: frozenset[int]) -> Storage:
        storage = analyse_storage(method, added)
        return replace(storage, lifetimes={**storage.lifetimes, 1: (Interval(1, 3),)})

    monkeypatch.setattr(module, "analyse_storage", short)
    (found,) = clobbers(simulated(tmp_path, chain(0, 64, 128, 192, 256)))
    assert (found.kind, found.victim, found.culprit) == ("expired", 1, None)
    assert (found.instruction, found.needed) == (1, 3)
    assert found.text == (
        "bytes [64, 128) of arena 1 of value 1, written at instruction 0 (aten::relu.out), are "
        "needed no more after instruction 1 by the lifetimes that plans are made with; needed at "
        "instruction 3 (aten::add.out)"
    )


@pytest.mark.parametrize("name", [*nets.PORTABLE, *nets.CONTROL])
def test_outputs_are_those_of_the_runtime(exported: Exported, name: str) -> None:
    """State included: it is zero at first in both."""
    from onearena.runtime.session import Session

    path = exported(name)
    with open_pte(path) as file, Session(path) as session:
        (plan,) = file.program.execution_plan or ()
        steps = analyse_steps(file, plan)[1]
        names = memory_names(steps, None)
        machine, _ = module.build_machine(file, steps, names, 0, unknown_need)
        facts = MethodFacts.of(file, plan)
        source = InputSource(facts, facts.default_plan(0))
        for run in range(3):
            given = source.inputs(run)
            outputs, log = machine.run(given)
            assert not log.wrong
            for mine, real in zip(outputs, session.run("forward", given), strict=True):
                torch.testing.assert_close(mine, real)


def test_a_fault_of_the_exporter(exported: Exported) -> None:
    """pytorch/executorch#21490: a branch of a second condition gets memory that still holds the
    result of the first one."""
    path = exported("overwritten_branch")
    if verify(path).safe:
        pytest.skip("this ExecuTorch does not have the fault")
    x = torch.ones(8, 8)
    report = module.simulate(path, inputs=[(x * sign,) for sign in (2.0, -1.0)])
    assert any("the caller, after the last instruction" in c.text for c in clobbers(report))


def test_seeds(exported: Exported) -> None:
    """The same seed gives the same report, another one other inputs."""
    path = exported("tables")
    assert module.simulate(path, seed=3) == module.simulate(path, seed=3)


def test_progress_names_the_methods(exported: Exported) -> None:
    told: list[Any] = []
    module.simulate(exported("residual"), inputs=1, progress=told.append)
    assert told == ["method forward"]
