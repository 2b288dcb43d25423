"""What other parts make of scratch, and of files that the pinned flatbuffers writes."""

from __future__ import annotations

from pathlib import Path

import pytest

from onearena import Options, optimize, verify
from onearena.cortex_m.check import TargetMismatchError
from onearena.errors import UsageError
from onearena.pte.reader import open_pte
from onearena.summary.build import summarize
from onearena.summary.model import Kind
from tests.cortex_m.programs import PROGRAMS, committed, pool_call
from tests.pte.build import file_bytes, pte_file


def test_tables_of_different_sizes_that_share_a_vtable() -> None:
    """flatbuffers 25.2.10, which `executorch[ethos-u]` pins, writes conv2d_x3_m55 like this."""
    with open_pte(PROGRAMS / "shared_vtables.pte") as file:
        plans = file.program.execution_plan
    with open_pte(committed("conv2d_x3", "cortex-m55")) as file:
        assert file.program.execution_plan == plans


def test_scratch_over_an_operand_is_found(tmp_path: Path) -> None:
    path = tmp_path / "wrong.pte"
    path.write_bytes(file_bytes(pte_file(pool_call(256, offset=0)[0])))
    (violation,) = verify(path).violations
    assert "overlaps its operand 0" in violation.message
    path.write_bytes(file_bytes(pte_file(pool_call(256)[0])))
    assert not verify(path).violations


def test_scratch_has_a_kind_of_its_own() -> None:
    tensors = summarize(committed("conv2d_x3", "cortex-m55")).methods[0].tensors
    scratch = [tensor.size_bytes for tensor in tensors if tensor.kind is Kind.SCRATCH]
    assert sorted(size or 0 for size in scratch) == [128, 320, 576]


def test_optimize_refuses_a_program_for_another_core(tmp_path: Path) -> None:
    path, output = committed("conv2d_x3", "cortex-m4"), tmp_path / "out.pte"
    with pytest.raises(TargetMismatchError, match="16 B missing"):
        optimize(path, output, Options(target="cortex-m55"))
    with pytest.raises(UsageError, match="is not a target"):
        optimize(path, output, Options(target="cortex-m99"))
    assert not output.exists()
    optimize(path, output, Options(target="cortex-m4"))
    assert output.exists()
