"""docs/ci-budget.md shows what really happens."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from onearena.checking.budget import PER_METHOD, PER_PROGRAM, key_text
from onearena.checking.config import read_config
from onearena.cli.main import main
from tests.checking.programs import delegated_method, write
from tests.checking.runner import ROOT, load_action
from tests.cli.test_cli import GOLDEN

TEXT = (ROOT / "docs" / "ci-budget.md").read_text(encoding="utf-8")


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", TEXT, re.MULTILINE | re.DOTALL)


def test_the_example_is_what_is_printed() -> None:
    assert (GOLDEN / "check.txt").read_text(encoding="utf-8") in blocks("")


def test_every_quantity_is_explained() -> None:
    rows = re.findall(r"^\| `([a-zN_.]+)` \|", TEXT.split("Against a base")[0], re.MULTILINE)
    assert set(rows) == {*PER_METHOD, *PER_PROGRAM, "arena.N"}


def test_the_configuration(tmp_path: Path) -> None:
    (toml,) = blocks("toml")
    path = tmp_path / "onearena.toml"
    path.write_text(toml, encoding="utf-8")
    found = read_config(str(path)).budgets_for(str(tmp_path / "nets/speech.pte"))
    assert {key_text(key): size for key, size in found.items()} == {
        "total": 4_000_000,
        "arena": 1_572_864,
        "prefill:arena.2": 64_000,
    }


def test_the_workflow_and_the_hooks() -> None:
    workflow, hooks = (yaml.safe_load(block) for block in blocks("yaml"))
    step = workflow["jobs"]["memory"]["steps"][-1]
    inputs = load_action()["inputs"]
    assert step["with"].keys() <= inputs.keys()
    assert {name for name, details in inputs.items() if details.get("required")} <= step[
        "with"
    ].keys()
    manifest = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    used = {hook["id"] for hook in hooks["repos"][0]["hooks"]}
    assert used == {hook["id"] for hook in manifest}


def test_every_input_is_in_the_table() -> None:
    table = TEXT.split("| input | |")[1].split("\n\n")[0]
    cells = [row.split("|")[1] for row in table.splitlines() if row.startswith("| `")]
    names = {name for cell in cells for name in re.findall(r"`([a-z-]+)`", cell)}
    assert names == load_action()["inputs"].keys()


def test_the_json_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write(tmp_path / "a.pte", delegated_method())
    main(["check", str(path), "--budget=total=1", "--json"])
    named = set(re.findall(r"`([a-z_]+)(?:\[\])?`", TEXT.split("## JSON")[1]))
    assert keys(json.loads(capsys.readouterr().out)) - {"name", "description"} <= named


def keys(node: object) -> set[str]:
    """Of all objects inside."""
    if isinstance(node, dict):
        return set(node).union(*(keys(child) for child in node.values()))
    return set().union(*(keys(child) for child in node)) if isinstance(node, list) else set()
