"""The pre-commit hooks: the manifest, and what their commands do in a repository.

pre-commit runs them here with the onearena under test (`language: system`), instead of building
it in an environment of its own, which needs a network.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.checking.programs import delegated_method, relu_method, write
from tests.checking.runner import ROOT, git, git_environment
from tests.cli.programs import overlapping

MANIFEST = ROOT / ".pre-commit-hooks.yaml"


def pre_commit(directory: Path, *args: str) -> tuple[int, str]:
    """Runs pre-commit; returns its exit code and what it printed."""
    tools = directory.parent / "tools"
    tools.mkdir(exist_ok=True)
    for name, arguments in (("python", ""), ("onearena", "-m onearena")):
        (tools / name).write_text(f'#!/bin/sh\nexec "{sys.executable}" {arguments} "$@"\n')
        (tools / name).chmod(0o755)
    done = subprocess.run(
        [sys.executable, "-m", "pre_commit", *args],
        cwd=directory,
        env={
            **git_environment(),
            "PATH": f"{tools}{os.pathsep}{os.environ['PATH']}",
            "PRE_COMMIT_HOME": str(directory.parent / "pre-commit"),
        },
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
    )
    return done.returncode, done.stdout


def hooks() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.safe_load(MANIFEST.read_text(encoding="utf-8"))
    return found


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """A repository that uses the hooks."""
    path = tmp_path / "repository"
    path.mkdir()
    git(path, "init", "--quiet")
    local = [{**hook, "language": "system"} for hook in hooks()]
    config = {"repos": [{"repo": "local", "hooks": local}]}
    # JSON is YAML
    (path / ".pre-commit-config.yaml").write_text(json.dumps(config), encoding="utf-8")
    (path / "onearena.toml").write_text('[models."nets/*"]\narena = "9kB"\n', encoding="utf-8")
    return path


def run_hook(repository: Path, hook: str) -> tuple[int, str]:
    git(repository, "add", "--all")
    return pre_commit(repository, "run", hook, "--all-files")


def test_the_manifest(tmp_path: Path) -> None:
    code, out = pre_commit(tmp_path, "validate-manifest", str(MANIFEST))
    assert code == 0, out
    assert [hook["id"] for hook in hooks()] == ["onearena-check", "onearena-verify"]
    for hook in hooks():
        assert hook["language"] == "python"
        assert re.search(hook["files"], "nets/a.pte")
        assert not re.search(hook["files"], "nets/a.pte.md")


def test_check(repository: Path) -> None:
    write(repository / "nets/small one.pte", relu_method(elements=1000))
    write(repository / "other.pte", delegated_method())
    code, out = run_hook(repository, "onearena-check")
    assert code == 0, out
    assert "Passed" in out
    write(repository / "nets/large.pte", relu_method(elements=2000))
    code, out = run_hook(repository, "onearena-check")
    assert code == 1
    assert "forward:arena: 7.00 kB (7,000 B) over its budget of 9.00 kB" in out
    assert "exit code: 1" in out


def test_check_without_budgets(repository: Path) -> None:
    write(repository / "a.pte", relu_method())
    (repository / "onearena.toml").unlink()
    code, out = run_hook(repository, "onearena-check")
    assert code == 1
    assert "onearena.toml: no such file" in out


def test_verify_looks_at_every_file(repository: Path) -> None:
    for name in "abc":
        write(repository / f"{name}.pte", relu_method())
    code, out = run_hook(repository, "onearena-verify")
    assert code == 0, out
    (repository / "b").mkdir()
    overlapping(repository / "b")
    code, out = run_hook(repository, "onearena-verify")
    assert code == 1
    assert out.count("\nsafe\n") == 3
    assert "NOT SAFE" in out
    (repository / "d.pte").write_bytes(b"not a program")
    code, out = run_hook(repository, "onearena-verify")
    assert code == 1
    assert "d.pte: is not a .pte file" in out
    assert "exit code: 2" in out
