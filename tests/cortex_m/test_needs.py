"""What calls are given and need: against what ExecuTorch's exporter gives, and by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from onearena.cortex_m.check import TargetMismatchError, check_target
from onearena.cortex_m.cores import Isa, isa_of
from onearena.cortex_m.needs import MemoryNeed, memory_needs, temp_needs, temp_region_bytes
from onearena.errors import AnalysisError
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.schema import ExecutionPlan
from tests.cortex_m.programs import TARGETS, committed, linear_call, older, pool_call
from tests.pte.build import CHAR, DYNAMIC_BOUND, Method, file_bytes, pte_file, read_bytes


def plan_of(file: PteFile) -> ExecutionPlan:
    return (file.program.execution_plan or ())[0]


def written(method: Method) -> PteFile:
    return read_bytes(file_bytes(pte_file(method)))


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["conv2d_x3", "operators"])
def test_every_need_is_what_the_exporter_gives(name: str, target: str) -> None:
    isa = isa_of(target)
    assert isa is not None
    with open_pte(committed(name, target)) as file:
        needs = memory_needs(plan_of(file), isa)
        assert needs
        for need in needs:
            assert need.needed_bytes == need.planned_bytes, need
        assert temp_needs(plan_of(file), isa) == ()
        assert check_target(file, target) == ()


def test_every_operator_is_among_them() -> None:
    with open_pte(committed("operators", "cortex-m55")) as file:
        found = {
            (n.operator.split("_", 2)[-1], n.argument) for n in memory_needs(plan_of(file), Isa.MVE)
        }
    assert found == {
        ("conv2d.out", "scratch"),
        ("depthwise_conv2d.out", "scratch"),
        ("transpose_conv2d.out", "scratch"),
        ("transpose_conv2d.out", "output_scratch"),
        ("avg_pool2d.out", "scratch"),
        ("linear.out", "kernel_sum"),
        ("batch_matmul.out", "scratch"),
    }


# -- programs for another core ----------------------------------------------------------------


def test_planned_for_m4_and_run_on_m55() -> None:
    path = committed("conv2d_x3", "cortex-m4")
    with open_pte(path) as file, pytest.raises(TargetMismatchError) as caught:
        check_target(file, "cortex-m55")
    assert str(caught.value) == (
        f"{path}: method 'forward': instruction 1: cortex_m::quantized_conv2d.out: scratch has "
        "112 B, cortex-m55 needs 128 B (16 B missing): export the program for this target"
    )


def test_planned_for_m55_and_run_on_m4() -> None:
    """Its scratch is large enough."""
    with open_pte(committed("conv2d_x3", "cortex-m55")) as file:
        assert check_target(file, "cortex-m4") == ()


def test_average_pools_need_scratch_on_dsp_only() -> None:
    file = written(pool_call(0)[0])
    assert check_target(file, "cortex-m0") == check_target(file, "cortex-m55") == ()
    with pytest.raises(TargetMismatchError, match=r"scratch has 0 B, cortex-m7 needs 256 B"):
        check_target(file, "cortex-m7")


def test_one_byte_too_little() -> None:
    with pytest.raises(TargetMismatchError, match=r"\(1 B missing\)"):
        check_target(written(pool_call(255)[0]), "cortex-m4")
    assert check_target(written(pool_call(256)[0]), "cortex-m4") == ()


def test_linear_layers_without_sums_fail_on_mve() -> None:
    file = written(linear_call(with_sums=False, with_bias=True))
    assert check_target(file, "cortex-m4") == ()
    with pytest.raises(TargetMismatchError, match=r"kernel_sum has 0 B, cortex-m85 needs 32 B"):
        check_target(file, "cortex-m85")


def test_a_bias_inside_the_sums_is_lost_without_mve() -> None:
    file = written(linear_call(with_sums=True, with_bias=False))
    assert check_target(file, "cortex-m55") == ()
    with pytest.raises(TargetMismatchError, match=r"kernel_sum, which the kernel for cortex-m33"):
        check_target(file, "cortex-m33")


def test_other_machines_run_other_kernels() -> None:
    assert check_target(written(pool_call(0)[0]), "host64") == ()


# -- what the file does not tell ----------------------------------------------------------------


def test_a_shape_that_is_known_when_it_runs() -> None:
    method, values = pool_call(0)
    tensor = method.tensor(1, 64, 2, 2, scalar_type=CHAR, offset=0, shape_dynamism=DYNAMIC_BOUND)
    method.values[values["input"]] = method.values[tensor]
    (need,) = check_target(written(method), "cortex-m4")
    assert need.needed_bytes is None
    assert need.note == "the shape of its input is known when it runs"


def test_a_form_that_is_not_known() -> None:
    method = Method()
    x, y = (method.tensor(16, scalar_type=CHAR, offset=16 * k) for k in range(2))
    method.input(x).output(y)
    method.call("cortex_m::quantized_conv2d.out", x, y, y)
    (need,) = check_target(written(method), "cortex-m4")
    expected = MemoryNeed(
        0,
        "cortex_m::quantized_conv2d.out",
        "scratch",
        None,
        0,
        None,
        "no form of it with 3 arguments is known here",
    )
    assert need == expected


@pytest.mark.parametrize("broken", ["operator", "value"])
def test_contradictions_are_named(broken: str) -> None:
    method, _ = pool_call(0)
    call = method.instructions[-1].instr_args
    if broken == "operator":
        method.operators.clear()
    else:
        method.call("cortex_m::quantized_avg_pool2d.out", *(call.args[:-1]), 999)  # type: ignore[union-attr,index]
    file = pte_file(method)
    with pytest.raises(AnalysisError, match=rf"method 'forward': an instruction names {broken}"):
        check_target(file, "cortex-m4")


# -- older programs -----------------------------------------------------------------------------


def temp_of(path: Path, isa: Isa) -> dict[int, int | None]:
    with open_pte(path) as file:
        return {need.instruction: need.size_bytes for need in temp_needs(plan_of(older(file)), isa)}


@pytest.mark.parametrize("target", TARGETS)
def test_temp_memory_of_older_programs(target: str) -> None:
    """As much as the scratch of a newer export; ExecuTorch 1.1 asks for more at pointwise ones."""
    isa = isa_of(target)
    assert isa is not None
    path = committed("operators", target)
    with open_pte(path) as file:
        given: dict[int, int] = {}
        for need in memory_needs(plan_of(file), isa):
            if need.argument != "kernel_sum" and "avg_pool" not in need.operator:
                before = given.get(need.instruction, 0)
                given[need.instruction] = before + -before % 16 + need.planned_bytes
    pointwise = 2
    given[pointwise] = {Isa.MVE: 128, Isa.DSP: 80, Isa.SCALAR: 80}[isa]
    assert temp_of(path, isa) == given


def test_the_region_is_as_large_as_the_largest() -> None:
    with open_pte(committed("conv2d_x3", "cortex-m55")) as file:
        assert temp_region_bytes(plan_of(older(file)), Isa.MVE) == 576
        assert temp_region_bytes(plan_of(file), Isa.MVE) == 0


def test_older_linear_layers_take_no_temp_memory() -> None:
    """Their sums are a constant of the program."""
    method = linear_call(with_sums=True, with_bias=False)
    assert temp_needs(method.plan(), Isa.MVE) == ()
    (need,) = memory_needs(method.plan(), Isa.MVE)
    assert (need.argument, need.planned_bytes, need.needed_bytes) == ("kernel_sum", 32, 32)


def test_older_pools_fail_on_dsp() -> None:
    """Their kernel gives CMSIS-NN nothing, which it refuses there."""
    file = written(pool_call(None)[0])
    assert check_target(file, "cortex-m55") == ()
    with pytest.raises(TargetMismatchError, match=r"scratch has 0 B, cortex-m4 needs 256 B"):
        check_target(file, "cortex-m4")
