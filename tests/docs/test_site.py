"""The documentation site: complete, made from the code, and without network."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest
from benchmarks.browser import VARIABLE, find_chromium, open_browser
from tools import ROOT
from tools.site.command_page import command_page, json_page, subcommands

import onearena
from onearena.cli.main import command_line

_LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
_NOT_LOADED = {"canonical", "next", "prev", "alternate"}


class _Resources(HTMLParser):
    """What a page loads, where its links lead, and what they may lead to."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.links: list[str] = []
        self.anchors: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self.anchors.update(v for k in ("id", "name") if (v := given.get(k)))
        where = given.get(_LOADED.get(tag, ""))
        if where and given.get("rel") not in _NOT_LOADED:
            self.loaded.append(where)
        if tag == "a" and given.get("href"):
            self.links.append(given["href"] or "")


def read(page: Path) -> _Resources:
    found = _Resources()
    found.feed(page.read_text(encoding="utf-8"))
    return found


def pages(site: Path) -> Iterator[Path]:
    yield from sorted(site.rglob("*.html"))


def test_every_page_of_docs_is_there(site: Path) -> None:
    for source in (ROOT / "docs").rglob("*.md"):
        page = site / source.relative_to(ROOT / "docs").with_suffix(".html")
        assert page.is_file(), source


def test_nothing_is_loaded_from_elsewhere(site: Path) -> None:
    for page in pages(site):
        found = [url for url in read(page).loaded if urlsplit(url).netloc]
        assert found == [], page
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(url\(|@import)\s*['\"]?(https?:)?//", text), sheet


def test_every_link_and_picture_leads_somewhere(site: Path) -> None:
    anchors = {page: read(page).anchors for page in pages(site)}
    for page in pages(site):
        if page.name == "404.html":  # a server shows it at any address, its links start at /
            continue
        found = read(page)
        for url in (*found.loaded, *found.links):
            parts = urlsplit(url)
            if parts.scheme or parts.netloc:
                continue
            target = (page.parent / unquote(parts.path)).resolve() if parts.path else page
            assert target.exists(), f"{page}: {url}"
            if parts.fragment and target.suffix == ".html":
                assert unquote(parts.fragment) in anchors[target] | {"__skip"}, f"{page}: {url}"


@pytest.mark.skipif(
    find_chromium() is None, reason=f"no Chromium on the path, and none named in {VARIABLE}"
)
def test_it_works_from_disk(site: Path) -> None:
    with open_browser() as browser:
        page = browser.new_page()
        page.set_default_timeout(120_000)  # machines of CI are slow
        requested: list[str] = []
        wrong: list[str] = []
        page.on("request", lambda request: requested.append(request.url))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto((site / "reference" / "python.html").as_uri())
        page.fill("input[name=query]", "indirection")
        page.wait_for_selector(".md-search-result__item a", state="attached")
        hits = page.locator(".md-search-result__link").evaluate_all("all => all.map(a => a.href)")
        assert any("below-the-bound.html" in hit for hit in hits)
        assert wrong == []
        assert [url for url in requested if not url.startswith(("file:", "about:"))] == []


def test_every_command_and_option_is_in_the_reference(site: Path) -> None:
    page = (site / "reference" / "commands.html").read_text(encoding="utf-8")
    commands = subcommands(command_line())
    assert {"optimize", "verify", "plan"} <= commands.keys()
    for name, command in commands.items():
        section = page.split(f'<h2 id="{name}">')[1].split("<h2 ")[0]
        for action in command._actions:
            for option in action.option_strings:
                assert option in section or option in ("-h", "--help"), (name, option)


def test_the_reference_does_not_depend_on_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    narrow = command_page(command_line())
    monkeypatch.setenv("COLUMNS", "200")
    assert command_page(command_line()) == narrow


def test_every_public_name_is_in_the_reference(site: Path) -> None:
    source = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    named = re.findall(r"^::: onearena\.(\w+)$", source, re.MULTILINE)
    # one that needs executorch to be imported is not in what `import *` brings
    wanted = {*onearena.__all__, "MemoryPlanningPass"} - {"__version__"}
    assert sorted(named) == sorted(wanted)
    anchors = read(site / "reference" / "python.html").anchors
    for name in named:
        assert getattr(onearena, name).__doc__, name
        assert f"onearena.{name}" in anchors


def test_the_keys_of_json_are_those_of_the_readme() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", json_page(ROOT), re.MULTILINE)
    named = {name for row in rows for name in re.findall(r"`([a-z]+)`", row)}
    assert named == subcommands(command_line()).keys()


def test_files_that_the_readme_links_to_exist() -> None:
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    links = [link for link in re.findall(r"\]\(([^)#]+)", readme) if not urlsplit(link).scheme]
    assert links
    assert [link for link in links if not (ROOT / link).exists()] == []
