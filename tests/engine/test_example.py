"""The example of an application in C++: built against the wheel alone, it runs programs."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest
import torch

from onearena.engine.embedding import embed_description
from tests.engine.demo import MOST_ROWS, demo_program, expected
from tests.engine.edits import SEEDS
from tests.native.test_sanitized import CMAKE, CPP, pytestmark, run

__all__ = ["pytestmark"]

FLOAT_BYTES = 4
ROWS = 16


@pytest.fixture(scope="module")
def example(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The application."""
    runtime, build = CPP / "runtime", tmp_path_factory.mktemp("example")
    sdk = run(sys.executable, runtime / "python" / "find_sdk.py").strip()
    assert sdk, "no executorch, although the native runtime is there"
    run(CMAKE, "-S", runtime / "example", "-B", build, f"-Dexecutorch_DIR={sdk}")
    run(CMAKE, "--build", build)
    return build / "onearena_example"


def described(program: bytes, folder: Path) -> Path:
    plain, result = folder / "plain.pte", folder / "described.pte"
    plain.write_bytes(program)
    embed_description(plain, result)
    return result


def test_a_program_that_describes_itself(example: Path, tmp_path: Path) -> None:
    program = described((SEEDS / "convnet.pte").read_bytes(), tmp_path)
    lines = run(example, program, 3).splitlines()
    assert any(line.startswith("forward: 1 outputs, arena ") for line in lines)


@pytest.mark.parametrize("runs", [1, 3])
@pytest.mark.parametrize("rounds", [0, 1, 2, 5])
def test_a_backend_that_declares_its_memory(
    example: Path, tmp_path: Path, rounds: int, runs: int
) -> None:
    """At the bound, then at fewer rows, in one process: what it declares follows the sizes, and
    is in the arena as soon as a run has told it."""
    program = described(demo_program(rounds), tmp_path)
    lines = run(example, program, runs, ROWS).splitlines()
    reports = [line for line in lines if line.startswith("forward: ")]
    values = [line.split() for line in lines if line.startswith("  ")]
    assert len(reports) == len(values) == 2
    for report, found, rows in zip(reports, values, (MOST_ROWS, ROWS), strict=True):
        numbers = torch.tensor([float(x) for x in found])
        torch.testing.assert_close(numbers, expected(rows, rounds)[:8], rtol=1e-5, atol=0)
        match = re.fullmatch(r".* arena (\d+) bytes, resident \d+, delegates (\d+) of it", report)
        assert match, report
        arena, scratch = map(int, match.groups())
        in_arena = rounds > 1 and runs > 1
        assert scratch == (rows * FLOAT_BYTES if in_arena else 0)
        # the delegate's input, output and scratch are alive together
        assert arena >= 2 * rows * FLOAT_BYTES + scratch
