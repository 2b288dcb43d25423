"""Somebody who follows the guides gets what they say."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import pytest
from tools import ROOT
from tools.wheel import PROGRAM

from tests.docs.blocks import Reader, reader
from tests.sizes.sdk import compile_flags

_GUIDES = ROOT / "docs" / "guides"


@pytest.fixture
def somebody(tmp_path: Path) -> Reader:
    """Has a program, and the headers of ExecuTorch if it is installed."""
    found = reader(tmp_path / "project")
    shutil.copyfile(PROGRAM, found.folder / "model.pte")
    flags = " ".join(compile_flags()) if importlib.util.find_spec("executorch") else ""
    found.environment = {**found.environment, "EXECUTORCH_FLAGS": flags}
    return found


@pytest.mark.parametrize("name", ["phone", "llm", "backend"])
def test_guides_that_run_programs_or_compile(somebody: Reader, name: str) -> None:
    pytest.importorskip("executorch")
    somebody.follow(_GUIDES / f"{name}.md")
    assert somebody.ran


def test_the_guide_to_boards(somebody: Reader) -> None:
    pytest.importorskip("executorch.backends.cortex_m.quantizer.quantizer")
    somebody.follow(_GUIDES / "cortex-m-board.md")
    assert len(somebody.ran) == 6


def test_the_guide_to_budgets(somebody: Reader) -> None:
    somebody.follow(_GUIDES / "ci.md")
    assert len(somebody.ran) == 4


def test_every_guide_is_tested() -> None:
    names = {path.stem for path in _GUIDES.glob("*.md")}
    assert names == {"phone", "llm", "cortex-m-board", "ci", "backend"}
