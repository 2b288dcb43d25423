"""What `onearena plan` refuses: bad files, bad targets, bad options; one line and exit code 2."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.cli.main import main
from onearena.cli.plan import parse_size
from onearena.problem import Member
from onearena.problem_files import read_problem, write_problem
from tests.cli.test_cli import run
from tests.cli.test_plan import CSV, fake_planner, make_problem


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (None, "no such file"),
        ("", "has no header line"),
        ("id,lower,upper\n", "line 1: the column size is missing"),
        (CSV + "d,0,1,x\n", "line 5, column 'size': 'x' is not an integer"),
        (CSV + "a,0,1,1\n", "line 5, column 'id': 'a' is in line 2 already"),
    ],
)
def test_bad_input_is_one_line_and_code_2(
    content: str | None, words: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    source, target = tmp_path / "problem.csv", tmp_path / "plan.csv"
    if content is not None:
        source.write_text(content)
    code, out, err = run(capsys, "plan", str(source), "-o", str(target))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"problem.csv: {words}" in err
    assert not target.exists()


def test_what_the_planner_calls_malformed_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    high = (1 << 63) - 1
    source = make_problem(tmp_path, f"id,lower,upper,size\na,0,9,{high}\nb,0,9,{high}\n")
    code, out, err = run(capsys, "plan", str(source))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert "problem.csv: " in err


def test_bad_targets_are_refused_before_planning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    fake_planner(monkeypatch, AssertionError("was called"))
    source = make_problem(tmp_path)
    grouped = tmp_path / "grouped.json"
    problem = replace(read_problem(source).problem, groups=((Member(0, 0), Member(1, 0)),))
    write_problem(grouped, problem)
    link = tmp_path / "link.csv"
    link.symlink_to(source)
    same = str(tmp_path / "x.csv")
    for arguments, words in (
        ([str(source), "-o", str(source)], "overwrite"),
        ([str(source), "-o", str(link)], "overwrite"),
        ([str(source), "--png", str(source)], "overwrite"),
        ([str(source), "-o", same, "--png", same], "is named twice"),
        ([str(source), "-o", str(tmp_path)], "is a directory"),
        ([str(source), "-o", str(tmp_path / "no" / "x.csv")], "no directory"),
        ([str(source), "-o", "-"], "not the path of a file"),
        ([str(source), "-o", str(tmp_path / "x.txt")], ".csv or .json"),
        ([str(source), "--png", str(tmp_path / "x.jpg")], "must end with .png"),
        ([str(grouped), "-o", same], "only as JSON"),
        ([str(tmp_path / "problem.txt")], ".csv or .json"),
    ):
        code, out, err = run(capsys, "plan", *arguments)
        assert (code, out, err.count("\n")) == (2, "", 1)
        assert words in err
    assert source.read_text() == CSV


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["x.csv", "y.csv"],
        ["x.csv", "--time-limit", "-1"],
        ["x.csv", "--time-limit", "nan"],
        ["x.csv", "--threads", "0"],
        ["x.csv", "--threads", "two"],
        ["x.csv", "--seed", "-1"],
        ["x.csv", "--seed", str(1 << 64)],
        ["x.csv", "--capacity", "lots"],
        ["x.csv", "--capacity", "a=1"],
        ["x.csv", "--capacity", "1="],
    ],
)
def test_bad_usage_is_code_2(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["plan", *arguments])
    assert stopped.value.code == 2
    error = capsys.readouterr().err
    assert error.startswith("onearena")
    assert error.count("\n") == 1


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("65536", 65536),
        ("512K", 524288),
        ("512k", 524288),
        ("512KiB", 524288),
        ("512kB", 512000),
        ("1MiB", 1 << 20),
        ("1 MiB", 1 << 20),
        ("1.5M", 3 << 19),
        ("2GB", 2_000_000_000),
        ("3TiB", 3 << 40),
        ("7B", 7),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_size(text) == size


@pytest.mark.parametrize(
    "text", ["", "K", "-1", "1.5", "0.3K", "1e6", "1iB", "1KiBs", "1X", "9E", "٣", "8388608TiB"]
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        parse_size(text)
