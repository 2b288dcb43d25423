"""The walk-throughs of docs/extending/, step by step, in a copy of the repository."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest
from tools import ROOT
from tools.wheel import PROGRAM

from onearena import _core
from onearena.engine.native import native_module
from tests.docs.blocks import Reader, reader

_PAGES = ROOT / "docs" / "extending"
_COPIED = ("src", "tests", "benchmarks", "examples", "pyproject.toml")
_IGNORED = shutil.ignore_patterns("__pycache__", "*.egg-info")


@pytest.fixture
def contributor(tmp_path: Path) -> Reader:
    """Has a copy of the repository, with a program."""
    root = tmp_path / "onearena"
    found = reader(root, root / "src", root)
    for name in _COPIED:
        source, target = ROOT / name, root / name
        target.parent.mkdir(parents=True, exist_ok=True)
        if source.is_dir():
            shutil.copytree(source, target, ignore=_IGNORED)
        else:
            shutil.copyfile(source, target)
    for module in (_core, native_module()):  # they may lie somewhere else
        shutil.copy(str(module.__file__), root / "src" / "onearena")
    shutil.copyfile(PROGRAM, root / "model.pte")
    return found


@pytest.mark.parametrize("name", [path.stem for path in sorted(_PAGES.glob("*.md"))])
def test_it_works_as_written(contributor: Reader, name: str) -> None:
    contributor.follow(_PAGES / f"{name}.md")
    assert any("pytest" in command for command in contributor.ran)


@pytest.mark.parametrize("path", sorted(_PAGES.glob("*.md")), ids=lambda path: path.stem)
def test_there_are_ten_steps(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    assert "in ten steps" in text.splitlines()[0]
    assert re.findall(r"^\*\*(\d+)\. ", text, re.MULTILINE) == [str(k) for k in range(1, 11)]
