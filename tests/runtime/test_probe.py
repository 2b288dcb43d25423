"""Trial runs that decide which sizes a comparison uses."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from onearena.pte import open_pte
from onearena.runtime.inputplan import InputSource, MethodFacts
from onearena.runtime.probe import MAX_SIZES, probe_job
from onearena.runtime.session import Session
from onearena.runtime.worker import Desk

pytest.importorskip("executorch")

Program = Callable[[str], Path]


def _probe(path: Path, directory: Path, verdicts: dict[str, str]) -> dict[str, object]:
    job = {
        "path": str(path),
        "methods": ["forward"],
        "seed": 0,
        "verdicts": verdicts,
        "ledger": str(directory / "ledger"),
    }
    (plan,) = probe_job(job, Desk(directory))["plans"]
    assert isinstance(plan, dict)
    return plan


def test_the_bound_comes_first_and_smaller_sizes_follow(program: Program, tmp_path: Path) -> None:
    plan = _probe(program("dynamic"), tmp_path, {})
    sizes = plan["sizes"]
    assert isinstance(sizes, tuple)
    assert sizes[0] == ((1, 3, 64, 64),)
    assert 2 <= len(sizes) <= MAX_SIZES


def test_known_verdicts_are_not_tried_again(program: Program, tmp_path: Path) -> None:
    half = '["forward", "inferred", [[1, 3, 32, 32]]]'
    plan = _probe(program("dynamic"), tmp_path, {half: "crashed"})
    assert ((1, 3, 32, 32),) not in plan["sizes"]  # type: ignore[operator]


def test_sizes_that_read_what_was_left_behind_are_refused(program: Program, tmp_path: Path) -> None:
    """Two channels instead of three: some runtimes accept it and read past the end."""
    from onearena.runtime.probe import _Ledger, _Prober

    path = program("dynamic")
    with open_pte(path) as file, Session(path) as session:
        facts = MethodFacts.of(file, (file.program.execution_plan or ())[0])
        ledger = _Ledger({}, str(tmp_path / "ledger"))
        prober = _Prober(session, facts, 0, ledger, Desk(tmp_path), lambda _: "")
        assert prober._suits(((1, 3, 32, 32),)) == ""
        assert prober._suits(((1, 2, 32, 32),)) != ""


def test_sizes_at_which_operators_do_not_fit_together_are_not_even_tried(
    program: Program, tmp_path: Path
) -> None:
    """ExecuTorch 1.4 joins tensors of 10 and of 11 rows, and writes past the end of the result."""
    from onearena.runtime.probe import _Ledger, _Prober, _refuses

    path = program("skipping")
    with open_pte(path) as file, Session(path) as session:
        plan = (file.program.execution_plan or ())[0]
        refuses = _refuses(file, plan)
        assert refuses(((1, 3, 10, 32),)) == ""
        assert "cannot join 1x3x11x32, 1x3x10x32 along dimension 1" in refuses(((1, 3, 11, 32),))
        facts = MethodFacts.of(file, plan)
        ledger = _Ledger({}, str(tmp_path / "ledger"))
        prober = _Prober(session, facts, 0, ledger, Desk(tmp_path), refuses)
        assert prober._suits(((1, 3, 10, 32),)) == ""
        assert "cannot join" in prober._suits(((1, 3, 11, 32),))


def test_integers_that_the_program_refuses_give_way(program: Program, tmp_path: Path) -> None:
    refused = '["forward", "inferred"]'
    plan = _probe(program("lookup"), tmp_path, {refused: "index out of range"})
    assert plan["strategy"] == "binary"


def test_state_is_recorded(program: Program, tmp_path: Path) -> None:
    assert _probe(program("cache"), tmp_path, {})["is_stateful"] is True


def test_sources_make_the_planned_sizes(program: Program) -> None:
    with open_pte(program("dynamic")) as file:
        facts = MethodFacts.of(file, (file.program.execution_plan or ())[0])
    source = InputSource(facts, facts.default_plan(seed=0))
    (image,) = source.inputs(0)
    assert tuple(image.shape) == (1, 3, 64, 64)
