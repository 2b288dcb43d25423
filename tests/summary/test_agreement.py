"""What different commands say about one program is the same."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
import torch

from onearena import inspect, optimize, summarize
from onearena.advice.explain import explain
from onearena.advice.model import AdviceKind
from onearena.results import MethodReport
from tests.advice import nets
from tests.cases.lowering import Module, lower


class Gated(Module):
    """Sigmoid gates: one of two operands may be overwritten."""

    def __init__(self) -> None:
        super().__init__()
        self.first = torch.nn.Conv2d(3, 16, 3, padding=1)
        self.second = torch.nn.Conv2d(16, 16, 3, padding=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = torch.nn.functional.silu(self.first(x))
        return torch.nn.functional.softplus(torch.nn.functional.silu(self.second(x)))


NETS: Mapping[str, Callable[[], Module]] = {
    "gated": Gated,
    "upsampling": lambda: nets.Upsampling("nearest"),
}


@pytest.fixture(scope="module", params=NETS)
def files(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp(request.param)
    source, output = folder / "model.pte", folder / "small.pte"
    source.write_bytes(lower(NETS[request.param](), (torch.zeros(1, 3, 32, 32),)))
    optimize(source, output)
    return [source, output]


def only(path: Path) -> MethodReport:
    return inspect(path).methods[0]


def test_the_peak(files: list[Path]) -> None:
    for path in files:
        method, (summary,) = only(path), summarize(path).methods
        arena = summary.peak_arena()
        assert arena is not None
        assert arena.peak_step is not None
        assert method.peak is not None
        assert method.peak.live_bytes == arena.peak_bytes <= arena.size_bytes
        assert method.peak.step == summary.steps[arena.peak_step].where
        assert explain(path).methods[0].peaks[0].live_bytes == arena.peak_bytes


def test_optimize_says_what_is_found_when_its_output_is_read(files: list[Path]) -> None:
    source, output = files
    planned = optimize(source, output.with_name("again.pte")).methods[0]
    found, (summary,) = only(output), summarize(output).methods
    assert planned.after is not None
    assert planned.after.total_bytes == found.before.total_bytes == summary.total_bytes
    assert planned.lower_bound_bytes == found.lower_bound_bytes == summary.bound_bytes
    assert planned.peak is not None
    assert found.peak is not None
    assert planned.peak.live_bytes == found.peak.live_bytes
    assert planned.opened_calls == found.opened_calls > 0


def test_nothing_is_opened_as_exported(files: list[Path]) -> None:
    assert only(files[0]).opened_calls == 0


def test_no_saving_is_larger_than_what_there_is(files: list[Path]) -> None:
    for path in files:
        for advice in explain(path).methods[0].advice:
            assert 0 <= advice.after_bytes < advice.before_bytes


def test_opened_calls_pay_for_no_break(files: list[Path]) -> None:
    kinds = [{a.kind for a in explain(path).methods[0].advice} for path in files]
    assert AdviceKind.GRAPH_BREAK not in kinds[1]
