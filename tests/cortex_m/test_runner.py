"""The log of Arm's runner, and the command line around it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from onearena import program_sizes
from onearena.cortex_m.check import TargetMismatchError
from onearena.pte.reader import open_pte
from onearena.sizes.layout import Layout
from onearena.sizes.pools import program_pools
from onearena.sizes.runner import OldCursor, RunnerLog, runner_logs
from onearena.sizes.targets import find_target
from tests.cli.test_cli import run
from tests.cortex_m.programs import committed, older_bytes, pool_call
from tests.pte.build import Method, file_bytes, pte_file

M55 = "cortex-m55"


def log_of(path: Path, target: str = M55) -> RunnerLog:
    machine = find_target(target)
    with open_pte(path) as file:
        return runner_logs(file, program_pools(file, machine).methods, machine)[0]


@pytest.fixture
def before(tmp_path: Path) -> Path:
    """conv2d_x3 as it was exported when pytorch/executorch#16580 was written."""
    path = tmp_path / "before.pte"
    path.write_bytes(older_bytes(committed("conv2d_x3", M55)))
    return path


def test_the_log_in_the_pull_request(before: Path) -> None:
    """Every number that the runner printed there without the patch, but for the file's size."""
    log = log_of(before)
    assert (log.used, log.planned, log.loaded, log.input, log.executor) == (5433, 2560, 2857, 16, 0)
    assert log.is_old
    assert log.is_exact


def test_the_temp_pool_of_two_megabytes_needs_576_bytes(before: Path) -> None:
    log = log_of(before)
    assert log.temp.size_bytes == 576
    assert log.temp.notes == (
        "cortex_m::quantized_conv2d.out: instruction 3: for the MVE kernels of ExecuTorch 1.1 to "
        "1.3",
    )


def test_with_scratch_in_the_plan() -> None:
    log = log_of(committed("conv2d_x3", M55))
    assert (log.planned, log.scratch, log.input, log.executor) == (2560, 576, 16, 0)
    assert log.used == log.planned + log.loaded + log.input
    assert not log.is_old


def test_on_a_host_older_temp_memory_is_unknown(before: Path) -> None:
    temp = program_sizes(before).methods[0].temp
    assert temp.size_bytes is None
    assert "depends on the core: give a Cortex-M as target" in temp.notes[0]


def test_how_older_runners_count() -> None:
    cursor = OldCursor()
    cursor.take(Layout(1, 1))  # 1
    cursor.take(Layout(16, 8), 2)  # a multiple of 8: no alignment
    assert cursor.used_bytes == 33
    cursor.take(Layout(12, 8))  # moved to 40
    assert cursor.used_bytes == 52
    cursor.take(Layout(4, 4))
    cursor.take(Layout(4, 8))  # moved from 56 to 64 although 56 would do
    assert cursor.used_bytes == 68


def test_fast_memory_has_a_pool_of_its_own(tmp_path: Path) -> None:
    method = Method()
    a, b = method.tensor(100, offset=0), method.tensor(100, offset=0, memory_id=3)
    method.input(a).output(b)
    method.call("aten::relu.out", a, b, b)
    path = tmp_path / "fast.pte"
    path.write_bytes(file_bytes(pte_file(method)))
    log = log_of(path)
    assert (log.planned, log.fast) == (400, 400)


# -- command line -------------------------------------------------------------------------------


def test_before_and_after(before: Path, capsys: pytest.CaptureFixture[str]) -> None:
    after = committed("conv2d_x3", M55)
    arguments = ("--target", M55, "--runner", "--against", str(before))
    code, out, err = run(capsys, "sizes", str(after), *arguments)
    assert (code, err) == (0, "")
    assert out == (
        "method forward, as Arm's runner logs it\n"
        "  bytes                             before  after\n"
        f"  model_pte_program_size             {before.stat().st_size:,}  7,808\n"
        "  method_allocator_used              5,433  5,632\n"
        "  method_allocator_planned           2,560  2,560\n"
        "    scratch in it, at most at once       0    576\n"
        "  method_allocator_loaded            2,857  3,056\n"
        "  method_allocator_input                16     16\n"
        "  method_allocator_executor              0      0\n"
        "  temp_allocator, needed               576    420\n"
        "  note: a program of ExecuTorch 1.1 to 1.3: the sizes are counted as that runner counts "
        "them\n"
        "  note: cortex_m::quantized_conv2d.out: instruction 3: for the MVE kernels of ExecuTorch "
        "1.1 to 1.3\n"
    )


