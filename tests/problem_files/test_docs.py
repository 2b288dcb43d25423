"""The examples of docs/planner.md do what they say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from onearena.problem import Memory
from onearena.problem_files.csv_table import COLUMNS
from onearena.problem_files.json_format import parse_problem

_DOCS = Path(__file__).parents[2] / "docs" / "planner.md"


def _block(language: str) -> str:
    found = re.search(rf"```{language}\n(.*?)```", _DOCS.read_text(encoding="utf-8"), re.DOTALL)
    assert found
    return found[1]


def test_the_json_example_is_valid() -> None:
    problem, memories = parse_problem(_block("json"), "docs")
    assert [buffer.name for buffer in problem.buffers] == ["a", "b"]
    assert memories == (Memory(1, 131072, 2),)


def test_the_python_example_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "problem.csv").write_text("id,lower,upper,size\na,0,4,64\nb,2,6,32\n")
    exec(compile(_block("python"), "docs", "exec"), {})
    assert " 96 0.0 True\n" in capsys.readouterr().out
    assert (tmp_path / "plan.csv").read_text().startswith("id,lower,upper,size,offset\n")


def test_every_column_is_named() -> None:
    text = _DOCS.read_text(encoding="utf-8")
    assert [column for column in COLUMNS if f"`{column}`" not in text] == []
