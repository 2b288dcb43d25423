"""What must not run is not run, and what goes wrong is seen."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="the host computes with torch")

from onearena.cortex_m.calls import cortex_calls
from onearena.cortex_m.check import TargetMismatchError, check_target
from onearena.errors import UnsupportedError
from onearena.pte.schema import EValue, Int, IntList
from tests.cortex_m.programs import committed
from tests.pte.build import CHAR, FLOAT, Method, file_bytes, pte_file, read_bytes
from tests.qemu import cores
from tests.qemu.__main__ import main
from tests.qemu.conftest import Exported, Machines
from tests.qemu.cores import M3, M4, M55, Core
from tests.qemu.decode import method_of
from tests.qemu.host import reference
from tests.qemu.machine import parse
from tests.qemu.programs import Program
from tests.qemu.tables import Case, Place
from tests.verify.planting import first_plan, with_offsets, with_plan, with_sizes

CONV2D_X3, DS_CNN = Program("conv2d_x3"), Program("ds_cnn")
AUTOENCODER = Program("deep_autoencoder", is_int8=True)


@pytest.mark.parametrize(
    ("program", "made_for", "core", "text"),
    [
        (CONV2D_X3, M4, M55, "(16 B missing)"),
        (DS_CNN, M4, M55, "(2,752 B missing)"),
        (DS_CNN, M3, M4, "(256 B missing)"),
        (DS_CNN, M55, M4, "(256 B missing)"),
        (AUTOENCODER, M55, M4, "its bias is inside its kernel_sum"),
        (AUTOENCODER, M4, M55, "kernel_sum has 0 B"),
    ],
    ids=str,
)
def test_a_program_for_another_core(
    machines: Machines, exported: Exported, program: Program, made_for: Core, core: Core, text: str
) -> None:
    """The device refuses what `optimize --target` refuses."""
    file = exported(program, made_for)
    with pytest.raises(TargetMismatchError) as error:
        check_target(file, core.target)
    assert text in str(error.value)
    refused = machines(core).run([reference(file).case("foreign", file)])["foreign"].plain.refused
    assert refused is not None
    reason, instruction, missing = refused
    assert f"instruction {instruction}: " in str(error.value)
    if reason == "scratch":
        assert f"({missing:,} B missing)" in str(error.value)
    else:
        assert (reason, missing) == ("core", 0)


def _copying() -> Case:
    """Eight numbers become int8 at another place of one memory."""
    method = Method()
    x, y = method.tensor(8, offset=0), method.tensor(8, scalar_type=CHAR, offset=32)
    limits = [method.integer(number) for number in (-128, 127, CHAR)]
    method.input(x).output(y)
    scale, zero = method.double(0.01), method.integer(0)
    method.call("cortex_m::quantize_per_tensor.out", x, scale, zero, *limits, y, y)
    file = read_bytes(file_bytes(pte_file(method)))
    return reference(file).case("case", file)


def _elsewhere(case: Case, value: int, place: Place) -> Case:
    places = {**case.method.places, value: place}
    return replace(case, method=replace(case.method, places=places))


@pytest.mark.parametrize("core", [M55, M4], ids=str)
def test_bytes_outside_are_seen(machines: Machines, core: Core) -> None:
    case = _copying()
    (output,) = case.method.outputs
    for offset, damaged in ((32, 0), (36, 4), (40, 8)):
        runs = machines(core).run([_elsewhere(case, output, Place(0, offset, 8))])
        assert runs["case"].plain.damaged == damaged, offset


def test_a_fault_of_the_processor_is_seen(machines: Machines) -> None:
    case = _copying()
    (output,) = case.method.outputs
    with pytest.raises(AssertionError, match="fault"):
        machines(M4).run([_elsewhere(case, output, Place(0, 0x60000000, 8))])


def test_what_the_firmware_cannot_run() -> None:
    for target in ("cortex-m4", "cortex-m55"):
        path = committed("operators", target)
        file = read_bytes(path.read_bytes(), path.name)
        with pytest.raises(UnsupportedError, match=r"instruction 4: .*the firmware has no kernel"):
            method_of(file)


def test_dilation() -> None:
    path = committed("conv2d_x3", "cortex-m4")
    file = read_bytes(path.read_bytes(), path.name)
    plan = first_plan(file)
    call = next(call for call in cortex_calls(plan) if "conv2d" in call.operator)
    values = [*(plan.values or ()), EValue(Int(2))]
    values[call.value("dilation")] = EValue(IntList((len(values) - 1,) * 2))
    with pytest.raises(UnsupportedError, match="knows no dilation"):
        method_of(with_plan(file, replace(plan, values=tuple(values))))


def test_other_operators() -> None:
    method = Method()
    x = method.tensor(4, scalar_type=FLOAT, offset=0)
    method.input(x).output(x)
    method.call("aten::relu.out", x, x, x)
    file = read_bytes(file_bytes(pte_file(method)))
    with pytest.raises(UnsupportedError, match="no cortex_m operators"):
        method_of(file)


def test_a_value_outside_its_arena() -> None:
    path = committed("conv2d_x3", "cortex-m4")
    file = read_bytes(path.read_bytes(), path.name)
    with pytest.raises(UnsupportedError, match="does not lie inside its arena"):
        method_of(with_sizes(file, (0, 2544)))


@pytest.mark.parametrize("text", ["", "method a plain\nreads", "fault\n"])
def test_a_run_that_ends_early_is_no_result(text: str) -> None:
    with pytest.raises(AssertionError):
        parse(text)


def test_missing_tools_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    assert cores.missing_tools() == (
        "needs arm-none-eabi-gcc and qemu-system-arm "
        "(Debian: apt-get install gcc-arm-none-eabi qemu-system-arm)"
    )


def test_the_command(
    machines: Machines, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = committed("conv2d_x3", "cortex-m4")
    assert main([str(right), "--target", "cortex-m4", "--inputs", "2"]) == 0
    assert capsys.readouterr().out.count("as on the host") == 4
    assert main([str(right), "--target", "cortex-m55"]) == 1
    assert "instruction 1 needs 16 bytes of scratch more" in capsys.readouterr().out
    assert main([str(committed("operators", "cortex-m4")), "--target", "cortex-m4"]) == 2
    assert "has no kernel for it" in capsys.readouterr().err
    wrong = tmp_path / "wrong.pte"
    file = read_bytes(right.read_bytes())
    plan = first_plan(file)
    (output,) = plan.outputs or ()
    operand = next(c for c in cortex_calls(plan) if c.args[-1] == output).value("input")
    wrong.write_bytes(file_bytes(with_offsets(file, {output: 0, operand: 0})))
    assert main([str(wrong), "--target", "cortex-m4"]) == 1
    assert "something else" in capsys.readouterr().out
