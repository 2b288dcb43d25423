"""The networks as programs, each exported once."""

from __future__ import annotations

from functools import cache

import torch

from onearena.flatbuf.data import ByteSource
from onearena.program import AnalysedMethod, analyse_method
from onearena.pte.reader import read_pte
from tests.cases.lowering import lower, portable, xnnpack
from tests.shapes.nets import CASES, Shape

PARTITIONERS = {"portable": portable, "xnnpack": xnnpack}


@cache
def program_bytes(name: str, partitioner: str, shapes: tuple[Shape, ...] | None = None) -> bytes:
    """The program of a network: with dynamic shapes or, for these shapes, with static ones."""
    case = CASES[name]
    torch.manual_seed(0)
    return lower(
        case.net(),
        case.inputs(shapes or case.bound),
        dynamic=None if shapes else case.dynamic,
        partitioners=PARTITIONERS[partitioner],
    )


def analysed(content: bytes) -> AnalysedMethod:
    """The only method of a program."""
    file = read_pte(ByteSource.from_bytes(content, "model.pte"))
    return analyse_method(file, (file.program.execution_plan or ())[0])


def dynamic_method(name: str, partitioner: str = "xnnpack") -> AnalysedMethod:
    """The network with dynamic shapes."""
    return analysed(program_bytes(name, partitioner))
