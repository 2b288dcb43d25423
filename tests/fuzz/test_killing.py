"""A killed command leaves the file of before, or the new one; never a part of it."""

from __future__ import annotations

import ast
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.bundling.file import write_bundle
from onearena.bundling.schema import BundledSuite
from onearena.flatbuf.data import ByteSource
from onearena.pte.container import Segment
from onearena.pte.schema import NamedData
from tests.fuzz.killing import FILE
from tests.pte.build import file_bytes, read_bytes

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="forks")

_SEEDS = Path(__file__).parent / "seeds"
_KILLS = 12
_WEIGHTS_BYTES = 8 << 20
_COMMANDS = {
    "optimize": ("optimize", "PROGRAM", "-o", f"{FILE}.pte"),
    "copy": ("optimize", "PROGRAM", "-o", f"{FILE}.pte", "--closed"),
    "describe": ("describe", "PROGRAM", "-o", f"{FILE}.pte"),
    "report": ("report", "PROGRAM", "-o", f"{FILE}.html"),
    "header": ("sizes", "PROGRAM", "--header", f"{FILE}.h"),
    "markdown": ("check", "PROGRAM", "--budget", "arena=1KB", "--markdown", f"{FILE}.md"),
    "trace": ("report", "PROGRAM", "--trace", f"{FILE}.json"),
    "csv": ("report", "PROGRAM", "--csv", f"{FILE}.csv"),
    "problem": ("report", "PROGRAM", "--problem", f"{FILE}.json"),
    "plan": ("plan", "PROBLEM", "--time-limit", "0.1", "-o", f"{FILE}.csv"),
    "extract": ("bundle", "--extract", "BUNDLE", "-o", f"{FILE}.pte"),
}


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A small program with much data, so that copying it takes a while."""
    file = read_bytes((_SEEDS / "convnet.pte").read_bytes())
    large = Segment((bytes(_WEIGHTS_BYTES),))
    named = (*(file.program.named_data or ()), NamedData("weights", len(file.segments)))
    data = replace(file.program, named_data=named)
    folder = tmp_path_factory.mktemp("killed")
    path = folder / "program.pte"
    path.write_bytes(file_bytes(file.with_program(data, (*file.segments, large))))
    with ByteSource.open(path) as source:
        write_bundle(source, (BundledSuite("forward", ()),), folder / "program.bpte")
    buffers = (f"{k},{k},{k + 2 + k % 5},{64 + k % 7}\n" for k in range(2000))
    (folder / "problem.csv").write_text("id,lower,upper,size\n" + "".join(buffers))
    return path


def _killing(folder: Path, command: tuple[str, ...]) -> subprocess.CompletedProcess[str]:
    options = ["--kills", str(_KILLS), "--seed", "1", "--"]
    words = [sys.executable, "-m", "tests.fuzz.killing", str(folder), *options, *command]
    return subprocess.run(words, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("name", _COMMANDS)
def test_a_killed_command_leaves_no_part_of_a_file(
    name: str, program: Path, tmp_path: Path
) -> None:
    files = {
        "PROGRAM": program,
        "BUNDLE": program.with_suffix(".bpte"),
        "PROBLEM": program.with_name("problem.csv"),
    }
    command = tuple(str(files.get(word, word)) for word in _COMMANDS[name])
    done = _killing(tmp_path, command)
    assert done.returncode == 0, done.stderr
    found = ast.literal_eval(done.stdout)
    assert found.get("old", 0) + found.get("new", 0) == _KILLS
    assert found.get("old", 0) > 0  # the kills came early enough to matter


def test_a_file_written_in_place_is_noticed(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(
        "import time\n"
        "from onearena.pte import writer\n"
        "def in_place(data, target, check):\n"
        "    with open(target, 'wb') as out:\n"
        "        for chunk in data:\n"
        "            writer._copy_chunk(chunk, out.fileno())\n"
        "            time.sleep(0.02)\n"
        "    return 1\n"
        "writer._write_atomically = in_place\n"
    )
    paths = [str(site), *(path for path in sys.path if path)]
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(paths))
    done = _killing(tmp_path, ("describe", str(program), "-o", f"{FILE}.pte"))
    assert done.returncode == 1
    assert "neither the old nor the new file" in done.stderr
