"""What needs no ExecuTorch, under the address and undefined behaviour sanitizers."""

from __future__ import annotations

from pathlib import Path

from onearena.engine.description import describe
from onearena.pte import open_pte
from tests.engine.edits import SEEDS
from tests.native.test_sanitized import CMAKE, CPP, pytestmark, run

__all__ = ["pytestmark"]

PROGRAM = "onearena_runtime_base_test"


def test_arena_and_corrupt_descriptions(tmp_path: Path) -> None:
    build = tmp_path / "build"
    run(CMAKE, "-S", CPP, "-B", build, "-DONEARENA_RUNTIME_TESTS=ON", "-DONEARENA_SANITIZE=ON")
    run(CMAKE, "--build", build, "--target", PROGRAM)
    descriptions = []
    for path in sorted(SEEDS.glob("*.pte")):
        with open_pte(path) as file:
            descriptions.append(tmp_path / f"{path.stem}.description")
            descriptions[-1].write_bytes(describe(file))
    assert run(build / "runtime" / PROGRAM, *descriptions).strip() == "ok"
