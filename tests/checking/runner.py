"""Runs the shell steps of `action.yml` as GitHub's runner would, not those that `use` others."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

ROOT = Path(__file__).parents[2]
EXPRESSION = re.compile(r"\$\{\{(.*?)\}\}")

# Stands for the runner's python: makes a virtual environment whose `onearena` is the one under
# test, and notes what pip would install.
_PYTHON = """#!/bin/bash
printf '%s\\n' "$*" >> "$RUNNER_TEMP/python.log"
if [[ "$1 $2" == "-m venv" ]]; then
  mkdir -p "$3/bin"
  cp "$0" "$3/bin/python"
  printf '#!/bin/bash\\nexec "%s" -m onearena "$@"\\n' "$TEST_PYTHON" > "$3/bin/onearena"
  chmod +x "$3/bin/onearena"
fi
"""

# Stands for GitHub's command line: keeps comments in a file.
_GH = """#!{python}
import json, os, pathlib, re, sys
store = pathlib.Path(os.environ["RUNNER_TEMP"]) / "comments.json"
comments = json.loads(store.read_text()) if store.exists() else []
assert os.environ["GH_TOKEN"] == "secret" and sys.argv[1] == "api", sys.argv
path = next(word for word in sys.argv[2:] if word.startswith("repos/"))
if "--method" not in sys.argv:
    assert path == "repos/me/nets/issues/7/comments", path
    marker = re.search('startswith[(]"(.*?)"', sys.argv[sys.argv.index("--jq") + 1]).group(1)
    for comment in comments:
        if comment["user"]["type"] == "Bot" and comment["body"].startswith(marker):
            print(comment["id"])
    sys.exit()
field = sys.argv[sys.argv.index("--field") + 1]
assert field.startswith("body=@"), field
body = pathlib.Path(field.removeprefix("body=@")).read_text(encoding="utf-8")
if sys.argv[sys.argv.index("--method") + 1] == "PATCH":
    number = int(path.removeprefix("repos/me/nets/issues/comments/"))
    next(comment for comment in comments if comment["id"] == number)["body"] = body
else:
    assert path == "repos/me/nets/issues/7/comments", path
    comments.append({{"id": 100 + len(comments), "user": {{"type": "Bot"}}, "body": body}})
store.write_text(json.dumps(comments))
"""


def load_action() -> dict[str, Any]:
    """The action as data."""
    action: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    return action


@dataclass
class Result:
    """What a run of the action left behind."""

    exit_code: int
    log: str
    summary: str
    outputs: dict[str, dict[str, str]]


@dataclass
class Runner:
    """One machine.

    Attributes:
        workspace: the checked out repository.
        temp: the runner's directory for temporary files.
        event: the `github` context.
    """

    workspace: Path
    temp: Path
    event: dict[str, Any] = field(default_factory=dict)

    def run(self, **inputs: str) -> Result:
        """Runs the action with these inputs (`_` stands for `-`)."""
        action = load_action()
        self._install_tools()
        given = {name.replace("_", "-"): value for name, value in inputs.items()}
        assert given.keys() <= action["inputs"].keys()
        github = {"action_path": str(ROOT), "token": "secret", "repository": "me/nets"}
        context: dict[str, Any] = {"github": {**github, "event": self.event}, "steps": {}}
        context["inputs"] = {
            name: given.get(name, _substitute(str(details.get("default", "")), context))
            for name, details in action["inputs"].items()
        }
        result = Result(0, "", "", {})
        for step in action["runs"]["steps"]:
            if "run" in step and _condition(step.get("if"), context):
                code = self._step(step, context, result)
                if code and not step.get("continue-on-error"):
                    result.exit_code = code
                    break
        return result

    def _install_tools(self) -> None:
        tools = self.temp / "tools"
        tools.mkdir(parents=True, exist_ok=True)
        for name, text in (("python", _PYTHON), ("gh", _GH.format(python=sys.executable))):
            (tools / name).write_text(text)
            (tools / name).chmod(0o755)

    def _step(self, step: Mapping[str, Any], context: dict[str, Any], result: Result) -> int:
        script, output = self.temp / "step.sh", self.temp / "output.txt"
        summary = self.temp / "summary.md"
        script.write_text(step["run"], encoding="utf-8")
        output.write_text("")
        summary.write_text("")
        assert step["shell"] == "bash"
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
            cwd=self.workspace,
            env={
                **git_environment(),
                "PATH": f"{self.temp / 'tools'}{os.pathsep}{os.environ['PATH']}",
                "RUNNER_TEMP": str(self.temp),
                "GITHUB_OUTPUT": str(output),
                "GITHUB_STEP_SUMMARY": str(summary),
                "TEST_PYTHON": sys.executable,
                **{name: _substitute(str(v), context) for name, v in step["env"].items()},
            },
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        result.log += done.stdout
        result.summary += summary.read_text(encoding="utf-8")
        lines = output.read_text(encoding="utf-8").splitlines()
        outputs = dict(line.split("=", 1) for line in lines)
        if "id" in step:
            context["steps"][step["id"]] = {"outputs": outputs}
            result.outputs[step["id"]] = outputs
        return done.returncode


def git_environment() -> dict[str, str]:
    """The environment without the settings of whoever runs the tests."""
    people = ("AUTHOR_NAME", "AUTHOR_EMAIL", "COMMITTER_NAME", "COMMITTER_EMAIL")
    names = {f"GIT_{name}": "a@b.c" for name in people}
    kept = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    path = os.pathsep.join(str(Path(entry).resolve()) for entry in sys.path if entry)
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    return {**kept, **names, **settings, "PYTHONPATH": path, "PYTHONIOENCODING": "utf-8"}


def git(directory: Path, *args: str) -> str:
    """Runs git and returns what it prints."""
    return subprocess.run(
        ["git", "-c", "protocol.file.allow=always", *args],
        cwd=directory,
        env=git_environment(),
        check=True,
        capture_output=True,
        encoding="utf-8",
    ).stdout.strip()


def _substitute(text: str, context: Mapping[str, Any]) -> str:
    return EXPRESSION.sub(lambda found: _value(found[1], context), text)


def _value(expression: str, context: Mapping[str, Any]) -> str:
    """The first of `a.b || c.d` that is there."""
    for path in expression.split("||"):
        found: Any = context
        for name in path.strip().split("."):
            found = found.get(name, {}) if isinstance(found, dict) else {}
        if found:
            return str(found)
    return ""


def _condition(expression: str | None, context: Mapping[str, Any]) -> bool:
    """Of the kind `a.b == 'true' && c.d`."""
    for term in expression.split("&&") if expression else ():
        path, equals, literal = term.partition("==")
        value = _value(path, context)
        if not (value == literal.strip().strip("'") if equals else value):
            return False
    return True
