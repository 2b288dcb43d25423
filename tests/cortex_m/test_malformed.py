"""Calls that no exporter writes: one line that names them, or a need that is not known."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import Any

import pytest

from onearena.cortex_m.check import check_target
from onearena.cortex_m.cores import Isa
from onearena.cortex_m.needs import memory_needs, temp_needs
from onearena.errors import OnearenaError
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.schema import EValue, Int, IntList, KernelCall, Null, Tensor
from onearena.sizes.pools import program_pools
from onearena.sizes.runner import runner_logs
from onearena.sizes.targets import find_target
from onearena.timeline.roles import kernel_roles
from tests.cortex_m.programs import committed, older, pool_call
from tests.pte.build import pte_file

TARGET = find_target("cortex-m4")


def _spoiled(source: random.Random, file: PteFile) -> PteFile:
    """Some values and arguments are others than they should be."""
    plan = (file.program.execution_plan or ())[0]
    values = list(plan.values or ())
    for _ in range(source.randint(0, 3)):
        values[source.randrange(len(values))] = EValue(_strange(source, len(values)))
    chain = (plan.chains or ())[0]
    instructions = list(chain.instructions or ())
    for _ in range(source.randint(0, 3)):
        position = source.randrange(len(instructions))
        call = instructions[position].instr_args
        assert isinstance(call, KernelCall)
        args = list(call.args or ())
        args[source.randrange(len(args))] = source.choice((-1, 0, len(values), 1 << 40))
        if source.random() < 0.5:
            args[source.randrange(len(args))] = source.randrange(len(values))
        spoiled = replace(instructions[position], instr_args=replace(call, args=tuple(args)))
        instructions[position] = spoiled
    new = replace(chain, instructions=tuple(instructions))
    plan = replace(plan, values=tuple(values), chains=(new,))
    return file.with_program(replace(file.program, execution_plan=(plan,)), file.segments)


def _strange(source: random.Random, count: int) -> Any:
    sizes = tuple(source.choice((-3, 0, 1, 7, 1 << 33)) for _ in range(source.randint(0, 5)))
    return source.choice(
        (
            Null(),
            Int(source.choice((-1, 0, 1 << 50))),
            IntList((source.randrange(count), count + 5)),
            IntList(()),
            IntList(None),
            Tensor(scalar_type=source.choice((0, 1, 99)), sizes=sizes),
            Tensor(scalar_type=1, sizes=None),
        )
    )


@pytest.mark.parametrize("is_older", [False, True])
def test_nothing_but_errors_of_this_library(is_older: bool) -> None:
    source = random.Random(5)
    refused: list[str] = []
    with open_pte(committed("operators", "cortex-m4")) as file:
        start = older(file) if is_older else file
        for _ in range(1500):
            spoiled = _spoiled(source, start)
            try:
                check_target(spoiled, "cortex-m4")
                runner_logs(spoiled, program_pools(spoiled, TARGET).methods, TARGET)
            except OnearenaError as error:
                refused.append(str(error))
    assert 0 < len(refused) < 1500
    assert not any("\n" in message for message in refused)


def test_scratch_of_an_unknown_element_type() -> None:
    method, values = pool_call(256)
    tensor = method.values[values["scratch"]].val
    assert isinstance(tensor, Tensor)
    method.values[values["scratch"]] = EValue(replace(tensor, scalar_type=99))
    (need,) = memory_needs(method.plan(), Isa.DSP)
    assert (need.needed_bytes, need.note) == (None, "its scratch is no tensor of a known size")


def test_scratch_that_is_no_tensor() -> None:
    method, values = pool_call(256)
    method.values[values["scratch"]] = EValue(Null())
    plan = method.plan()
    (need,) = memory_needs(plan, Isa.DSP)
    assert (need.planned_bytes, need.needed_bytes) == (0, 256)
    call = method.instructions[-1].instr_args
    assert isinstance(call, KernelCall)
    assert kernel_roles(plan, call).scratch == ()


def test_a_program_without_methods() -> None:
    assert check_target(pte_file(), "cortex-m4") == ()


def test_a_stride_of_nothing() -> None:
    with open_pte(committed("conv2d_x3", "cortex-m4")) as file:
        plan = (file.program.execution_plan or ())[0]
        values = tuple(
            EValue(Int(0)) if isinstance(entry.val, Int) else entry for entry in plan.values or ()
        )
        spoiled = replace(plan, values=values)
    assert {need.note for need in memory_needs(spoiled, Isa.DSP)} == {"its stride is not positive"}
    assert temp_needs(spoiled, Isa.DSP) == ()
