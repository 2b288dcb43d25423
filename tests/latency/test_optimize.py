"""`optimize` with a measurer, made up and real, on a program that runs in strips."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from onearena.cli.main import main
from onearena.delegates.xnnpack.indirection import TRANSIENT_INDIRECTION
from onearena.errors import ExecutionError, RuntimeUnavailableError, UsageError
from onearena.latency import Basis, Pace
from onearena.memory_map import parse_memory_map
from onearena.options import Options, Pointers
from onearena.payloads import read_payloads
from onearena.pipeline import optimize, verify
from onearena.pte.reader import open_pte
from onearena.record import read_record
from onearena.runtime.pace import StockMeasurer
from tests.cases.lowering import Module, lower
from tests.runtime.hostile import rewritten, short_arena

IMAGE = (1, 3, 96, 80)
MEASURED = Options(measure_latency=True)


class Wide(Module):
    """Two wide places, so that strips come in rounds; convolutions, so that there are pointers."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.convs = nn.ModuleList(
            nn.Conv2d(a, b, 3, stride, 1, groups=groups)
            for a, b, stride, groups in (
                *((3, 24, 1, 1), (24, 24, 2, 24), (24, 4, 1, 1)),
                *((4, 96, 1, 1), (96, 96, 2, 96), (96, 2, 1, 1)),
            )
        )

    def forward(self, image: Any) -> Any:
        for conv in self.convs:
            image = torch.relu(conv(image))
        return image


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("latency") / "wide.pte"
    path.write_bytes(lower(Wide(), (torch.zeros(*IMAGE),)))
    return path


class Machine:
    """A measurer that looks into the files that it is given."""

    def __init__(self, is_slow: Callable[[Path], bool], fault: str | None = None) -> None:
        self.asked: list[tuple[int, int]] = []
        self._is_slow, self._fault = is_slow, fault

    def __call__(
        self, original: Path, candidate: Path, methods: Sequence[str], limit: float
    ) -> Mapping[str, Pace]:
        assert original != candidate
        assert verify(candidate).safe
        self.asked.append((pieces(candidate), flagged(candidate)))
        ratio = limit * 1.1 if self._is_slow(candidate) else limit * 0.9
        fault = self._fault if self._is_slow(candidate) else None
        return {name: Pace(ratio, ratio, ratio, 8, 5, "a machine", fault) for name in methods}


def pieces(path: Path) -> int:
    """So many values of a program are parts of others: a measure of strips."""
    with open_pte(path) as file:
        record = read_record(file)
        return sum(len(m.pieces) for m in record.methods.values()) if record else 0


def flagged(path: Path) -> int:
    """So many nodes make their pointers in each run."""
    with open_pte(path) as file:
        return sum(
            bool(getattr(node.xnode.xnode_union, "flags", 0) & TRANSIENT_INDIRECTION)
            for plan in file.program.execution_plan or ()
            for payload in read_payloads(file, plan).values()
            if payload.graph is not None
            for node in payload.graph.nodes
        )


def test_by_default_latency_is_a_model(stock: Path, tmp_path: Path) -> None:
    (method,) = optimize(stock, tmp_path / "small.pte").methods
    assert method.latency is not None
    assert method.latency.basis is Basis.MODEL
    assert 1 <= method.latency.ratio <= method.latency.limit == 1.02
    assert any("x86-64" in note and "compare" in note for note in method.notes)


def test_what_is_quick_enough_stays(stock: Path, tmp_path: Path) -> None:
    small, machine = tmp_path / "small.pte", Machine(lambda _: False)
    (method,) = optimize(stock, small, MEASURED, measurer=machine).methods
    assert len(machine.asked) == 1
    assert machine.asked[0] == (pieces(small), flagged(small))
    assert pieces(small) > 0
    assert method.latency is not None
    assert method.latency.to_json() == {
        "ratio": pytest.approx(0.918),
        "basis": "measured",
        "limit": 1.02,
        "low": pytest.approx(0.918),
        "high": pytest.approx(0.918),
        "pairs": 8,
    }
    assert list(tmp_path.iterdir()) == [small]


