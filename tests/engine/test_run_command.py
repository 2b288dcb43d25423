"""`onearena run`, as the command line calls it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from onearena.cli.run import add_parser, run
from onearena.engine.errors import ArenaLimitError
from onearena.errors import FormatError, UsageError
from tests.engine.edits import SEEDS

CONVNET = SEEDS / "convnet.pte"
POOLS = (
    *("program", "method allocator", "loaded", "executor", "planned", "input", "arena"),
    *("arena resident", "private", "state", "delegates", "temp", "temp elsewhere"),
    *("persistent", "workspace"),
)


def call(capsys: pytest.CaptureFixture[str], *arguments: Any) -> str:
    """What the command prints; it must succeed."""
    parser = argparse.ArgumentParser()
    add_parser(parser.add_subparsers(required=True))
    assert run(parser.parse_args(["run", *map(str, arguments)])) == 0
    return capsys.readouterr().out


def test_random_inputs(capsys: pytest.CaptureFixture[str]) -> None:
    lines = call(capsys, CONVNET).splitlines()
    assert lines[0].split() == ["method", "forward"]
    assert lines[1].startswith("output 0")
    assert "float32 [" in lines[1]
    assert lines[-1].startswith("run in")
    assert "median" not in lines[-1]


def test_a_real_input_and_memory(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    sizes = json.loads(call(capsys, CONVNET, "--json"))["outputs"][0]["sizes"]
    assert sizes
    image = tmp_path / "x.npy"
    np.save(image, np.ones(input_sizes(), np.float32))
    text = call(capsys, CONVNET, "--input", image, "--repeat", 3, "--memory")
    assert "(median of 3)" in text
    pools, plans = text.split("bytes\n", 1)[1].split("\n\n")
    assert tuple(line[2:].split("  ")[0].strip() for line in pools.splitlines()) == POOLS
    assert plans.split()[:6] == ["planning", "shapes", "plans", "1", "made,", "1"]
    text = call(capsys, CONVNET, "--input", image, "--memory", "--planning", "static")
    assert text.split("\n\n")[-1].split() == ["planning", "static"]


def input_sizes() -> tuple[int, ...]:
    """Of the only input of CONVNET."""
    from onearena.engine.runtime import Runtime

    sizes: tuple[int, ...] = Runtime().load(CONVNET).method("forward")._inputs[0][1]
    return sizes


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = json.loads(call(capsys, SEEDS / "stateful.pte", "--json", "--repeat", 2))
    assert found["method"] == "forward"
    assert found["runs"] == 2
    assert found["memory"]["runs"] == 2
    assert found["memory"]["state_bytes"] > 0
    assert found["memory"]["program_bytes"] == (SEEDS / "stateful.pte").stat().st_size
    again = json.loads(call(capsys, SEEDS / "stateful.pte", "--json", "--repeat", 2))
    assert again["outputs"] == found["outputs"]


@pytest.mark.parametrize(
    ("arguments", "kind", "pattern"),
    [
        (["--repeat", "0"], UsageError, "must be positive"),
        (["--method", "backward"], UsageError, "no method 'backward'"),
        (["--input", "absent.npy"], FormatError, "no such file"),
        (["--limit", "100"], ArenaLimitError, "its limit is 100"),
        (["--limit", "-1"], UsageError, "limit_bytes"),
        (["--data", "absent.ptd"], FormatError, r"absent\.ptd"),
    ],
)
def test_refusals(
    capsys: pytest.CaptureFixture[str], arguments: list[str], kind: type[Exception], pattern: str
) -> None:
    with pytest.raises(kind, match=pattern):
        call(capsys, CONVNET, *arguments)


@pytest.mark.parametrize("planning", ["shapes", "simple"])
def test_planning(capsys: pytest.CaptureFixture[str], planning: str) -> None:
    text = call(capsys, SEEDS / "dynamic.pte", "--memory", "--planning", planning)
    plans = dict(line.split("  ", 1) for line in text.split("\n\n")[-1].splitlines())
    assert plans["planning"].strip() == planning
    assert plans["plans"].strip() == "1 made, 1 kept"
    assert plans["runs without a plan"].strip() == "0 of 1"
