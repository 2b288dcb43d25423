"""The page as text: complete, closed in itself, and safe whatever the names are."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace

import pytest
from benchmarks.report_speed import synthetic_program

from onearena.report.html import html_report
from onearena.report.html.data import script_json
from onearena.summary.model import ProgramSummary
from tests.report.html.reading import read_page
from tests.report.programs import HOSTILE_NAMES


def test_elements_are_balanced_and_ids_unique(rich: ProgramSummary) -> None:
    page = read_page(html_report(rich, rich))
    ids = [attributes["id"] for _, attributes in page.tags if "id" in attributes]
    assert len(ids) == len(set(ids))
    assert {"main", "live", "tip", "data", "theme"} <= set(ids)


def test_nothing_is_loaded_from_elsewhere(rich: ProgramSummary) -> None:
    text = html_report(rich)
    page = read_page(text)
    for tag in ("img", "iframe", "object", "embed", "base", "form"):
        assert page.with_tag(tag) == []
    assert [attributes["href"] for attributes in page.with_tag("link")] == ["data:,"]
    assert all("src" not in attributes for attributes in page.with_tag("script"))
    links = [str(attributes["href"]) for attributes in page.with_tag("a")]
    assert links
    assert all(link.startswith("#") for link in links)
    code = page.scripts[1] + page.styles[0]
    assert not re.search(r"fetch\(|XMLHttpRequest|WebSocket|import\(|@import|url\(|innerHTML", code)


def test_policy_allows_the_script_and_the_style_of_the_page_only(rich: ProgramSummary) -> None:
    page = read_page(html_report(rich))
    [policy] = [
        str(attributes["content"])
        for attributes in page.with_tag("meta")
        if attributes.get("http-equiv") == "Content-Security-Policy"
    ]
    rules = dict(rule.split(" ", 1) for rule in policy.split("; "))
    assert rules["default-src"] == "'none'"
    for rule, text in (("script-src", page.scripts[1]), ("style-src", page.styles[0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert rules[rule] == f"'sha256-{digest}'"
    assert not any("style" in attributes for _, attributes in page.tags), "would be blocked"
    assert not any(name.startswith("on") for _, attributes in page.tags for name in attributes)


def test_hostile_names_are_text(hostile: ProgramSummary) -> None:
    page = read_page(html_report(hostile, hostile))
    clean = read_page(html_report(synthetic_program(3)))
    assert {tag for tag, _ in page.tags} <= {tag for tag, _ in clean.tags} | {
        "nav",
        "ul",
        "li",
        "a",
    }
    assert len(page.scripts) == 2
    assert page.scripts[1] == clean.scripts[1]
    assert '<script>alert("&")</script>' in page.text()
    assert "\\x1b[31mred\\x07" in page.text()
    names = {
        method["strings"][number]
        for method in page.data()["files"][0]["methods"]
        for number in method["tensors"]["name"]
    }
    assert '<script>alert("&")</script>' in names
    assert "名前\U0001f642" in names
    assert len(names) == len(HOSTILE_NAMES)


@pytest.mark.parametrize("name", ["\u202egnp", "a\u2028b", "\x00", "\ud800", "\u200b", "\x9b31m"])
def test_invisible_characters_are_written_out(rich: ProgramSummary, name: str) -> None:
    method = replace(rich.methods[0], name=name)
    text = html_report(replace(rich, path=name, methods=(method,)))
    assert name not in text
    text.encode("utf-8")
    assert read_page(text).data()["files"][0]["path"].isprintable()


def test_long_names_are_cut(rich: ProgramSummary) -> None:
    method = rich.methods[0]
    long = tuple(replace(tensor, name="n" * 1_000_000) for tensor in method.tensors)
    text = html_report(replace(rich, methods=(replace(method, tensors=long),)))
    assert len(text) < 200_000


@pytest.mark.parametrize("text", ["</script>", "<!--<script>", "&amp;", "\u2028\u2029", "]]>"])
def test_data_cannot_end_its_element(text: str) -> None:
    written = script_json({"name": text})
    assert not set("<>&\u2028\u2029") & set(written)


def test_what_looks_like_a_slot_is_left_alone(rich: ProgramSummary) -> None:
    page = read_page(html_report(replace(rich, path="{{script}}{{data}}")))
    assert "{{script}}{{data}}" in page.text()
    assert len(page.scripts) == 2


def test_the_report_of_a_large_program_is_small(rich: ProgramSummary) -> None:
    # U²-Net has 375 blocks in 388 steps; a page has to stay below 3 MB with far more.
    assert len(html_report(synthetic_program(10_000)).encode()) < 3_000_000
    assert len(html_report(rich).encode()) < 150_000


def test_same_summary_same_page(rich: ProgramSummary) -> None:
    assert html_report(rich) == html_report(rich)


def test_methods_of_one_file_only(rich: ProgramSummary) -> None:
    text = read_page(html_report(rich, replace(rich, methods=rich.methods[:1]))).text()
    assert "This file has no method decode" in " ".join(text.split())


def test_empty_programs(empty: ProgramSummary, no_methods: ProgramSummary) -> None:
    assert "Nothing is planned in this method" in read_page(html_report(empty)).text()
    assert "The program has no methods." in read_page(html_report(no_methods)).text()
    both = read_page(html_report(no_methods, empty)).text()
    assert "This file has no method forward" in both
