"""The example of an application in C++: built against the wheel alone, it runs a program."""

from __future__ import annotations

import sys
from pathlib import Path

from onearena.engine.embedding import embed_description
from tests.engine.edits import SEEDS
from tests.native.test_sanitized import CMAKE, CPP, pytestmark, run

__all__ = ["pytestmark"]


def test_the_example_runs_a_program_that_describes_itself(tmp_path: Path) -> None:
    runtime, build = CPP / "runtime", tmp_path / "build"
    sdk = run(sys.executable, runtime / "python" / "find_sdk.py").strip()
    assert sdk, "no executorch, although the native runtime is there"
    run(CMAKE, "-S", runtime / "example", "-B", build, f"-Dexecutorch_DIR={sdk}")
    run(CMAKE, "--build", build)
    described = tmp_path / "described.pte"
    embed_description(SEEDS / "convnet.pte", described)
    lines = run(build / "onearena_example", described, 3).splitlines()
    assert any(line.startswith("forward: 1 outputs, arena ") for line in lines)
