"""Programs that call the backend of `cpp/runtime/example`, and what they compute."""

from __future__ import annotations

import struct
from typing import Any

import torch
from executorch.exir import to_edge
from executorch.exir.backend.backend_api import to_backend
from executorch.exir.backend.backend_details import BackendDetails, PreprocessResult
from executorch.exir.backend.compile_spec_schema import CompileSpec

from tests.cases.lowering import Module

MOST_ROWS = 64


class DemoBackend(BackendDetails):
    """Its payload is the number of rounds; the class's name is the backend's."""

    @staticmethod
    def preprocess(edge_program: Any, compile_specs: list[CompileSpec]) -> PreprocessResult:
        """Takes the rounds from the options; what the program computes does not matter."""
        return PreprocessResult(processed_bytes=compile_specs[0].value)


class _Same(Module):
    def forward(self, x: Any) -> Any:
        return x * 1.0


class _Net(Module):
    def __init__(self, lowered: Any) -> None:
        super().__init__()
        self.lowered = lowered

    def forward(self, x: Any) -> Any:
        return self.lowered(x.cumsum(0)).cumsum(0)


def demo_program(rounds: int) -> bytes:
    """The ``.pte``: sums of the smoothed sums of a vector of 2 to `MOST_ROWS` numbers."""
    inputs = (torch.zeros(MOST_ROWS),)
    dynamic = ({0: torch.export.Dim("rows", min=2, max=MOST_ROWS)},)
    same = to_edge(torch.export.export(_Same(), inputs, dynamic_shapes=dynamic))
    specs = [CompileSpec("rounds", struct.pack("<I", rounds))]
    net = _Net(to_backend(DemoBackend.__name__, same.exported_program(), specs))
    edge = to_edge(torch.export.export(net, inputs, dynamic_shapes=dynamic))
    program: bytes = edge.to_executorch().buffer
    return program


def expected(rows: int, rounds: int) -> torch.Tensor:
    """What the program makes of ones."""
    x = torch.ones(rows).cumsum(0)
    for _ in range(rounds):
        left, right = torch.cat([x[:1], x[:-1]]), torch.cat([x[1:], x[-1:]])
        x = (left + x + right) / 3
    return x.cumsum(0)
