"""The changelog and its fragments."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tools import ROOT
from tools.changelog import changelog, fragment_problems, main


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository with a changelog and one good fragment."""
    (tmp_path / "changes").mkdir()
    shutil.copyfile(ROOT / "pyproject.toml", tmp_path / "pyproject.toml")
    shutil.copyfile(ROOT / "CHANGELOG.md", tmp_path / "CHANGELOG.md")
    (tmp_path / "changes" / "README.md").write_text("# How to\n")
    (tmp_path / "changes" / "7.fixed.md").write_text("A fault is gone.\n")
    return tmp_path


def test_the_fragments_of_this_repository_are_well_formed() -> None:
    assert fragment_problems(ROOT) == []


def test_every_fragment_is_in_the_changelog() -> None:
    text = " ".join(changelog(ROOT).split())
    for path in (ROOT / "changes").glob("*.*.md"):
        assert " ".join(path.read_text(encoding="utf-8").split()) in text, path.name


def test_fragments_come_before_releases(root: Path) -> None:
    text = changelog(root)
    assert "A fault is gone. (#7)" in text
    assert text.startswith("# Changelog\n")
    assert text.index("## Unreleased") < text.index("### Fixed") < text.index("## 0.1.0")


def test_without_fragments_it_is_the_file(root: Path) -> None:
    (root / "changes" / "7.fixed.md").unlink()
    assert "Unreleased" not in changelog(root)
    assert "## 0.1.0" in changelog(root)


@pytest.mark.parametrize("name", ["+no-number.added.md", "7.fixed.1.md", "7.removed.md"])
def test_names_that_are_right(root: Path, name: str) -> None:
    (root / "changes" / name).write_text("Something else happened here.\n")
    assert fragment_problems(root) == []
    assert "Something else happened here." in changelog(root)


@pytest.mark.parametrize("name", ["seven.fixed.md", "7.bug.md", "7.md", "7.fixed.txt", "notes.md"])
def test_names_that_are_wrong(root: Path, name: str) -> None:
    (root / "changes" / name).write_text("Something happened.\n")
    (problem,) = fragment_problems(root)
    assert problem.startswith(f"changes/{name}: its name must be ")


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "it is empty"),
        ("It has no stop\n", "no full stop"),
        ("# News\n\nIt is good.\n", "a heading or a list"),
        ("- It is good.\n", "a heading or a list"),
        (f"{'long ' * 30}.\n", "more than 100 characters"),
    ],
)
def test_texts_that_are_wrong(root: Path, text: str, problem: str) -> None:
    (root / "changes" / "7.fixed.md").write_text(text)
    (found,) = fragment_problems(root)
    assert problem in found


def test_what_is_no_text(root: Path) -> None:
    (root / "changes" / "7.fixed.md").write_bytes(b"\xff\xfe.")
    (root / "changes" / "8.added.md").mkdir()
    (root / "changes" / ".9.added.md.swp").write_bytes(b"\0")
    found = fragment_problems(root)
    assert [problem.split(": ")[0] for problem in found] == [
        "changes/.9.added.md.swp",
        "changes/7.fixed.md",
        "changes/8.added.md",
    ]


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main() == 0
    assert capsys.readouterr().out == changelog(ROOT)
