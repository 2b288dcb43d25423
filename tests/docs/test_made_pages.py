"""Pages that are made: links, navigation, benchmarks."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from tools import ROOT
from tools.site.benchmarks import programs_page, savings, savings_picture
from tools.site.links import Places, relinked
from tools.site.navigation import expanded

_PLACES = Places(
    {"README.md": "index.md", "benchmarks/results.md": "benchmarks/programs.md"},
    {"src/onearena/apply.py", "src/onearena"},
)


@pytest.mark.parametrize(
    ("source", "page", "link", "expected"),
    [
        ("README.md", "reference/json.md", "docs/planner.md", "../planner.md"),
        ("docs/a.md", "a.md", "planner.md", "planner.md"),
        ("docs/a.md", "a.md", "planner.md#csv", "planner.md#csv"),
        ("docs/a.md", "a.md", "../benchmarks/results.md#goals", "benchmarks/programs.md#goals"),
        ("docs/guides/a.md", "guides/a.md", "../../README.md", "../index.md"),
        ("docs/a.md", "a.md", "../src/onearena/gone.py", "../src/onearena/gone.py"),
        ("docs/a.md", "a.md", "https://example.org/a.md", "https://example.org/a.md"),
        ("docs/a.md", "a.md", "#here", "#here"),
    ],
)
def test_links(source: str, page: str, link: str, expected: str) -> None:
    assert relinked(f"see [this]({link}).", source, page, _PLACES) == f"see [this]({expected})."


@pytest.mark.parametrize("target", ["src/onearena/apply.py", "src/onearena"])
def test_links_to_what_no_page_shows(target: str) -> None:
    text = f"a [`b`](../{target}#L3) c ![x](../{target})"
    assert relinked(text, "docs/a.md", "a.md", _PLACES) == f"a `b` c ![x](../{target})"
    known = replace(_PLACES, url="https://example.org/o/onearena")
    link = f"https://example.org/o/onearena/blob/main/{target}#L3"
    assert relinked(text, "docs/a.md", "a.md", known) == f"a [`b`]({link}) c ![x](../{target})"


def test_the_navigation_of_folders(tmp_path: Path) -> None:
    (tmp_path / "rfc").mkdir()
    for name in ("rfc/0002-b.md", "rfc/0001-a.md", "there.md"):
        (tmp_path / name).write_text("# x\n")
    nav: list[Any] = [
        "there.md",
        "soon.md",
        "wrong.md",
        {"Proposals": "rfc/"},
        {"Soon": ["soon.md", "later/"]},
        {"Titled": "there.md"},
    ]
    assert expanded(nav, tmp_path, ("soon.md", "later/")) == [
        "there.md",
        "wrong.md",  # MkDocs says that it is missing
        {"Proposals": ["rfc/0001-a.md", "rfc/0002-b.md"]},
        {"Titled": "there.md"},
    ]


def test_the_picture_of_the_benchmarks(tmp_path: Path) -> None:
    rows = savings(ROOT)
    picture = savings_picture(ROOT)
    ElementTree.fromstring(picture)
    page = programs_page(ROOT)
    for row in rows:
        assert f">{row.name}</text>" in picture
        # the same numbers as in the table
        assert f" {row.before_bytes:,} |" in page
        assert f" {row.after_bytes:,} |" in page


def test_workspaces_that_were_not_measured_are_predicted(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    results = json.loads((ROOT / "benchmarks" / "results.json").read_text(encoding="utf-8"))
    program = results["programs"][0]
    for trial in program["trials"].values():
        trial["workspaces"] = [None, None]
    path = tmp_path / "benchmarks" / "results.json"
    path.write_text(json.dumps({"programs": [program]}), encoding="utf-8")
    (found,) = savings(tmp_path)
    version = max(program["trials"])
    before = program["optimization"]["before"]
    assert found.before_bytes == before["arena"] + before["predictions"][version]["total"]


def test_a_page_of_another_form_is_noticed(tmp_path: Path) -> None:
    (tmp_path / "benchmarks").mkdir()
    (tmp_path / "benchmarks" / "results.md").write_text("# Results\n")
    with pytest.raises(ValueError, match="another form"):
        programs_page(tmp_path)
