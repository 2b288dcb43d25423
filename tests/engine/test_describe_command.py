"""`onearena describe`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onearena.cli.main import main
from onearena.engine.embedding import find_description
from tests.engine.edits import SEEDS

PROGRAM = SEEDS / "convnet.pte"


def test_the_file_with_its_description(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before, target = PROGRAM.read_bytes(), tmp_path / "described.pte"
    assert main(["describe", str(PROGRAM), "-o", str(target)]) == 0
    size = target.stat().st_size
    more = size - len(before)
    text = capsys.readouterr().out
    assert text == f"{target}: {size:,} bytes, {more:,} more than {PROGRAM}\n"
    assert find_description(target) is not None
    assert PROGRAM.read_bytes() == before
    assert main(["describe", str(PROGRAM), "-o", str(target), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found == {"output": str(target), "size_bytes": size, "added_bytes": more}


def test_bad_input_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    junk, target = tmp_path / "junk.pte", tmp_path / "out.pte"
    junk.write_bytes(b"x" * 100)
    for arguments in ([str(junk), "-o", str(target)], [str(PROGRAM), "-o", str(PROGRAM)]):
        assert main(["describe", *arguments]) == 2
        error = capsys.readouterr().err
        assert error.count("\n") == 1
        assert "Traceback" not in error
    assert not target.exists()
