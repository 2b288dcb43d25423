"""Versions, licences, workflows, templates: what release and contributors rely on."""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml
from tools import ROOT

import onearena
from onearena.record import KEY

_PROJECT: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
_SEMANTIC = r"(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)((a|b|rc)\d+)?"
_FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("[0-9]*.yml"))
_WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def test_the_version_is_semantic_and_stands_in_one_place() -> None:
    assert re.fullmatch(_SEMANTIC, onearena.__version__)
    assert "version" in _PROJECT["project"]["dynamic"]
    found = re.search(r"project\(onearena_planner VERSION (\S+)", text("cpp/CMakeLists.txt"))
    assert found is not None
    assert onearena.__version__.startswith(found[1])


def test_the_changelog_knows_the_version() -> None:
    assert f"## {onearena.__version__} (" in text("CHANGELOG.md")


def test_the_release_workflow_reads_the_version_as_it_stands() -> None:
    (command,) = re.findall(r"\$\((sed .*)\)", text(".github/workflows/wheels.yml"))
    found = subprocess.run(command, shell=True, cwd=ROOT, capture_output=True, text=True)
    assert found.stdout.strip() == onearena.__version__


def test_licence_files_exist() -> None:
    for name in _PROJECT["project"]["license-files"]:
        assert (ROOT / name).is_file()
    notices = text("THIRD_PARTY_NOTICES.md")
    for bundled in ("nanobind", "robin_map", "ExecuTorch"):
        assert f"## {bundled}" in notices or f"::{bundled}" in notices


def test_the_report_holds_only_our_own_scripts() -> None:
    for path in (ROOT / "src" / "onearena" / "report" / "html" / "assets").iterdir():
        content = path.read_text(encoding="utf-8")
        assert not re.search(r"copyright|license", content, re.IGNORECASE), path.name


@pytest.mark.parametrize("path", _WORKFLOWS, ids=lambda path: path.name)
def test_workflows_use_files_that_exist(path: Path) -> None:
    workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert workflow["permissions"] == {"contents": "read"}
    for job in workflow["jobs"].values():
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
    for script in re.findall(r"run: (\.\S+)", path.read_text(encoding="utf-8")):
        assert (ROOT / script).is_file()


def test_wheels_are_built_for_both_architectures() -> None:
    (path,) = (path for path in _WORKFLOWS if path.name == "wheels.yml")
    matrix = yaml.safe_load(path.read_text(encoding="utf-8"))["jobs"]["wheels"]["strategy"]
    assert matrix["matrix"]["runner"] == ["ubuntu-24.04", "ubuntu-24.04-arm"]
    settings = _PROJECT["tool"]["cibuildwheel"]
    for name in re.findall(r"\{project\}/(\S+)", settings["test-command"]):
        assert (ROOT / name).is_file()


def test_wheels_are_built_for_the_versions_of_python_that_are_promised() -> None:
    promised = re.findall(r":: Python :: 3\.(\d+)", "\n".join(_PROJECT["project"]["classifiers"]))
    assert _PROJECT["tool"]["cibuildwheel"]["build"] == [f"cp3{minor}-*" for minor in promised]
    assert f"Python 3.{promised[0]} and 3.{promised[-1]}." in text("docs/compatibility.md")


@pytest.mark.parametrize("path", _FORMS, ids=lambda path: path.name)
def test_issue_forms_are_valid(path: Path) -> None:
    form = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert form["name"]
    assert form["description"]
    identifiers = [entry["id"] for entry in form["body"] if entry["type"] != "markdown"]
    assert len(set(identifiers)) == len(identifiers) > 0
    for entry in form["body"]:
        assert entry["type"] in ("markdown", "textarea", "input")
        assert entry["attributes"].get("label") or entry["attributes"].get("value")


def test_issue_forms_name_options_that_exist() -> None:
    from tools.site.command_page import subcommands

    from onearena.cli.main import command_line

    known = {
        option
        for command in subcommands(command_line()).values()
        for action in command._actions
        for option in action.option_strings
    } | {"--version"}
    for path in _FORMS:
        assert set(re.findall(r"--[a-z-]+", path.read_text(encoding="utf-8"))) <= known


def test_the_hooks_for_contributors_are_valid() -> None:
    command = [sys.executable, "-m", "pre_commit", "validate-config", ".pre-commit-config.yaml"]
    assert subprocess.run(command, cwd=ROOT, check=False).returncode == 0


def test_contributing_names_targets_that_exist() -> None:
    targets = set(re.findall(r"^([a-z-]+):", text("Makefile"), re.MULTILINE))
    named = set(re.findall(r"`?make ([a-z-]+)", text("CONTRIBUTING.md"))) | {"test"}
    assert named <= targets
    for path in re.findall(r"-r (requirements/\S+\.txt)", text("CONTRIBUTING.md")):
        assert (ROOT / path).is_file()


def test_security_names_every_command() -> None:
    from tools.site.command_page import subcommands

    from onearena.cli.main import command_line

    page = text("SECURITY.md")
    assert [c for c in subcommands(command_line()) if f"`{c}" not in page] == []


def test_the_record_is_promised_under_its_name() -> None:
    assert f"named-data key `{KEY}`" in text("docs/versions.md")
