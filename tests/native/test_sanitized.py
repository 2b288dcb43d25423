"""The C++ tests under the address and undefined behaviour sanitizers, and the planner installed."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CPP = Path(__file__).parents[2] / "cpp"
CMAKE = shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake")
COMPILER = shutil.which("c++") or shutil.which("g++") or shutil.which("clang++")

pytestmark = pytest.mark.skipif(not (CMAKE and COMPILER), reason="no C++ compiler or no cmake")


def run(*command: object) -> str:
    """The output of a command that must succeed."""
    cores = str(os.cpu_count() or 1)
    done = subprocess.run(
        [str(part) for part in command],
        env={"CMAKE_BUILD_PARALLEL_LEVEL": cores, **os.environ},
        capture_output=True,
        text=True,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == 0, output
    return output


@pytest.fixture(scope="module")
def sanitized(tmp_path_factory: pytest.TempPathFactory) -> Path:
    build = tmp_path_factory.mktemp("sanitized")
    run(CMAKE, "-S", CPP, "-B", build, "-DONEARENA_TESTS=ON", "-DONEARENA_SANITIZE=ON")
    run(CMAKE, "--build", build)
    return build


@pytest.mark.parametrize("name", ["verify", "degenerate", "fuzz", "replan", "schedule"])
def test_the_tests_in_cpp_pass_under_sanitizers(sanitized: Path, name: str) -> None:
    run(sanitized / "tests" / f"onearena_{name}_test")


def test_an_outside_project_finds_the_installed_planner(tmp_path: Path) -> None:
    build, prefix, outside = (tmp_path / name for name in ("build", "prefix", "outside"))
    run(CMAKE, "-S", CPP, "-B", build, f"-DCMAKE_INSTALL_PREFIX={prefix}")
    run(CMAKE, "--build", build)
    run(CMAKE, "--install", build)
    run(CMAKE, "-S", CPP / "tests" / "outside", "-B", outside, f"-DCMAKE_PREFIX_PATH={prefix}")
    run(CMAKE, "--build", outside)
    assert run(outside / "outside").split() == ["96"]
