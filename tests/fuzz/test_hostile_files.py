"""Things that are no programs, or absurdly large ones: every command refuses them in one line."""

from __future__ import annotations

import os
import re
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from onearena.cli.main import main

_SEEDS = Path(__file__).parent / "seeds"
_HUGE_BYTES = 1 << 36
_MOST_BYTES = 32 << 20
_COMMANDS: dict[str, tuple[str, ...]] = {
    "inspect": (),
    "verify": (),
    "report": (),
    "explain": (),
    "sizes": (),
    "simulate": (),
    "check": ("--budget", "arena=1KB"),
    "optimize": ("-o", "out.pte"),
    "describe": ("-o", "out.pte"),
    "run": (),
    "compare": (str(_SEEDS / "weightless.pte"),),
    "bundle": ("-o", "out.pte"),
    "bundle --extract": ("-o", "out.pte"),
    "plan": ("-o", "out.csv"),
}
_FILE_NAMES = {"plan": "problem.csv"}
_OTHER_FORMATS = {"bundle --extract", "plan"}
"""Commands that read other files than programs: what is wrong with these is said otherwise."""


def _sparse(name: str) -> Callable[[Path], None]:
    """A seed with 64 GiB of zeros behind it that take no room on the disk."""

    def make(path: Path) -> None:
        path.write_bytes((_SEEDS / name).read_bytes() if name else b"")
        os.truncate(path, _HUGE_BYTES)

    return make


def _first_half(path: Path) -> None:
    data = (_SEEDS / "convnet.pte").read_bytes()
    path.write_bytes(data[: len(data) // 2])


_FILES: dict[str, tuple[Callable[[Path], object], str]] = {
    "zeros": (_sparse(""), "is not a .pte file"),
    "a long tail": (_sparse("convnet.pte"), "belong to no segment"),
    "cut off": (_first_half, ""),
    "empty": (Path.touch, "the file is empty"),
    "folder": (Path.mkdir, "is not a file"),
    "pipe": (os.mkfifo, "is not a file"),
    "dangling": (lambda path: path.symlink_to("nowhere"), "no such file"),
    "loop": (lambda path: path.symlink_to(path.name), ""),
    "missing": (lambda path: None, "no such file"),
}


_NO_PROGRAMS = {"zeros", "a long tail", "cut off", "empty"}


@pytest.mark.parametrize("command", _COMMANDS)
@pytest.mark.parametrize("name", _FILES)
def test_is_refused(
    name: str,
    command: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
) -> None:
    if command in ("simulate", "run", "compare", "bundle"):
        pytest.importorskip("torch")
    monkeypatch.chdir(tmp_path)
    make, words = _FILES[name]
    path = tmp_path / _FILE_NAMES.get(command, "model.pte")
    make(path)
    tracemalloc.start()
    code = main([*command.split(), str(path), *_COMMANDS[command]])
    _, peak_bytes = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    error = capfd.readouterr().err
    assert code == 2, error
    assert re.fullmatch(r"onearena: [^\n]+\n", error)
    assert f"{path.name}: " in error
    assert words in error or (command in _OTHER_FORMATS and name in _NO_PROGRAMS)
    assert peak_bytes < _MOST_BYTES
    assert not list(tmp_path.glob("out.*"))
