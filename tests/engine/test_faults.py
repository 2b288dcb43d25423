"""Whatever fails, an error says so, nothing leaks, and what is loaded goes on: in C++, with the
sanitizers watching."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from onearena.pte.schema import ExecutionPlan
from tests.cases.conftest import Program
from tests.engine import shaped
from tests.engine.building import Described, Native, described, native_test
from tests.engine.edits import SEEDS, changed
from tests.native.test_sanitized import pytestmark

__all__ = ["described", "native_test", "pytestmark"]

SOME = "--every=13"
"""The thirteenth part of the allocations: all of a larger program's take minutes."""


@pytest.mark.parametrize(
    ("stem", "shapes"), [("stateful", ()), ("cond", ()), ("convnet", ()), ("dynamic", ((6, 4),))]
)
def test_each_allocation_fails(
    native_test: Native, described: Described, stem: str, shapes: tuple[tuple[int, ...], ...]
) -> None:
    lines = native_test("faults", described(SEEDS / f"{stem}.pte", *shapes)).splitlines()
    assert lines[-1] == "ok"


def test_allocations_fail_with_state_and_many_shapes(
    native_test: Native, described: Described, program: Program
) -> None:
    case = described(shaped.recorder(program), (1, 6, 8), (6,))
    assert native_test("faults", SOME, case).endswith("ok\n")


def test_allocations_fail_the_first_time(native_test: Native, described: Described) -> None:
    """What is made once in a process is made while something fails."""
    case = described(SEEDS / "convnet.pte")
    assert native_test("faults", "--fresh", "--every=31", case).endswith("ok\n")


def test_allocations_fail_beyond_the_bounds(
    native_test: Native, described: Described, program: Program
) -> None:
    case = described(shaped.images(program, shaped.UNet), (1, 3, shaped.BOUND + 16, 8))
    assert native_test("faults", SOME, "--unbounded", case).endswith("ok\n")


def faulty(plan: ExecutionPlan) -> ExecutionPlan:
    """Its delegates are of the backend that the test registers."""
    delegates = tuple(replace(d, id="FaultyBackend") for d in plan.delegates or ())
    return replace(plan, delegates=delegates)


def backend_cases(described: Described, folder: Path) -> list[str]:
    """A static and a dynamic program for it, the latter at another shape, too."""
    cases = []
    for stem, shapes in (("convnet", ()), ("dynamic", ((6, 4),))):
        path = changed(SEEDS / f"{stem}.pte", folder / f"{stem}_faulty.pte", faulty)
        cases.append(described(path, *shapes, name=f"described_{path.name}"))
    return cases


def test_a_backend_that_fails(native_test: Native, described: Described, tmp_path: Path) -> None:
    static, dynamic = backend_cases(described, tmp_path)
    dynamic = dynamic.partition("=")[0]  # it computes for one shape
    assert native_test("backend", static, dynamic) == "ok\n"


def test_a_backend_that_fails_to_declare_its_memory(
    native_test: Native, described: Described, tmp_path: Path
) -> None:
    _, dynamic = backend_cases(described, tmp_path)
    assert native_test("declaring", dynamic) == "ok\n"
