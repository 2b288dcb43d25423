"""Budgets in a TOML file."""

from __future__ import annotations

from pathlib import Path

import pytest

from onearena.checking.budget import Quantity
from onearena.checking.config import read_config
from onearena.errors import FormatError, UsageError

ARENA, TOTAL = (None, Quantity("arena")), (None, Quantity("total"))

REPOSITORY = """
[budget]
arena = "2MB"
total = "3 MB"

[models."models/*.pte"]
arena = "1MB"

[models."models/det.pte"]
total = 500_000
"prefill:arena.2" = "1KiB"
"""


def config(directory: Path, text: str) -> str:
    path = directory / "onearena.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def test_later_sections_win(tmp_path: Path) -> None:
    found = read_config(config(tmp_path, REPOSITORY))
    assert found.budgets_for(str(tmp_path / "other.pte")) == {ARENA: 2_000_000, TOTAL: 3_000_000}
    assert found.budgets_for(str(tmp_path / "models/a.pte")) == {
        ARENA: 1_000_000,
        TOTAL: 3_000_000,
    }
    assert found.budgets_for(str(tmp_path / "models/det.pte")) == {
        ARENA: 1_000_000,
        TOTAL: 500_000,
        ("prefill", Quantity("arena", 2)): 1024,
    }


def test_patterns_are_relative_to_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    config(tmp_path, '[models."models/a.pte"]\narena = 1\n[models."./b.pte"]\narena = 2\n')
    (tmp_path / "models").mkdir()
    monkeypatch.chdir(tmp_path / "models")
    found = read_config("../onearena.toml")
    assert found.budgets_for("a.pte") == {ARENA: 1}
    assert found.budgets_for("../models/./a.pte") == {ARENA: 1}
    assert found.budgets_for("../b.pte") == {ARENA: 2}
    assert found.budgets_for("../a.pte") == {}
    assert found.budgets_for("bad\0name") == {}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "holds no budget"),
        ("[budget]", "holds no budget"),
        ('[models."a.pte"]', "holds no budget"),
        ("[budgets]\narena = 1", "'budgets' is not one of budget, models"),
        ("budget = 3", "budget is not a table"),
        ("models = 3", "models is not a table"),
        ("[models]\narena = 3", "models.'arena' is not a table"),
        ("[budget]\narea = 1", "budget: 'area' cannot be budgeted"),
        ("[budget]\narena.1 = 1", 'needs quotes: "arena.2"'),
        ("[budget]\narena = -1", "not a size"),
        ("[budget]\narena = 1.5", "not a size"),
        ("[budget]\narena = true", "not a size"),
        ("[budget]\narena = []", "not a size"),
        ('[budget]\narena = "2M"', "not a size"),
        (f"[budget]\narena = {1 << 63}", "not a size"),
        ('[budget]\narena = 1\n" arena" = 2', "given twice"),
        ('[models."/a.pte"]\narena = 1', "relative"),
        ('[models.""]\narena = 1', "relative"),
    ],
)
def test_not_budgets(tmp_path: Path, text: str, words: str) -> None:
    path = config(tmp_path, text)
    with pytest.raises(UsageError, match=words) as caught:
        read_config(path)
    assert str(caught.value).startswith(f"{path}: ")


@pytest.mark.parametrize(
    "text", ["[budget", "[budget]\narena = 2MB", "a = " + "[" * 100_000, "[budget]\n[budget]"]
)
def test_not_toml(tmp_path: Path, text: str) -> None:
    with pytest.raises(FormatError, match="is not TOML"):
        read_config(config(tmp_path, text))


def test_not_a_file(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="no such file"):
        read_config(str(tmp_path / "nowhere.toml"))
    with pytest.raises(FormatError, match="is not a file"):
        read_config(str(tmp_path))
    (tmp_path / "latin.toml").write_bytes(b"# \xff")
    with pytest.raises(FormatError, match="not UTF-8"):
        read_config(str(tmp_path / "latin.toml"))
