"""Layouts for live sizes, under the address and undefined behaviour sanitizers."""

from __future__ import annotations

from pathlib import Path

from tests.native.test_sanitized import CMAKE, CPP, pytestmark, run

__all__ = ["pytestmark"]

PROGRAM = "onearena_runtime_planning_test"


def test_layouts_and_planted_overlaps(tmp_path: Path) -> None:
    build = tmp_path / "build"
    run(CMAKE, "-S", CPP, "-B", build, "-DONEARENA_RUNTIME_TESTS=ON", "-DONEARENA_SANITIZE=ON")
    run(CMAKE, "--build", build, "--target", PROGRAM)
    assert run(build / "runtime" / PROGRAM).strip() == "ok"
