"""Every command on a mutated file: an exit code and one clear line, whatever the file holds."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Sequence
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from tempfile import TemporaryDirectory
from zlib import crc32

import pytest

from onearena.cli.main import main

PROGRAM, FOLDER, GOOD = "{program}", "{folder}", "{good}"
"""In a command line: the mutated file, a folder to write to, an unchanged file."""

_LIMIT = ("--time-limit", "0.01")
COMMANDS: tuple[tuple[str, ...], ...] = (
    ("inspect", PROGRAM, "--json"),
    ("inspect", PROGRAM),
    ("verify", PROGRAM, "--json"),
    ("verify", PROGRAM),
    ("sizes", PROGRAM, "--json", "--target", "cortex-m55"),
    ("sizes", PROGRAM, "--runner"),
    ("sizes", PROGRAM, "--header", f"{FOLDER}/sizes.h", "--target", "cortex-m4"),
    ("sizes", PROGRAM, "--runner", "--against", GOOD),
    ("sizes", GOOD, "--runner", "--against", PROGRAM),
    ("check", PROGRAM, "--json", "--budget", "arena=1KB"),
    ("check", PROGRAM, "--budget", "total=100MB", "--allow-unknown", "--target", "cortex-m55"),
    ("check", GOOD, "--against", PROGRAM, "--max-growth", "0"),
    ("check", PROGRAM, "--against", GOOD, "--max-growth", "1%"),
    ("explain", PROGRAM, *_LIMIT),
    ("explain", PROGRAM, "--json", *_LIMIT),
    ("report", PROGRAM),
    ("report", PROGRAM, "-o", f"{FOLDER}/report.html", "--compare", GOOD),
    ("report", GOOD, "-o", f"{FOLDER}/report.html", "--compare", PROGRAM),
    ("report", PROGRAM, "--json", "--trace", f"{FOLDER}/trace.json"),
    ("report", PROGRAM, "--csv", f"{FOLDER}/buffers.csv", "--problem", f"{FOLDER}/problem.json"),
    ("report", PROGRAM, "--model-explorer", f"{FOLDER}/nodes.json"),
    ("simulate", PROGRAM),
    ("simulate", PROGRAM, "--json", "--inputs", "1"),
    ("simulate", PROGRAM, "--original", GOOD),
    ("simulate", GOOD, "--original", PROGRAM),
    ("simulate", PROGRAM, "--original", PROGRAM),
    ("describe", PROGRAM, "-o", f"{FOLDER}/described.pte"),
    ("optimize", PROGRAM, "-o", f"{FOLDER}/out.pte", *_LIMIT),
    ("optimize", PROGRAM, "-o", f"{FOLDER}/out.pte", "--closed", "--json", *_LIMIT),
    ("optimize", PROGRAM, "-o", f"{FOLDER}/out.pte", "--target", "cortex-m55", *_LIMIT),
    ("optimize", PROGRAM, "-o", f"{FOLDER}/out.pte", "--memory", "a:1K:1,b:64M:2", *_LIMIT),
    ("optimize", PROGRAM, "-o", f"{FOLDER}/out.pte", "--transient-indirection", "on", *_LIMIT),
    ("optimize", PROGRAM, "-o", f"{FOLDER}/out.pte"),
    ("bundle", "--extract", PROGRAM, "-o", f"{FOLDER}/out.pte"),
)
_EVERY = 4


def commands(data: bytes, good: bytes) -> None:
    """One command for some of the files; which one, the bytes decide."""
    number = crc32(data)
    if number % _EVERY == 0:
        answer(COMMANDS[number // _EVERY % len(COMMANDS)], data, good)


def answer(command: Sequence[str], data: bytes, good: bytes) -> int:
    """Runs one command line; its exit code.

    Raises:
        AssertionError: what it says is not what a script can rely on.
    """
    out, err = io.StringIO(), io.StringIO()
    with TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        patch.setenv("ONEARENA_DEBUG", "1")  # faults of ours raise
        folder = Path(name, "out")
        folder.mkdir()
        program, unchanged = Path(name, "in.pte"), Path(name, "good.pte")
        program.write_bytes(data)
        unchanged.write_bytes(good)
        words = (
            word.replace(PROGRAM, str(program))
            .replace(GOOD, str(unchanged))
            .replace(FOLDER, str(folder))
            for word in command
        )
        with redirect_stdout(out), redirect_stderr(err):
            code = main(list(words))
        left = [path.name for path in folder.iterdir()]
        assert program.read_bytes() == data, "the input was touched"
    assert code in (0, 1, 2), f"exit code {code}"
    assert not [n for n in left if n.endswith(".tmp") or n.startswith(".")], f"left behind: {left}"
    _check_refusal(code, err.getvalue(), left)
    if code != 2 and "--json" in command:
        json.loads(out.getvalue(), parse_constant=_no_constant)
    return code


def _check_refusal(code: int, errors: str, left: Sequence[str]) -> None:
    if code == 2:
        assert re.fullmatch(r"onearena: [^\n]+\n", errors), f"not one line: {errors!r}"
        assert errors.rstrip("\n").isprintable(), f"not printable: {errors!r}"
        assert len(errors) < 1000, f"{len(errors)} characters: {errors[:200]!r}"
        assert not left, f"refused, but wrote {left}"


def _no_constant(name: str) -> float:
    raise AssertionError(f"{name} is not JSON")
