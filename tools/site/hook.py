"""What MkDocs calls while it builds the site (`hooks` in mkdocs.yml).

The commands, the benchmarks and the changelog are pages that nobody writes: they are made here
from the parser, from the files that `make bench` writes and from the fragments, in every build.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from onearena.cli.main import command_line
from tools import ROOT
from tools.changelog import changelog
from tools.site.benchmarks import planner_page, programs_page, savings_picture
from tools.site.command_page import command_page, json_page
from tools.site.links import Places, relinked
from tools.site.navigation import expanded

_LINKED_FOLDERS = ("src", "cpp", "tests", "benchmarks", "examples", "tools", "requirements")

MADE: Mapping[str, Callable[[Path], str]] = {
    "reference/commands.md": lambda _: command_page(command_line()),
    "reference/json.md": json_page,
    "benchmarks/programs.md": programs_page,
    "benchmarks/planner.md": planner_page,
    "benchmarks/savings.svg": savings_picture,
    "changelog.md": changelog,
    "contributing.md": lambda root: (root / "CONTRIBUTING.md").read_text(encoding="utf-8"),
    "security.md": lambda root: (root / "SECURITY.md").read_text(encoding="utf-8"),
}
"""By the path in the site, what makes its text from the repository."""

_HOMES: Mapping[str, str] = {
    "README.md": "index.md",
    "CONTRIBUTING.md": "contributing.md",
    "SECURITY.md": "security.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/results.md": "benchmarks/programs.md",
    "benchmarks/planner/results.md": "benchmarks/planner.md",
}
"""Files outside of docs/, and the pages that show them."""

_SOURCES: Mapping[str, str] = {
    "reference/json.md": "README.md",
    **{page: file for file, page in _HOMES.items() if page != "index.md"},
}
"""By page, the file of the repository that its links come from, for pages that are made."""


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Folders in the navigation become the pages in them."""
    config.nav = expanded(config.nav or [], Path(config.docs_dir), config.extra.get("upcoming", ()))
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds the pages that are made."""
    for path, make in MADE.items():
        files.append(File.generated(config, path, content=make(ROOT)))
    return files


def on_page_markdown(markdown: str, *, page: Page, config: MkDocsConfig, **_: Any) -> str:
    """Links between files of the repository lead to the pages that show these files."""
    path = page.file.src_uri
    places = Places(_HOMES, _repository_files(), (config.repo_url or "").rstrip("/"))
    return relinked(markdown, _SOURCES.get(path, f"docs/{path}"), path, places)


@cache
def _repository_files() -> frozenset[str]:
    """Every file and folder of the folders that documents link to, and of the root."""
    inside = (path for folder in _LINKED_FOLDERS for path in (ROOT / folder).rglob("*"))
    return frozenset(
        path.relative_to(ROOT).as_posix()
        for path in (*ROOT.iterdir(), *inside)
        if "__pycache__" not in path.parts
    )
