"""Whole programs and descriptions under the sanitizers, in every planning mode."""

from __future__ import annotations

from pathlib import Path

from onearena.engine.description import describe
from onearena.pte import open_pte
from tests.cases.conftest import Program
from tests.engine.building import (
    Described,
    Native,
    described,
    native_test,
    seed_cases,
    shaped_cases,
)
from tests.engine.edits import SEEDS
from tests.native.test_sanitized import pytestmark

__all__ = ["described", "native_test", "pytestmark"]


def test_seeds(native_test: Native, described: Described) -> None:
    assert native_test("programs", *seed_cases(described)) == "ok\n"


def test_many_shapes(native_test: Native, described: Described, program: Program) -> None:
    assert native_test("programs", *shaped_cases(program, described)) == "ok\n"


def test_descriptions_with_extreme_numbers(native_test: Native, tmp_path: Path) -> None:
    descriptions = []
    for path in sorted(SEEDS.glob("*.pte")):
        with open_pte(path) as file:
            descriptions.append(tmp_path / f"{path.stem}.description")
            descriptions[-1].write_bytes(describe(file))
    assert native_test("extremes", *descriptions) == "ok\n"
