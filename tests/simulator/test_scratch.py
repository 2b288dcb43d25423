"""Scratch: poisoned before and after, and as large as the kernel needs it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="simulates with torch")

from onearena.pte.schema import Instruction, KernelCall  # noqa: E402
from onearena.simulator import simulate as module  # noqa: E402
from onearena.simulator.arenas import RED_ZONE_BYTES  # noqa: E402
from onearena.simulator.scratch import ScratchNeed  # noqa: E402
from onearena.timeline.steps import MethodSteps  # noqa: E402
from tests.pte.build import BYTE, Method, file_bytes, read_bytes  # noqa: E402
from tests.simulator.conftest import Exported  # noqa: E402
from tests.simulator.programs import NEG, RELU, clobbers, simulated  # noqa: E402
from tests.verify.planting import first_plan, with_plan  # noqa: E402

TWICE = "onearena_simulator_test::twice.out"


@pytest.fixture(autouse=True)
def twice() -> Iterator[Any]:
    """An operator with two scratch arguments."""
    library = torch.library.Library("onearena_simulator_test", "DEF")
    arguments = "Tensor x, Tensor scratch, Tensor output_scratch"
    library.define(f"twice({arguments}) -> Tensor")
    library.define(f"twice.out({arguments}, *, Tensor(a!) out) -> Tensor(a!)")

    def run(x: Any, scratch: Any, output_scratch: Any) -> Any:
        return x * 2

    def run_out(x: Any, scratch: Any, output_scratch: Any, *, out: Any) -> Any:
        return out.copy_(x * 2)

    library.impl("twice", run, "CompositeExplicitAutograd")
    library.impl("twice.out", run_out, "CompositeExplicitAutograd")
    yield library
    library._destroy()


def _program(first: int = 192, second: int = 224, sizes: tuple[int, int] = (32, 32)) -> Method:
    """x at 0 and y at 64 (64 bytes each) are read after the call, whose output is at 128."""
    method = Method()
    x, y, z = (method.tensor(16, offset=offset) for offset in (0, 64, 128))
    scratch = method.tensor(sizes[0], scalar_type=BYTE, offset=first)
    output_scratch = method.tensor(sizes[1], scalar_type=BYTE, offset=second)
    out = method.tensor(16, offset=320)
    method.input(x).output(out)
    method.call(RELU, x, y, y)
    method.call(TWICE, y, scratch, output_scratch, z, z)
    method.call("aten::add.out", y, z, method.integer(1), out, out)
    return method


def _needs(monkeypatch: pytest.MonkeyPatch, **needs: int) -> None:
    def need_on(target: str, method: MethodSteps) -> ScratchNeed:
        return lambda instruction, argument: needs.get(argument) if instruction == 1 else None

    monkeypatch.setattr(module, "need_on", need_on)


def test_scratch_apart_from_everything(tmp_path: Path) -> None:
    report = simulated(tmp_path, _program())
    assert report.safe, clobbers(report)
    assert report.methods[0].scratch_calls == 5
    assert simulated(tmp_path, _program(0, 32)).safe, "x is not needed any more"
    assert simulated(tmp_path, _program(64, 64, (0, 0))).safe, "nothing overlaps nothing"


@pytest.mark.parametrize(
    ("first", "second", "victim", "culprit"),
    [
        (96, 224, 1, 3),  # over the operand
        (192, 64, 1, 4),
        (144, 224, 2, 3),  # over the output
        (192, 208, 3, 4),  # over each other
    ],
)
def test_scratch_over_something(
    tmp_path: Path, first: int, second: int, victim: int, culprit: int
) -> None:
    found = clobbers(simulated(tmp_path, _program(first, second)))
    assert (victim, culprit) in {(c.victim, c.culprit) for c in found}
    assert any(f"uses scratch value {culprit} over" in c.text for c in found)


def test_enough_scratch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _needs(monkeypatch, scratch=32, output_scratch=8)
    assert simulated(tmp_path, _program(), target="cortex-m4").safe


def test_too_little_scratch_damages_a_red_zone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The need goes on over bytes that belong to nobody, and over the other scratch."""
    _needs(monkeypatch, scratch=40, output_scratch=48)
    found = clobbers(simulated(tmp_path, _program(256, 272 - 64), target="cortex-m4"))
    first, second = (c for c in found if c.kind == "scratch")
    assert (first.culprit, first.start, first.end) == (3, 288, 296)
    assert first.text == (
        "instruction 1 (onearena_simulator_test::twice.out) needs 40 bytes of scratch, value 3 has "
        "32: it goes on over bytes [288, 296) of arena 1, which hold nothing now (damaged red "
        "zone: bytes [288, 296) of arena 1)"
    )
    assert (second.culprit, second.start, second.end) == (4, 240, 256)


def test_too_little_scratch_runs_over_the_end(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _needs(monkeypatch, scratch=64 + 3 * RED_ZONE_BYTES)
    found = clobbers(simulated(tmp_path, _program(384), target="cortex-m4"))
    (overrun,) = (c for c in found if c.kind == "scratch")
    assert "damaged red zone: bytes [416, 4512) of arena 1" in overrun.text


def test_too_little_scratch_destroys_what_is_needed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0 bytes of scratch right below the operand."""
    _needs(monkeypatch, scratch=16)
    found = clobbers(simulated(tmp_path, _program(64, 224, (0, 32)), target="cortex-m4"))
    kinds = {(c.kind, c.victim, c.culprit) for c in found}
    assert {("scratch", 1, 3), ("overwritten", 1, 3)} <= kinds


def test_scratch_of_the_caller(tmp_path: Path) -> None:
    method = Method()
    x, y = method.tensor(16, offset=0), method.tensor(16, offset=64)
    scratch = method.tensor(8, scalar_type=BYTE)
    method.input(x).output(y)
    method.call(TWICE, x, scratch, scratch, y, y)
    method.call(NEG, y, y, y)
    assert simulated(tmp_path, method).safe


def test_a_program_for_another_core(exported: Exported) -> None:
    """Average pools take scratch on a core with DSP instructions, and none on one with MVE."""
    path = exported("cortex_m_mixed")
    assert module.simulate(path, inputs=2, target="cortex-m55").safe
    found = clobbers(module.simulate(path, inputs=2, target="cortex-m4"))
    assert any("avg_pool2d" in c.text for c in found if c.kind == "scratch")


def test_an_older_form_without_scratch(exported: Exported, tmp_path: Path) -> None:
    """Up to ExecuTorch 1.3, convolutions take temp memory when they run."""
    file = read_bytes(exported("conv2d_x3").read_bytes())
    plan = first_plan(file)
    operators = plan.operators or ()
    older = []
    for instruction in (plan.chains or ())[0].instructions or ():
        call = instruction.instr_args
        assert isinstance(call, KernelCall)
        args = call.args or ()
        if operators[call.op_index].name == "cortex_m::quantized_conv2d":
            call = replace(call, args=(*args[:-3], *args[-2:]))
        older.append(Instruction(call))
    chain = replace((plan.chains or ())[0], instructions=tuple(older))
    path = tmp_path / "older.pte"
    path.write_bytes(file_bytes(with_plan(file, replace(plan, chains=(chain,)))))
    report = module.simulate(path, inputs=2)
    assert report.safe, clobbers(report)
    assert report.methods[0].scratch_calls == 0
