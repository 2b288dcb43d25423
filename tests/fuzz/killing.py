"""Kills commands while they write: ``python -m tests.fuzz.killing FOLDER -- COMMAND...``.

The word of the command that starts with `FILE`, such as `FILE.pte`, is the file that it writes.
The command runs in forks of this process, which has imported all that it needs, so that most kills
hit the work and not Python's start. Prints how often the file was the old one and how often the
new one; anything else ends the run with exit code 1.
"""

from __future__ import annotations

import argparse
import os
import signal
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from random import Random

from onearena.cli.main import main as command_line

FILE = "FILE"
"""What the name of the file to be written starts with."""
OLD = b"the file of before"


def _start(words: Sequence[str]) -> int:
    """Runs the command in a child; its process."""
    child = os.fork()
    if child:
        return child
    quiet = os.open(os.devnull, os.O_WRONLY)
    os.dup2(quiet, 1)
    os.dup2(quiet, 2)
    os._exit(command_line(words))


def _finished(words: Sequence[str], target: Path) -> tuple[bytes, float]:
    """What the command writes when nobody kills it, and the seconds that it takes."""
    target.write_bytes(OLD)
    start = time.monotonic()
    _, status = os.waitpid(_start(words), 0)
    seconds = time.monotonic() - start
    if os.waitstatus_to_exitcode(status) not in (0, 1):
        raise SystemExit(f"the command itself fails: {' '.join(words)}")
    return target.read_bytes(), seconds


def kill_often(command: Sequence[str], folder: Path, kills: int, seed: int) -> Counter[str]:
    """What the file was after each kill: `old` or `new`.

    Raises:
        SystemExit: it was neither, or the command fails when it is left alone.
    """
    target = folder / "written" / next(word for word in command if word.startswith(FILE))
    target.parent.mkdir()
    words = [str(target) if word == target.name else word for word in command]
    _finished(words, target)  # what is imported late is imported now, in the kernel's cache
    new, seconds = _finished(words, target)
    random, found = Random(seed), Counter[str]()
    for _ in range(kills):
        target.write_bytes(OLD)
        child = _start(words)
        time.sleep(random.uniform(0, 1.1 * seconds))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        content = target.read_bytes()
        if content not in (OLD, new):
            raise SystemExit(f"{len(content)} bytes that are neither the old nor the new file")
        found["old" if content == OLD else "new"] += 1
        found["left behind"] += _sweep(target)
    return found


def _sweep(target: Path) -> int:
    """Removes temporary files of killed commands; how many there were.

    Raises:
        SystemExit: a file is there that does not look temporary.
    """
    others = [path for path in target.parent.iterdir() if path != target]
    for path in others:
        if not (path.name.startswith(".") and path.suffix == ".tmp"):
            raise SystemExit(f"{path.name} is not the name of a temporary file")
        path.unlink()
    return len(others)


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs and prints; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.killing", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args(arguments)
    found = kill_often(options.command, options.folder, options.kills, options.seed)
    print(dict(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