def test_pointers_are_undone_first(stock: Path, tmp_path: Path) -> None:
    small, machine = tmp_path / "small.pte", Machine(lambda path: flagged(path) > 0)
    (method,) = optimize(stock, small, MEASURED, measurer=machine).methods
    assert len(machine.asked) == 2
    assert flagged(small) == 0
    assert pieces(small) == machine.asked[0][0] > 0
    assert any(note.startswith("undone: pointers in scratch;") for note in method.notes)


def test_strips_are_undone_round_by_round(stock: Path, tmp_path: Path) -> None:
    """The file with the fewest parts is all that this machine runs quickly enough."""
    first = Machine(lambda path: pieces(path) > 0)
    optimize(stock, tmp_path / "whole.pte", MEASURED, measurer=first)
    most = max(count for count, _ in first.asked)
    fewest = min(count for count, _ in first.asked if count)
    assert fewest < most  # there are rounds to undo
    assert (pieces(tmp_path / "whole.pte"), flagged(tmp_path / "whole.pte")) == (0, 0)
    small, machine = tmp_path / "small.pte", Machine(lambda path: pieces(path) > fewest)
    (method,) = optimize(stock, small, MEASURED, measurer=machine).methods
    assert pieces(small) == fewest
    (note,) = (note for note in method.notes if note.startswith("undone: "))
    assert "rounds of strips" in note
    assert "1.122 of the time before" in note
    assert verify(small).safe


