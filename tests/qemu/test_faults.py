"""Plans with a planted overlap: real kernels compute something else."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("torch", reason="the host computes with torch")

from onearena.lifetime import intersects
from onearena.pte.container import PteFile
from onearena.timeline.storage import analyse_storage
from tests.qemu.conftest import Exported, Machines
from tests.qemu.cores import CORES, Core
from tests.qemu.decode import method_of
from tests.qemu.host import reference
from tests.qemu.programs import Program
from tests.qemu.tables import Method
from tests.simulator.planting import Fault, blocks, faults, placed
from tests.verify.planting import steps_in

PROGRAMS = (
    Program("conv2d_x3"),
    Program("conv2d_x3", is_int8=True, is_planned=False),
    Program("ds_cnn"),
)
COUNT = 30
FORGIVING = frozenset({"kQuantize", "kDequantize", "kPad", "kAveragePool"})
"""Kernels that read an element, or a channel, for the last time before they write there."""

every_program = pytest.mark.parametrize("program", PROGRAMS, ids=str)
every_core = pytest.mark.parametrize("core", CORES, ids=str)


@every_core
@every_program
def test_random_overlaps_change_the_result(
    machines: Machines, exported: Exported, program: Program, core: Core
) -> None:
    """Wherever two values overlap that must not: by an oracle that knows nothing of lifetimes."""
    stock = exported(program, core)
    known = reference(stock)
    planted = list(faults(stock, COUNT, seed=11))
    cases = [known.case(f"fault_{k}", fault.file) for k, fault in enumerate(planted)]
    runs = machines(core).run(cases)
    for case, fault in zip(cases, planted, strict=True):
        strict = runs[case.name].strict
        assert strict.outputs != known.expected.outputs, f"{fault.moved} over {fault.over}"
        assert not strict.damaged


@every_core
@every_program
def test_values_moved_onto_others_change_the_result(
    machines: Machines, exported: Exported, program: Program, core: Core
) -> None:
    """Every value, scratch too, is moved to the start of every other that is alive at the same
    time. Nothing is scrambled: the kernels themselves do the damage."""
    stock = exported(program, core)
    known, method = reference(stock), method_of(stock)
    planted = list(_moved_onto(stock))
    cases = [known.case(f"fault_{k}", fault.file) for k, fault in enumerate(planted)]
    runs = machines(core).run(cases)
    scratch = _scratch_of_convolutions(method)
    seen: set[int] = set()
    for case, fault in zip(cases, planted, strict=True):
        text = f"{set(fault.moved)} over {set(fault.over)}"
        assert runs[case.name].strict.outputs != known.expected.outputs, text
        if not _meets_in_forgiving(method, fault):
            seen |= fault.moved | fault.over
            assert runs[case.name].plain.outputs != known.expected.outputs, text
    assert scratch <= seen


def _moved_onto(file: PteFile) -> Iterator[Fault]:
    before = steps_in(file)
    found = [b for b in blocks(before, analyse_storage(before, frozenset())) if b.lifetime]
    for moved in found:
        for over in found:
            alive = moved is not over and intersects(moved.lifetime, over.lifetime)
            if alive and moved.arena == over.arena:
                offsets = {value: over.start + at for value, at in moved.members.items()}
                sides = frozenset(moved.members), frozenset(over.members)
                yield Fault(placed(file, offsets), *sides)


def _scratch_of_convolutions(method: Method) -> set[int]:
    """What is not empty of it."""
    return {
        call.scratch
        for call in method.calls
        if call.kernel in ("kConvolution", "kDepthwise")
        and call.scratch is not None
        and method.places[call.scratch].size_bytes
    }


def test_which_programs_have_scratch(machines: Machines, exported: Exported) -> None:
    """What the tests above rest on: three convolutions, five depthwise ones with MVE."""
    counts = {
        (program.network, core.target): len(
            _scratch_of_convolutions(method_of(exported(program, core)))
        )
        for program in PROGRAMS
        for core in CORES
    }
    assert counts == {
        **{("conv2d_x3", core.target): 3 for core in CORES},
        ("ds_cnn", "cortex-m55"): 5,
        ("ds_cnn", "cortex-m4"): 0,
        ("ds_cnn", "cortex-m3"): 0,
    }


def _meets_in_forgiving(method: Method, fault: Fault) -> bool:
    """Whether both values are used in one call of a kernel that may happen to do no harm."""
    for call in method.calls:
        used = {*call.operands, call.output, call.scratch}
        if call.kernel in FORGIVING and used & fault.moved and used & fault.over:
            return True
    return False
