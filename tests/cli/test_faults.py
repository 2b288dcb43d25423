"""Faults inside, and what was wrong before, are said in one line and not with exit code 1."""

from __future__ import annotations

from pathlib import Path

import pytest

import onearena.cli.inspect
from onearena.cli.main import main
from onearena.pte.writer import write_pte
from tests.pte.build import Method
from tests.timeline.build import program
from tests.verify.programs import RELU, Space


def test_a_fault_of_ours(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def broken(_: object) -> int:
        raise IndexError("list index\nout of range")

    monkeypatch.setattr(onearena.cli.inspect, "run", broken)
    assert main(["inspect", "x.pte"]) == 2
    error = capsys.readouterr().err
    assert error.startswith("onearena: internal error, please report it")
    assert "IndexError" in error
    assert error.count("\n") == 1
    monkeypatch.setenv("ONEARENA_DEBUG", "1")
    with pytest.raises(IndexError):
        main(["inspect", "x.pte"])


def test_a_program_that_was_never_safe(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method = Method()
    space = Space(method)
    a = space.tensor(8, 8)
    method.input(a)
    b = space.kernel(RELU, a, dims=(8, 8))
    over = space.view(b, 8, 8)
    method.call("aten::mm.out", b, b, over, over)
    method.output(over)
    source, target = tmp_path / "a.pte", tmp_path / "b.pte"
    write_pte(program(method), source)
    assert main(["optimize", str(source), "-o", str(target)]) == 0
    assert "NOT SAFE as it was exported, and not now (1 violation" in capsys.readouterr().out
    assert main(["verify", str(target)]) == 1


def test_an_arena_of_negative_size(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    method = Method()
    space = Space(method)
    a = space.tensor(8)
    method.input(a)
    method.output(space.kernel(RELU, a, dims=(8,)))
    method.arenas[1] = -1
    path = tmp_path / "a.pte"
    write_pte(program(method), path)
    for command in (["inspect"], ["verify"], ["check", "--budget", "arena=1KB"]):
        assert main([command[0], str(path), *command[1:]]) == 2
        assert "arena 1 of -1 bytes" in capsys.readouterr().err
