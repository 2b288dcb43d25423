"""The table of in-place kernels, proven on the real kernels.

By default some shapes of every kind for every operator and type; with ONEARENA_EXHAUSTIVE=1 all
shapes up to 3x3x3x3, all ways of broadcasting and all lengths to 70 for every type (1.7 million
calls, an hour or so).
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from onearena.pte.schema import KernelCall
from onearena.pte.tensors import ScalarType
from onearena.timeline.in_place_kernels import (
    COPIES,
    EVERYTHING,
    IN_PLACE_KERNELS,
    in_place_operands,
)
from onearena.timeline.roles import flatten

pytest.importorskip("executorch.runtime", reason="runs kernels of the installed executorch")

from tests.runtime.in_place_cases import CHANNELS_LAST, cases_of
from tests.runtime.in_place_kernels import At, Batch, Case, Operand, Tensors, faults

IS_EXHAUSTIVE = bool(os.environ.get("ONEARENA_EXHAUSTIVE"))
FLOAT, LONG = ScalarType.FLOAT, ScalarType.LONG
A, B = At(0), At(1)


@pytest.mark.parametrize("name", [*IN_PLACE_KERNELS, *COPIES])
def test_the_output_over_an_operand_is_the_output_elsewhere(name: str, tmp_path: Path) -> None:
    kernel = IN_PLACE_KERNELS.get(name)
    rows = sorted(kernel.types) if kernel else [(kind, kind) for kind in EVERYTHING]
    cases = [case for types in rows for case in cases_of(name, types, IS_EXHAUSTIVE)]
    assert len(cases) >= 5 * len(rows)
    for start in range(0, len(cases), 4000):
        wrong = faults(cases[start : start + 4000], tmp_path, runs=2 if IS_EXHAUSTIVE else 1)
        assert not wrong, f"{len(wrong)} cases, the first: {wrong[0]}"


def _case(
    operator: str, sizes: list[tuple[int, ...]], arguments: tuple[object, ...], taken: int = 0
) -> Case:
    operands = tuple(Operand(shape, FLOAT) for shape in sizes)
    return Case(operator, operands, arguments, (operands[taken],), taken)  # type: ignore[arg-type]


def _index(size: int) -> Operand:
    return Operand((size,), LONG, bound=size, is_index=True)


MATRIX = Operand((3, 3), FLOAT)
ROW = Operand((4,), FLOAT)
IMAGE = Operand((2, 3, 2, 3), FLOAT, order=CHANNELS_LAST)
UNSAFE = {
    "transposed": _case("aten::permute_copy.out", [(3, 3)], (A, (1, 0))),
    "flipped": _case("aten::flip.out", [(7,)], (A, (0,))),
    "product": _case("aten::mm.out", [(3, 3), (3, 3)], (A, B)),
    "product, right": _case("aten::mm.out", [(3, 3), (3, 3)], (A, B), taken=1),
    "cleared first": _case("aten::tril.out", [(3, 3)], (A, 0)),
    "broadcast": Case(
        "aten::add.out",
        (Operand((1, 3), FLOAT), MATRIX),
        (A, B, 1),
        (MATRIX,),
        0,
    ),
    "wider output": Case(
        "aten::_to_copy.out",
        (Operand((16,), ScalarType.CHAR),),
        (A, False, None),
        (Operand((16,), FLOAT),),
        0,
    ),
    "scattered": Case("aten::scatter.src_out", (ROW, _index(4), ROW), (A, 0, B, At(2)), (ROW,), 2),
    "put": Case(
        "aten::index_put.out", (ROW, _index(4), ROW), (A, Tensors((1,)), At(2), False), (ROW,), 2
    ),
    "rows in another order": Case("aten::_softmax.out", (IMAGE,), (A, 1, False), (IMAGE,), 0),
}


@pytest.mark.parametrize("name", sorted(UNSAFE))
def test_what_is_not_safe_is_found(name: str, tmp_path: Path) -> None:
    assert faults([UNSAFE[name]], tmp_path, runs=4) == [UNSAFE[name]]


@pytest.mark.parametrize("name", sorted(UNSAFE))
def test_what_is_not_safe_is_not_offered(name: str) -> None:
    case, batch = UNSAFE[name], Batch()
    batch.add(case)
    plan = batch.method.plan()
    call = batch.method.instructions[0].instr_args
    assert isinstance(call, KernelCall)
    place = batch.inputs[case.taken][0]
    taken = [value for value in flatten(plan, call.args or ()) if batch.place_of(value) == place]
    assert len(taken) == 1
    offered = in_place_operands(plan, call)
    assert offered is None or taken[0] not in offered[1]
