"""The GitHub Action: its inputs, and its shell steps, run for real in a git repository."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from onearena.report.check_markdown import MARKER
from tests.checking.programs import relu_method, write
from tests.checking.runner import EXPRESSION, ROOT, Runner, git, load_action


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    """A repository in which a pull request makes a model larger."""
    work = tmp_path / "work"
    write(work / "nets" / "a b.pte", relu_method(elements=1000))
    git(work, "init", "--quiet", "--initial-branch=main")
    git(work, "add", ".")
    git(work, "commit", "--quiet", "--message=base")
    base = git(work, "rev-parse", "HEAD")
    write(work / "nets" / "a b.pte", relu_method(elements=1005))
    git(work, "commit", "--quiet", "--all", "--message=more")
    temp = tmp_path / "temp"
    temp.mkdir()
    return Runner(work, temp, {"pull_request": {"base": {"sha": base}, "number": 7}})


def test_every_input_is_declared_and_used() -> None:
    action = load_action()
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    used = set(re.findall(r"inputs\.([a-z-]+)", text))
    assert used == action["inputs"].keys()
    for details in action["inputs"].values():
        assert details["description"]
        assert ("default" in details) != bool(details.get("required"))
    steps = {step.get("id"): step for step in action["runs"]["steps"]}
    for name, output in re.findall(r"steps\.([a-z]+)\.outputs\.([a-z-]+)", text):
        assert f"{output}=" in steps[name]["run"]


def test_inputs_reach_scripts_as_variables_only() -> None:
    for step in load_action()["runs"]["steps"]:
        if "run" not in step:
            assert re.fullmatch(r"[a-z-]+/[a-z-]+@v[0-9]+", step["uses"])
            continue
        assert step["shell"] == "bash"
        assert not EXPRESSION.search(step["run"])
        # a variable that is misspelled would be empty
        named = set(re.findall(r"\$\{?([A-Z_]{3,})", step["run"]))
        github = {"RUNNER_TEMP", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "RANDOM"}
        assert named <= step["env"].keys() | github
        assert step["env"].keys() - {"GH_TOKEN"} <= named


def test_within_budget(runner: Runner) -> None:
    result = runner.run(models="nets/*.pte", budget="arena=9kB\ntotal=9kB,file=1MB\n")
    assert result.exit_code == 0, result.log
    assert result.summary.startswith(f"{MARKER}\n### \N{WHITE HEAVY CHECK MARK} Memory: within")
    assert "`nets/a b.pte`" in result.summary
    assert "nets/a b.pte  \N{CHECK MARK} ok" in result.log
    assert result.outputs["check"]["exit-code"] == "0"
    markdown = Path(result.outputs["check"]["markdown"])
    assert markdown.read_text(encoding="utf-8") == result.summary


def test_over_budget(runner: Runner) -> None:
    result = runner.run(models="nets/a b.pte", budget="arena=8kB", config="")
    assert result.exit_code == 1
    assert "40 B over its budget of 8.00 kB" in result.summary
    assert "::error title=onearena::over a memory budget" in result.log


def test_against_the_base(runner: Runner) -> None:
    result = runner.run(models="nets/a b.pte", against="base")
    assert result.exit_code == 1
    assert "grew by +40 B (+0.50%)" in result.summary
    base = runner.event["pull_request"]["base"]["sha"][:12]
    assert f"/onearena-base/{base}/nets/a b.pte`" in result.summary
    assert runner.run(models="nets/a b.pte", against="base", max_growth="1%").exit_code == 0
    assert runner.run(models="nets/a b.pte", against="HEAD").exit_code == 0
    old = runner.workspace / "old.pte"
    old.write_bytes((runner.workspace / "nets/a b.pte").read_bytes())
    assert runner.run(models="nets/a b.pte", against="old.pte").exit_code == 0


def test_against_a_branch_that_is_not_checked_out(runner: Runner, tmp_path: Path) -> None:
    git(runner.workspace, "branch", "before", "HEAD~1")
    shallow = tmp_path / "shallow"
    git(tmp_path, "clone", "--quiet", "--depth=1", runner.workspace.as_uri(), str(shallow))
    result = Runner(shallow, runner.temp).run(models="nets/a b.pte", against="before")
    assert result.exit_code == 1, result.log
    assert "grew by +40 B" in result.summary
    # by its number, as the base of a pull request
    result = Runner(shallow, runner.temp, runner.event).run(models="nets/a b.pte", against="base")
    assert "grew by +40 B" in result.summary


def test_from_a_directory_of_the_repository(runner: Runner) -> None:
    inside = Runner(runner.workspace / "nets", runner.temp, runner.event)
    assert "grew by +40 B" in inside.run(models="a b.pte", against="base").summary
    assert "grew by +40 B" in inside.run(models="./a b.pte", against="base").summary
    result = inside.run(models="../nets/a b.pte", against="base")
    assert result.exit_code == 2
    assert "below the working directory" in result.summary


def test_dots_in_a_name_are_no_way_out(runner: Runner) -> None:
    write(runner.workspace / "v1..2.pte", relu_method(elements=1000))
    git(runner.workspace, "add", ".")
    git(runner.workspace, "commit", "--quiet", "--message=dots")
    write(runner.workspace / "v1..2.pte", relu_method(elements=1005))
    assert "grew by +40 B" in runner.run(models="v1..2.pte", against="HEAD").summary


def test_a_new_model_has_no_base(runner: Runner) -> None:
    write(runner.workspace / "nets" / "new.pte", relu_method())
    result = runner.run(models="nets/*.pte", against="base", max_growth="1%")
    assert result.exit_code == 0, result.log
    assert "there is no base to compare it with" in result.summary
    for event in ({}, {"before": "0" * 40}):
        first = Runner(runner.workspace, runner.temp, event)
        result = first.run(models="nets/a b.pte", against="base", budget="arena=9kB")
        assert result.exit_code == 0, result.log
        assert "there is no base to compare it with" in result.summary


@pytest.mark.parametrize(
    ("inputs", "words"),
    [
        ({"models": "\n"}, "the input models is empty"),
        ({"models": "nets/no*.pte"}, "nets/no*.pte: no such file"),
        ({"budget": ""}, "nothing to check"),
        ({"against": "nowhere"}, "neither a file nor a git ref"),
        ({"against": "--help"}, "does not begin with a dash"),
        ({"models": "--help"}, "--help: no such file"),
        ({"config": "no.toml"}, "no.toml: no such file"),
    ],
)
def test_what_cannot_be_checked(runner: Runner, inputs: dict[str, str], words: str) -> None:
    result = runner.run(**{"models": "nets/a b.pte", "budget": "arena=1MB", **inputs})
    assert result.exit_code == 2, result.log
    assert words in result.summary
    assert result.summary.startswith(MARKER)
    assert "::error title=onearena::could not be checked" in result.log
    assert result.outputs["check"]["exit-code"] == "2"


EVIL = 'x"; touch pwned; $(touch pwned) `touch pwned` ${HOME} && touch pwned #'


@pytest.mark.parametrize("name", ["models", "budget", "against", "version"])
def test_inputs_are_not_commands(runner: Runner, name: str) -> None:
    inputs = dict.fromkeys(("config", "max_growth", "target"), EVIL)
    inputs |= {"models": "nets/a b.pte", "budget": "arena=1MB", "against": "HEAD", name: EVIL}
    assert runner.run(**inputs).exit_code == 2
    assert not list(runner.workspace.rglob("pwned"))
    assert not list(runner.temp.rglob("pwned"))


def test_names_in_a_program_are_not_commands_to_the_runner(runner: Runner) -> None:
    write(runner.workspace / "nets" / "a b.pte", relu_method("::add-mask::a"))
    log = runner.run(models="nets/a b.pte", budget="::add-mask::a:arena=1").log
    stop = re.search(r"^::stop-commands::(\S{20,})$", log, re.MULTILINE)
    assert stop is not None
    inside, after = log[stop.end() :].split(f"\n::{stop[1]}::\n")
    assert "::add-mask::" in inside
    assert "::add-mask::" not in log[: stop.start()] + after


def test_what_is_installed(runner: Runner) -> None:
    runner.run(models="nets/a b.pte", budget="arena=1MB")
    log = runner.temp / "python.log"
    venv, install = log.read_text().splitlines()
    assert venv == "-m venv onearena-venv"
    assert install.split()[:3] == ["-m", "pip", "install"]
    assert install.endswith(f" {ROOT}")
    log.unlink()
    runner.run(models="nets/a b.pte", budget="arena=1MB", version="1.2.0")
    assert log.read_text().splitlines()[1].endswith(" onearena==1.2.0")
    log.unlink()
    for version in ("latest", "-e .", "1.0 --pre", "https://example.org/x.whl"):
        result = runner.run(models="nets/a b.pte", budget="arena=1MB", version=version)
        assert result.exit_code == 2
        assert not log.exists()


def test_the_comment_is_made_once_and_then_updated(runner: Runner) -> None:
    store = runner.temp / "comments.json"
    people = [{"id": 1, "user": {"type": "User"}, "body": f"{MARKER} not by the action"}]
    store.write_text(json.dumps(people))
    runner.run(models="nets/a b.pte", budget="arena=1MB")
    assert json.loads(store.read_text()) == people  # not asked for
    first = runner.run(models="nets/a b.pte", budget="arena=1MB", comment="true")
    assert first.exit_code == 0, first.log
    second = runner.run(models="nets/a b.pte", budget="arena=1B", comment="true")
    assert second.exit_code == 1  # the answer counts, not that it could be said
    old, comment = json.loads(store.read_text())
    assert [old] == people
    assert comment["body"] == second.summary != first.summary
    third = runner.run(models="nets/no.pte", budget="arena=1B", comment="true")
    assert json.loads(store.read_text())[1]["body"] == third.summary
    assert "no such file" in third.summary


def test_a_comment_that_may_not_be_written_changes_nothing(runner: Runner) -> None:
    result = runner.run(
        models="nets/a b.pte", budget="arena=1MB", comment="true", token="not the secret"
    )
    assert result.exit_code == 0
    assert "AssertionError" in result.log  # by the stand-in for gh
    # nor does an event that is no pull request
    push = Runner(runner.workspace, runner.temp, {"before": "0" * 40})
    result = push.run(models="nets/a b.pte", budget="arena=1MB", comment="true", token="wrong")
    assert "AssertionError" not in result.log


@pytest.mark.skipif(shutil.which("jq") is None, reason="needs jq")
def test_the_filter_for_comments() -> None:
    (step,) = (step for step in load_action()["runs"]["steps"] if step.get("name") == "Comment")
    found = re.search(r"'(\.\[\] .*)'", step["run"])
    assert found is not None
    comments = [
        {"id": 1, "user": {"type": "User"}, "body": MARKER},
        {"id": 2, "user": {"type": "Bot"}, "body": f"see {MARKER}"},
        {"id": 3, "user": {"type": "Bot"}, "body": f"{MARKER}\n### ..."},
    ]
    done = subprocess.run(
        ["jq", found[1]], input=json.dumps(comments), capture_output=True, text=True, check=True
    )
    assert done.stdout.split() == ["3"]
