"""The pages of `make bench`, of results that are made up."""

from __future__ import annotations

import json
from dataclasses import asdict, replace
from pathlib import Path

import pytest
from benchmarks.ablation import ablation, passes
from benchmarks.environments import trial_from_json
from benchmarks.goals import check
from benchmarks.ratios import Median
from benchmarks.records import Optimization, Prediction, Row, Side, Trial
from benchmarks.tables import render

from onearena.options import Options, Pointers
from tests.cli.programs import overlapping, spread_out

VERSION = "1.5.1"
NOTHING = Prediction(0, 0, 0)
TRIAL = Trial(
    runs=6,
    sizes=1,
    difference=None,
    workspaces=(600, 0),
    heap_growth=(1000, 250),
    unmeasured=None,
    latency=Median(0.9, 0.8, 1.0),
    cpu=Median(0.9, 0.8, 1.0),
    pairs=8,
    seconds=(0.010, 0.009),
)


def row(name: str, trial: Trial = TRIAL) -> Row:
    before, after = Side(10_000, 400, {VERSION: NOTHING}), Side(11_000, 300, {VERSION: NOTHING})
    done = Optimization(before, after, 300, 0.0, 1, 1, (), 0.5)
    return Row(name, "made up", done, {VERSION: trial})


def page(*rows: Row) -> str:
    return render(rows, [VERSION], check(rows, [VERSION]), ["about"])


def test_heap_growth_has_a_table_with_a_mean() -> None:
    other = replace(TRIAL, heap_growth=(1000, 1000))
    lines = page(row("first"), row("second", other)).splitlines()
    start = lines.index("## Heap growth in the first run on ExecuTorch 1.5.1, in bytes")
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[start + 4 :][:5]]
    assert cells[0] == ["program", "before", "after", "ratio"]
    assert cells[2:] == [
        ["first", "1,000", "250", "0.250"],
        ["second", "1,000", "1,000", "1.000"],
        ["geometric mean", "", "", "0.500"],
    ]


@pytest.mark.parametrize(
    ("after", "line"),
    [
        (250, "met     1.5.1: heap growth in the first run: geometric mean at most 0.30: 0.2500"),
        (400, "NOT MET 1.5.1: heap growth in the first run: geometric mean at most 0.30: 0.4000"),
        (None, "NOT MET 1.5.1: heap growth in the first run: geometric mean at most 0.30: nan, "),
    ],
)
def test_heap_growth_is_a_goal(after: int | None, line: str) -> None:
    text = page(row("first", replace(TRIAL, heap_growth=(1000, after))))
    assert f"- {line}" in text
    if after is None:
        assert "not measured: first" in text


def test_nothing_left_on_the_heap_is_a_ratio_too() -> None:
    found = row("first", replace(TRIAL, heap_growth=(1000, 0))).heap_ratio(VERSION)
    assert found is not None
    assert 0 < found < 0.01


def test_trials_go_to_a_file_and_back() -> None:
    assert trial_from_json(json.loads(json.dumps(asdict(TRIAL)))) == TRIAL


def test_every_pass_has_one_row(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "bad.pte").write_bytes(b"no program")
    text = ablation([spread_out(tmp_path), overlapping(tmp_path), tmp_path / "bad.pte"])
    rows = [line.split("|") for line in text.splitlines() if line.startswith("|")]
    names = [cells[1].strip() for cells in rows[2:]]
    assert names == ["all", *passes()]
    on = {name for name, value in vars(Options()).items() if value is True}
    assert on | {"transient_indirection"} == set(passes())
    assert Options().transient_indirection is Pointers.AUTO
    # opening is what helps the first program, and nothing helps the second
    means = {cells[1].strip(): float(cells[2]) for cells in rows[2:]}
    assert means["open_delegates"] > means["all"] < 1
    assert rows[3][4].strip() == "1 of 2"
    assert "bad.pte" in capsys.readouterr().err
