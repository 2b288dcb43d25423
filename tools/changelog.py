"""The changelog with what is not released yet: `python -m tools.changelog`.

Every change that users notice brings a fragment (`changes/README.md`); towncrier puts them
together. The exit code is 1 when a fragment is not well-formed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tools import ROOT

MARKER = "<!-- towncrier release notes start -->\n"
KINDS = ("added", "changed", "fixed", "removed", "security")
_NAME = re.compile(rf"(\d+|\+[a-z0-9-]+)\.({'|'.join(KINDS)})(\.\d+)?\.md")
_LONGEST = 100
_OTHER_FILES = {"README.md"}


def main(_: Sequence[str] = ()) -> int:
    """Prints the changelog, or what is wrong with the fragments; returns the exit code."""
    problems = fragment_problems(ROOT)
    for problem in problems:
        print(problem, file=sys.stderr)
    if not problems:
        print(changelog(ROOT), end="")
    return 1 if problems else 0


def fragment_problems(root: Path) -> list[str]:
    """What is wrong with the fragments in `changes/`, one line each."""
    return [
        f"changes/{path.name}: {problem}"
        for path in sorted((root / "changes").iterdir())
        if path.name not in _OTHER_FILES
        for problem in _problems(path)
    ]


def _problems(path: Path) -> list[str]:
    if not _NAME.fullmatch(path.name):
        forms = "NUMBER.KIND.md or +WORDS.KIND.md"
        return [f"its name must be {forms}, KIND one of {', '.join(KINDS)}"]
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ["it is not a text file in UTF-8"]
    found: list[str] = []
    if not text.strip():
        found.append("it is empty")
    elif not text.rstrip().endswith("."):
        found.append("its last sentence has no full stop")
    if re.search(r"^(#|[*-] )", text, re.MULTILINE):
        found.append("it holds a heading or a list; it becomes one item of a list")
    if any(len(line) > _LONGEST for line in text.splitlines()):
        found.append(f"a line has more than {_LONGEST} characters")
    return found


def changelog(root: Path) -> str:
    """CHANGELOG.md with the fragments as a release that is to come, in Markdown.

    Raises:
        subprocess.CalledProcessError: towncrier refuses a fragment.
    """
    released = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    head, _, releases = released.partition(MARKER)
    if not any(path.name not in _OTHER_FILES for path in (root / "changes").iterdir()):
        return head + releases
    command = [sys.executable, "-m", "towncrier", "build", "--draft", "--version", "Unreleased"]
    run = subprocess.run(command, cwd=root, check=True, capture_output=True, text=True)
    return f"{head}{run.stdout[run.stdout.index('## ') :].strip()}\n{releases}"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