def test_methods_that_return_a_number_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    method, scale, zero = pool_call(256)[0], Method("input0_scale"), Method("input0_zp")
    scale.output(scale.double(0.5))
    zero.output(zero.integer(3))
    path = tmp_path / "numbers.pte"
    path.write_bytes(file_bytes(pte_file(method, scale, zero)))
    code, out, _ = run(capsys, "sizes", str(path), "--target", "cortex-m4", "--runner")
    assert code == 0
    assert out.startswith("method forward, as Arm's runner logs it\n")
    assert out.endswith(
        "\n\nand 2 methods that run no kernel, with 32 B of method allocator at most\n"
    )
    assert "input0" not in out


def test_json(before: Path, capsys: pytest.CaptureFixture[str]) -> None:
    after = committed("conv2d_x3", M55)
    arguments = ("--target", M55, "--runner", "--against", str(before), "--json")
    code, out, _ = run(capsys, "sizes", str(after), *arguments)
    report = json.loads(out)
    assert code == 0
    assert report["runner"][0]["method_allocator_planned"] == 2560
    assert report["runner_before"][0]["method_allocator_loaded"] == 2857
    assert report["runner_before"][0]["counted_as"] == "1.1 to 1.3"


def test_against_without_runner(capsys: pytest.CaptureFixture[str]) -> None:
    path = str(committed("conv2d_x3", M55))
    code, out, err = run(capsys, "sizes", path, "--against", path)
    assert (code, out, err) == (2, "", "onearena: --against goes with --runner\n")


def test_a_program_for_another_core(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, output = committed("conv2d_x3", "cortex-m4"), tmp_path / "out.pte"
    for arguments in (("sizes",), ("optimize", "-o", str(output))):
        code, out, err = run(capsys, arguments[0], str(path), *arguments[1:], "--target", M55)
        assert (code, out) == (2, "")
        assert "instruction 1: cortex_m::quantized_conv2d.out" in err
        assert "(16 B missing)" in err
        assert err.count("\n") == 1
    assert not output.exists()
    with pytest.raises(TargetMismatchError):
        program_sizes(path, M55)


def test_optimize_for_a_core(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    output = tmp_path / "out.pte"
    path = str(committed("operators", "cortex-m4"))
    code, _, err = run(capsys, "optimize", path, "-o", str(output), "--target", "cortex-m4")
    assert (code, err) == (0, "")
    assert output.exists()


def test_a_target_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = str(committed("operators", "cortex-m4"))
    output = str(tmp_path / "out.pte")
    code, out, err = run(capsys, "optimize", path, "-o", output, "--target", "cortex-m99")
    assert (code, out) == (2, "")
    assert err.startswith("onearena: 'cortex-m99' is not a target; there are host64, cortex-m0")


def test_m0_plus_by_both_names() -> None:
    assert find_target("cortex-m0+") is find_target("cortex-m0plus")


def test_what_is_not_known_is_a_note(tmp_path: Path) -> None:
    method, _ = pool_call(0)
    method.call("cortex_m::quantized_conv2d.out", 0, 1, 1)
    path = tmp_path / "unknown.pte"
    path.write_bytes(file_bytes(pte_file(method)))
    assert program_sizes(path, M55).notes[-1] == (
        "whether the scratch of cortex_m::quantized_conv2d.out (instruction 1) is large enough is "
        "not known: no form of it with 3 arguments is known here"
    )
