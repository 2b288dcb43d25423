"""What is released: the sdist is complete, the wheel works by itself."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from tools import ROOT
from tools.wheel import CHECK, PROGRAM, build_sdist, build_wheel, try_wheel

_BUILT_FROM = ("src/", "cpp/", "CMakeLists.txt", "pyproject.toml", "LICENSE", "README.md")
_ONLY_FOR_TESTS = ("cpp/tests/", "cpp/runtime/tests/")


@pytest.fixture(scope="module")
def sdist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_sdist(tmp_path_factory.mktemp("dist"))


def test_the_sdist_holds_all_that_is_built_from(sdist: Path) -> None:
    with tarfile.open(sdist) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    tracked = subprocess.run(
        ["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False
    ).stdout.split()
    if not tracked:
        pytest.skip("this is no checkout of git")
    wanted = {path for path in tracked if path.startswith(_BUILT_FROM)}
    assert wanted - held - {p for p in wanted if p.startswith(_ONLY_FOR_TESTS)} == set()
    assert {path for path in held if path.startswith(("tests/", "docs/", "benchmarks/"))} == set()


def test_the_wheel_works_where_nothing_else_is(sdist: Path) -> None:
    wheel = build_wheel(sdist, sdist.parent)
    assert try_wheel(wheel).startswith("onearena ")


def test_the_check_sees_that_it_runs_on_the_repository() -> None:
    command = [sys.executable, str(CHECK), str(PROGRAM)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    found = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    assert found.returncode == 1
    assert "not from the wheel" in found.stderr
