"""Faults planted in the plans of real programs: every one is found, and nothing else is."""

from __future__ import annotations

from pathlib import Path

import pytest

from onearena.pipeline import Options, optimize
from onearena.pte.container import PteFile
from onearena.pte.schema import Tensor
from onearena.record import read_record
from onearena.simulator.results import SimulationReport
from onearena.simulator.simulate import simulate
from tests.pte.build import file_bytes, read_bytes
from tests.simulator import nets
from tests.simulator.conftest import Exported
from tests.simulator.planting import Fault, faults, shuffled
from tests.verify.oracle import places
from tests.verify.planting import first_plan, steps_in

MODELS = (
    ("attention", "memory", "residual", "conv2d_x3", "cortex_m_mixed")
    if nets.has_cortex_m()
    else ("attention", "memory", "residual", "quantized", "tables")
)
FAULTS_EACH = 40
INPUTS = 2
"""State that one run destroys shows in the next one."""


def _simulated(file: PteFile, folder: Path, original: Path | None = None) -> SimulationReport:
    path = folder / "changed.pte"
    path.write_bytes(file_bytes(file))
    return simulate(path, method="forward", inputs=INPUTS, original=original)


def _read(path: Path) -> PteFile:
    return read_bytes(path.read_bytes(), path.name)


@pytest.mark.parametrize("name", MODELS)
def test_every_planted_fault_is_found(exported: Exported, tmp_path: Path, name: str) -> None:
    path = exported(name)
    count = 0
    for fault in faults(_read(path), FAULTS_EACH, seed=7):
        report = _simulated(fault.file, tmp_path, path)
        assert not report.safe, f"values {fault.moved} over {fault.over}"
        (method,) = report.methods
        named = {v for c in method.clobbers for v in (c.victim, c.base, c.culprit)}
        assert named & (fault.moved | fault.over)
        count += 1
    assert count == FAULTS_EACH


@pytest.mark.parametrize("name", MODELS)
def test_without_the_original_only_look_alikes_are_missed(
    exported: Exported, tmp_path: Path, name: str
) -> None:
    """A file alone cannot tell the base of a view from what lies exactly on it."""
    for fault in faults(_read(exported(name)), FAULTS_EACH // 2, seed=8):
        if _simulated(fault.file, tmp_path).safe:
            assert _is_look_alike(fault), f"values {fault.moved} over {fault.over}"


def _is_look_alike(fault: Fault) -> bool:
    """Whether a moved value has exactly the place and the type of one that it was moved onto."""
    values = first_plan(fault.file).values or ()
    where = places(steps_in(fault.file))

    def kind(value: int) -> int:
        tensor = values[value].val
        assert isinstance(tensor, Tensor)
        return tensor.scalar_type

    return any(where[a] == where[b] and kind(a) == kind(b) for a in fault.moved for b in fault.over)


@pytest.mark.parametrize("name", [*nets.PORTABLE, *nets.CONTROL, *nets.CORTEX_M])
def test_stock_and_optimized_plans_are_right(exported: Exported, tmp_path: Path, name: str) -> None:
    small = tmp_path / "small.pte"
    optimize(exported(name), small, Options(time_limit_s=0.02))
    for path in (exported(name), small):
        report = simulate(path, inputs=3)
        assert report.safe, report.methods


@pytest.mark.parametrize("name", [*nets.PORTABLE, *nets.CORTEX_M])
def test_random_right_plans_raise_no_alarm(exported: Exported, tmp_path: Path, name: str) -> None:
    file = _read(exported(name))
    for seed in range(10):
        report = _simulated(shuffled(file, seed), tmp_path)
        assert report.safe, report.methods


@pytest.mark.parametrize("name", MODELS)
def test_the_record_tells_views_apart(exported: Exported, tmp_path: Path, name: str) -> None:
    """An optimized file needs no original."""
    wide, small = tmp_path / "wide.pte", tmp_path / "small.pte"
    wide.write_bytes(file_bytes(_wide(_read(exported(name)))))
    optimize(wide, small, Options(time_limit_s=0.02))
    file = _read(small)
    assert read_record(file) is not None
    for fault in faults(file, FAULTS_EACH // 2, seed=9):
        assert not _simulated(fault.file, tmp_path).safe, f"{fault.moved} over {fault.over}"


def _wide(file: PteFile) -> PteFile:
    """Another plan that is right and wastes memory."""
    plans = [shuffled(file, seed) for seed in range(5)]
    return max(plans, key=lambda plan: sum(first_plan(plan).non_const_buffer_sizes or ()))
