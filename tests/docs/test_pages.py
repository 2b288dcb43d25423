"""Facts on the pages of the site that the code knows, too."""

from __future__ import annotations

import re

import pytest
from tools import ROOT
from tools.site.pictures import FOLDER, pictures

from onearena.record import ASSUMPTIONS, KEY

_DOCS = ROOT / "docs"


def text(path: str) -> str:
    return (_DOCS / path).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", pictures())
def test_pictures_are_what_the_code_draws(name: str) -> None:
    committed = (FOLDER / name).read_text(encoding="utf-8")
    assert committed == pictures()[name], "python -m tools.site.pictures draws them again"
    assert f"](pictures/{name})" in text("concepts.md")


def test_numbers_in_the_descriptions_of_pictures() -> None:
    page = text("concepts.md")
    drawn = {name: re.findall(r"(\d+) units of memory", p) for name, p in pictures().items()}
    closed, opened = drawn["opening.svg"]
    assert f"opened calls: {opened} units in one plan in place of {closed}]" in page
    assert f"an arena of {drawn['plan.svg'][0]} units]" in page


def test_guarantees_names_files_that_exist() -> None:
    names = re.findall(r"`((?:verification|delegates)/[a-z_/]+\.py)`", text("guarantees.md"))
    assert len(names) >= 5
    for name in names:
        assert (ROOT / "src" / "onearena" / name).is_file(), name


def test_every_recorded_assumption_is_on_the_page() -> None:
    page = " ".join(text("guarantees.md").split())
    assert len(ASSUMPTIONS) == 2
    assert "runs the nodes of a payload one after another, in list order" in page
    assert "rewrites graphs only in the listed ways" in page
    assert f"named-data key `{KEY}`" in page


def test_versions_of_executorch_are_those_of_the_tests() -> None:
    page = text("compatibility.md")
    for path in ("run.txt", "run-1.4.1.txt"):
        required = (ROOT / "requirements" / path).read_text(encoding="utf-8")
        (version,) = re.findall(r"^executorch==([\d.]+)", required, re.MULTILINE)
        assert f"| {version} |" in page


def test_decisions_are_numbered_and_have_one_form() -> None:
    paths = sorted((_DOCS / "decisions").glob("*.md"))
    for number, path in enumerate(paths, start=1):
        assert path.name.startswith(f"{number:04}-")
        headings = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
        assert headings[0].startswith(f"{number:04} · ")
        assert headings[1:] == ["Why", "Decision", "What else was thought of"]
