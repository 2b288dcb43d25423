"""Switches that the documentation recommends are complete: with a value, where they take one."""

from __future__ import annotations

import argparse
import re
from pathlib import Path

import pytest
from tools import ROOT
from tools.site.command_page import subcommands

from onearena.cli.main import command_line

_ROW = re.compile(r"^\| `(?P<switch>--[a-z][a-z-]*)(?P<value> [^`]+)?` \|", re.MULTILINE)
_PAGES = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]


def recommended(text: str) -> list[tuple[str, str | None]]:
    """The switches in the first columns of tables, each with its value."""
    return [(found["switch"], found["value"]) for found in _ROW.finditer(text)]


def wants_value(switch: str) -> set[bool]:
    """Whether the commands that know a switch want a value behind it."""
    return {
        not isinstance(action, argparse.BooleanOptionalAction) and action.nargs != 0
        for command in subcommands(command_line()).values()
        for action in command._actions
        if switch in action.option_strings
    }


@pytest.mark.parametrize("page", _PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_switches_in_tables_are_as_one_types_them(page: Path) -> None:
    for switch, value in recommended(page.read_text(encoding="utf-8")):
        assert (value is not None) in wants_value(switch), f"{page.name}: {switch}{value or ''}"


def test_a_switch_without_its_value_is_noticed() -> None:
    (found,) = recommended("| `--transient-indirection` | less heap |")
    assert (found[1] is not None) not in wants_value(found[0])
    assert wants_value("--no-strips") == {False}
