"""`onearena simulate`: what it prints, exit codes, one line for bad input."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="simulates with torch")

from onearena.cli.main import main
from tests.pte.build import Method
from tests.simulator.programs import RELU, chain, written

GOLDEN = Path(__file__).parent / "golden"


def _run(capsys: pytest.CaptureFixture[str], *args: str) -> tuple[int, str, str]:
    code = main(("simulate", *args))
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def _check(name: str, text: str, folder: Path) -> None:
    """Compares with a committed file; ONEARENA_UPDATE_GOLDEN=1 rewrites it."""
    text = text.replace(str(folder), "DIR")
    path = GOLDEN / name
    if os.environ.get("ONEARENA_UPDATE_GOLDEN"):
        path.write_text(text, encoding="utf-8")
    assert text == path.read_text(encoding="utf-8")


def test_a_right_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, chain(0, 64, 0, 0, 0))
    code, out, err = _run(capsys, str(path), "--inputs", "3", "--seed", "1")
    assert (code, err) == (0, "")
    _check("right.txt", out, tmp_path)


def test_a_wrong_plan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, chain(0, 64, 96, 192, 256), Method("empty"))
    code, out, err = _run(capsys, str(path))
    assert (code, err) == (1, "")
    _check("wrong.txt", out, tmp_path)


def test_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, chain(0, 64, 96, 192, 256))
    code, out, _ = _run(capsys, str(path), "--json", "--method", "forward")
    assert code == 1
    assert json.loads(out)["safe"] is False
    _check("wrong.json", out, tmp_path)


def test_the_original_tells_a_view_apart(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def program(at: int) -> Method:
        method = Method()
        a, b, c = (method.tensor(16, offset=offset) for offset in (0, 64, at))
        view, d = method.tensor(4, 4, offset=64), method.tensor(4, 4, offset=192)
        method.input(a).output(d, c)
        method.call(RELU, a, b, b)
        method.call("aten::neg.out", a, c, c)
        method.call("aten::exp.out", view, d, d)
        return method

    original = written(tmp_path, program(128), name="original.pte")
    path = written(tmp_path, program(64))
    assert _run(capsys, str(path))[0] == 0
    assert _run(capsys, str(path), "--original", str(original))[0] == 1


def test_bad_input_gets_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(written(tmp_path, chain(0, 64, 128, 192, 256)))
    text = tmp_path / "text.pte"
    text.write_text("nothing of the kind")
    monkeypatch.chdir(tmp_path)
    for args in (
        ("nowhere.pte",),
        (str(text),),
        (path, "--inputs", "-1"),
        (path, "--seed", "-1"),
        (path, "--method", "nope"),
        (path, "--target", "host"),
        (path, "--original", "nowhere.pte"),
    ):
        code, out, err = _run(capsys, *args)
        assert (code, out, err.count("\n")) == (2, "", 1), args
        assert err.startswith("onearena: ")


def test_without_torch(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = written(tmp_path, chain(0, 64, 128, 192, 256))
    monkeypatch.setitem(sys.modules, "torch", None)
    code, _, err = _run(capsys, str(path))
    assert (code, err) == (
        2,
        "onearena: running programs needs PyTorch; install it with: pip install 'onearena[run]'\n",
    )
