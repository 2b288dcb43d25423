"""Whole programs at the offsets of their plans, before and after `onearena optimize`."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the host computes with torch")

from onearena.memory_map import parse_memory_map
from onearena.options import Options
from onearena.pte.container import PteFile
from tests.qemu.conftest import Exported, Machines
from tests.qemu.cores import CORES, M4, M55, Core
from tests.qemu.host import reference
from tests.qemu.programs import Program, wasteful
from tests.simulator.planting import shuffled
from tests.verify.planting import first_plan, optimized

CONV2D_X3, DS_CNN = Program("conv2d_x3"), Program("ds_cnn")
UNPLANNED = Program("conv2d_x3", is_int8=True, is_planned=False)
MOBILENET, RESNET8 = Program("mobilenet_v1_025", is_int8=True), Program("resnet8", is_int8=True)
SEEDS = (0, 1)
"""Of the inputs."""


def _arenas(file: PteFile) -> int:
    return sum(first_plan(file).non_const_buffer_sizes or ())


@pytest.mark.parametrize("core", CORES, ids=str)
@pytest.mark.parametrize("program", [CONV2D_X3, UNPLANNED, DS_CNN], ids=str)
def test_every_right_plan_computes_the_same(
    machines: Machines, exported: Exported, tmp_path: Path, program: Program, core: Core
) -> None:
    stock = exported(program, core)
    wide = wasteful(stock)
    plans = {
        "stock": stock,
        "optimized": optimized(stock, tmp_path).result,
        "wasteful": wide,
        "shrunk": optimized(wide, tmp_path).result,
        **{f"shuffled_{seed}": shuffled(stock, seed) for seed in range(3)},
    }
    assert _arenas(plans["shrunk"]) < _arenas(wide)
    for seed in SEEDS:
        known = reference(stock, seed)
        runs = machines(core).run([known.case(name, file) for name, file in plans.items()])
        for name in plans:
            assert known.expected.is_met_by(runs[name].plain), name
            assert known.expected.is_met_by(runs[name].strict), name
    first, second = (reference(stock, seed).expected.outputs for seed in SEEDS)
    assert first != second, "the input matters"


@pytest.mark.parametrize(("program", "core"), [(MOBILENET, M55), (RESNET8, M4)], ids=str)
def test_larger_networks(
    machines: Machines, exported: Exported, tmp_path: Path, program: Program, core: Core
) -> None:
    stock = exported(program, core)
    small = optimized(stock, tmp_path, Options()).result
    if program is MOBILENET:
        assert (_arenas(stock), _arenas(small)) == (73_728, 55_296)
    known = reference(stock)
    runs = machines(core).run([known.case("stock", stock), known.case("small", small)])
    for name in ("stock", "small"):
        assert known.expected.is_met_by(runs[name].plain), name
        assert known.expected.is_met_by(runs[name].strict), name


def test_two_memories(machines: Machines, exported: Exported, tmp_path: Path) -> None:
    stock = exported(DS_CNN, M55)
    memory_map = parse_memory_map("dtcm:16K:1,sram:512K:2")
    spread = optimized(stock, tmp_path, Options(target=M55.target, memory_map=memory_map)).result
    known = reference(stock)
    case = known.case("spread", spread)
    assert len(case.method.memory_bytes) == 2
    assert min(case.method.memory_bytes) > 0
    runs = machines(M55).run([case])
    assert known.expected.is_met_by(runs["spread"].plain)
    assert known.expected.is_met_by(runs["spread"].strict)