def test_what_is_always_slow_keeps_its_plan(stock: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.pte"
    report = optimize(stock, small, MEASURED, measurer=Machine(lambda _: True))
    assert small.read_bytes() == stock.read_bytes()
    assert not report.changed
    assert "no plan is left that is smaller; copied as it is" in report.notes
    (method,) = report.methods
    assert method.latency is None
    assert method.after == method.before
    (note,) = (note for note in method.notes if note.startswith("undone: "))
    assert "opened calls" in note


def test_strips_with_other_outputs_are_refused(stock: Path, tmp_path: Path) -> None:
    machine = Machine(lambda path: pieces(path) > 0, fault="outputs differ on a machine: out 0")
    small = tmp_path / "small.pte"
    (method,) = optimize(stock, small, MEASURED, measurer=machine).methods
    assert pieces(small) == 0
    assert any("strips" in n and "outputs differ on a machine: out 0" in n for n in method.notes)


def test_an_original_that_cannot_run_leaves_nothing_behind(stock: Path, tmp_path: Path) -> None:
    def fails(original: Path, candidate: Path, methods: Sequence[str], limit: float) -> Any:
        raise ExecutionError("the original does not run")

    with pytest.raises(ExecutionError, match="the original"):
        optimize(stock, tmp_path / "small.pte", MEASURED, measurer=fails)
    assert list(tmp_path.iterdir()) == []


def test_a_measurer_is_not_asked_unless_it_shall_be(stock: Path, tmp_path: Path) -> None:
    machine = Machine(lambda _: True)
    optimize(stock, tmp_path / "small.pte", Options(), measurer=machine)
    assert machine.asked == []


@pytest.mark.parametrize(
    "options",
    [
        Options(measure_latency=True, target="cortex-m55"),
        Options(measure_latency=True, memory_map=parse_memory_map("fast:1M:1")),
        Options(transient_indirection="sometimes"),  # type: ignore[arg-type]
        Options(transient_indirection=True),  # type: ignore[arg-type]
    ],
)
def test_options_that_make_no_sense(stock: Path, tmp_path: Path, options: Options) -> None:
    with pytest.raises(UsageError):
        optimize(stock, tmp_path / "small.pte", options)
    assert list(tmp_path.iterdir()) == []


def test_pointers_all_some_or_none(stock: Path, tmp_path: Path) -> None:
    counts, totals = {}, {}
    for choice in Pointers:
        path = tmp_path / f"{choice}.pte"
        options = Options(transient_indirection=choice, max_latency=1.5)
        (method,) = optimize(stock, path, options).methods
        counts[choice] = flagged(path)
        assert method.after is not None
        totals[choice] = method.after
    assert counts[Pointers.OFF] == 0 < counts[Pointers.AUTO] <= counts[Pointers.ON]
    auto, off = totals[Pointers.AUTO], totals[Pointers.OFF]
    assert auto.arena_bytes == off.arena_bytes
    assert 0 < auto.workspace_bytes - off.workspace_bytes <= off.total_bytes / 32


# -- on the real runtime ------------------------------------------------------------------


def test_measured_on_the_real_runtime(
    stock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """How quick it is depends on the machine: only what is said is looked at."""
    small = tmp_path / "small.pte"
    command = ["optimize", str(stock), "-o", str(small), "--max-latency", "5", "--json"]
    assert main(command) == 0
    (method,) = json.loads(capsys.readouterr().out)["methods"]
    latency = method["latency"]
    assert latency["basis"] == "measured"
    assert latency["limit"] == 5
    assert 0 < latency["low"] <= latency["ratio"] <= latency["high"]
    assert latency["pairs"] >= 8
    assert any("equal bit for bit in 5 runs" in note for note in method["notes"])
    assert pieces(small) > 0
    assert list(tmp_path.iterdir()) == [small]


def test_the_real_measurer_tells_other_outputs(stock: Path, tmp_path: Path) -> None:
    bias = Wide().convs[-1].bias
    assert isinstance(bias, nn.Parameter)
    before = bias.detach().numpy().tobytes()
    after = (bias.detach() + 1).numpy().tobytes()
    data = stock.read_bytes()
    assert data.count(before) == 1
    other = tmp_path / "other.pte"
    other.write_bytes(data.replace(before, after))
    found = StockMeasurer()(stock, other, ("forward",), 5.0)["forward"]
    assert found.fault is not None
    assert "differ" in found.fault


def test_the_real_measurer_refuses_what_does_not_run(stock: Path, tmp_path: Path) -> None:
    """And says so when it is the original."""
    bad = rewritten(stock, tmp_path / "bad.pte", short_arena)
    found = StockMeasurer()(stock, bad, ("forward",), 5.0)["forward"]
    assert "does not run" in str(found.fault)
    with pytest.raises(ExecutionError):
        StockMeasurer()(bad, stock, ("forward",), 5.0)


# -- the command line ---------------------------------------------------------------------


@pytest.fixture
def no_runtime(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing() -> None:
        raise RuntimeUnavailableError("running programs needs ExecuTorch")

    monkeypatch.setattr("onearena.runtime.pace.check_installed", missing)


@pytest.mark.usefixtures("no_runtime")
def test_a_limit_falls_back_on_the_model_and_says_so(
    stock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["optimize", str(stock), "-o", str(tmp_path / "o.pte"), "--max-latency", "1.01"]
    assert main(command) == 0
    out = capsys.readouterr().out
    assert "by a model of the work" in out
    assert "could not be measured: running programs needs ExecuTorch" in out


@pytest.mark.usefixtures("no_runtime")
def test_measuring_that_was_asked_for_is_needed(
    stock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["optimize", str(stock), "-o", str(tmp_path / "o.pte"), "--measure-latency"]
    assert main(command) == 2
    assert "running programs needs ExecuTorch" in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.usefixtures("no_runtime")
def test_nothing_is_measured_when_that_is_refused(
    stock: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["optimize", str(stock), "-o", str(tmp_path / "o.pte"), "--max-latency", "1.01"]
    assert main([*command, "--no-measure-latency"]) == 0
    assert "could not be measured" not in capsys.readouterr().out
