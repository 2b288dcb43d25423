"""Runs the blocks of a page in order, in one folder, as a reader would.

* ```` ```sh ```` is run by bash; ```` ```python ```` by Python.
* A block with `title="name"` is written to a file of that name instead; in `diff` blocks the lines
  change that file, which must have the old ones exactly once.
* ```` ```text ```` behind a block shows some of its output: every line must be there, in order,
  where any number stands for any other. `...` stands for lines that are not shown.
* `<!-- not run -->` before a block: it is only shown. `<!-- run: COMMAND -->`: it is only run.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from tools import ROOT

_FENCE = re.compile(
    r"(?P<skip><!-- not run -->\n+)?^(?P<indent> *)```(?P<language>[a-z]+)"
    r'(?: title="(?P<title>[^"]+)")?\n(?P<text>.*?)^ *```$'
    r"|<!-- run: (?P<command>.*?) -->",
    re.MULTILINE | re.DOTALL,
)
_NUMBER = re.compile(r"\d[\d,.]*")
_TIMEOUT_S = 1800


class BlockError(AssertionError):
    """A block does not do what its page says."""


@dataclass(frozen=True)
class Block:
    """One block of a page; `line` is where it begins."""

    language: str
    title: str | None
    text: str
    line: int


@dataclass
class Reader:
    """Somebody who follows a page.

    Attributes:
        folder: where files are written and commands run.
        output: what the last command printed.
    """

    folder: Path
    environment: Mapping[str, str]
    output: str = ""
    ran: list[str] = field(default_factory=list)

    def follow(self, page: Path) -> None:
        """Does all that a page says.

        Raises:
            BlockError: something is not as it says; the message names the line.
        """
        for block in blocks(page.read_text(encoding="utf-8")):
            try:
                self._do(block)
            except BlockError as error:
                raise BlockError(f"{page.name}:{block.line}: {error}") from None

    def _do(self, block: Block) -> None:
        if block.language == "text" and block.title is None:
            check_output(block.text, self.output)
        elif block.language == "diff":
            path = self.folder / (block.title or "")
            path.write_text(patched(path.read_text(encoding="utf-8"), block.text), "utf-8")
        elif block.title is not None:
            path = self.folder / block.title
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(block.text, encoding="utf-8")
        elif block.language == "sh":
            self._run(["bash", "-euo", "pipefail", "-c", block.text])
        elif block.language == "python":
            self._run([sys.executable, "-c", block.text])

    def _run(self, command: list[str]) -> None:
        found = subprocess.run(
            command,
            cwd=self.folder,
            env=dict(self.environment),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_TIMEOUT_S,
            check=False,
        )
        self.output = found.stdout
        self.ran.append(command[-1])
        if found.returncode != 0:
            raise BlockError(f"exit code {found.returncode}:\n{found.stdout}")


_NO_REDIRECTION = """
import sys

sys.meta_path[:] = [f for f in sys.meta_path if "RedirectingFinder" not in type(f).__name__]
"""


def reader(folder: Path, source: Path = ROOT / "src", root: Path | None = None) -> Reader:
    """A reader with an empty folder and `onearena` on the path.

    Args:
        source: the `src` of the onearena that is used.
        root: what else Python finds; the folder itself by default.

    An editable installation would find its own onearena first, whatever is on the path.
    """
    commands = folder / ".bin"
    commands.mkdir(parents=True)
    for name, call in (("onearena", '-m onearena "$@"'), ("python", '"$@"')):
        path = commands / name
        path.write_text(f'#!/bin/sh\nexec "{sys.executable}" {call}\n')
        path.chmod(path.stat().st_mode | stat.S_IXUSR)
    if source != ROOT / "src":
        (commands / "sitecustomize.py").write_text(_NO_REDIRECTION)
    environment = {
        **os.environ,
        "PATH": f"{commands}:{os.environ['PATH']}",
        "PYTHONPATH": f"{source}:{root or folder}:{commands}",
        "PYTHONWARNINGS": "ignore",
        "ROOT": str(ROOT),
    }
    return Reader(folder, environment)


def blocks(markdown: str) -> Iterator[Block]:
    """The blocks of a page that are written, run or compared."""
    for found in _FENCE.finditer(markdown):
        line = markdown.count("\n", 0, found.start()) + 1
        if found["command"]:
            yield Block("sh", None, found["command"], line)
        elif not found["skip"]:
            indent = len(found["indent"])
            text = "".join(t[indent:] or "\n" for t in found["text"].splitlines(keepends=True))
            yield Block(found["language"], found["title"], text, line)


def check_output(expected: str, output: str) -> None:
    """Every expected line is in the output, in order.

    Raises:
        BlockError: one is not.
    """
    printed = iter([_masked(line) for line in output.splitlines()])
    for line in expected.splitlines():
        if line.strip() in ("", "..."):
            continue
        if not any(found == _masked(line) for found in printed):
            raise BlockError(f"this is not printed (any more): {line.strip()!r}, but\n{output}")


def _masked(line: str) -> str:
    return " ".join(_NUMBER.sub("N", line).split())


def patched(text: str, diff: str) -> str:
    """A text with the lines of a diff changed; parts are separated by lines with `@@`.

    Raises:
        BlockError: the old lines are not there exactly once.
    """
    for part in re.split(r"^@@.*\n", diff, flags=re.MULTILINE):
        lines = part.splitlines(keepends=True)
        old = "".join(line[1:] or "\n" for line in lines if not line.startswith("+"))
        new = "".join(line[1:] or "\n" for line in lines if not line.startswith("-"))
        if old and text.count(old) != 1:
            raise BlockError(f"these lines are there {text.count(old)} times:\n{old}")
        text = text.replace(old, new) if old else text
    return text
