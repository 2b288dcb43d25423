"""The stock runtime as the judge: which shapes it runs with, and which shapes come out."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from onearena.errors import ExecutionError, UsageError
from onearena.runtime.session import Session
from onearena.shapes.live import live_sizes
from onearena.shapes.rules.call import Dims
from tests.cases.lowering import NEEDS_1_5
from tests.shapes.exported import dynamic_method, program_bytes
from tests.shapes.nets import CASES, Shape, by_position

pytestmark = NEEDS_1_5

TRIED: dict[str, list[tuple[Shape, ...]]] = {
    "convolutions": [((1, 3, h, w),) for h, w in ((64, 64), (33, 47), (16, 21), (9, 8), (4, 64))],
    "unet": [((1, 3, h, w),) for h, w in ((64, 64), (24, 16), (2, 4), (33, 64), (64, 7), (1, 1))],
    "sequence": [((length, 16),) for length in (64, 17, 1)],
    "attention": [((2, length),) for length in (64, 17, 2)],
    "many": [((1, 3, h, w),) for h, w in ((32, 32), (16, 24), (9, 13))],
    "lengths": [
        ((9, 16), (4, 16), (9, 16)),
        ((1, 16), (1, 16), (32, 16)),
        ((9, 16), (4, 16), (8, 16)),
        ((9, 16), (4, 15), (9, 16)),
    ],
}


def _ours(name: str, partitioner: str, shapes: tuple[Shape, ...]) -> list[Dims] | None:
    """The shapes of the outputs; None when we say that the program refuses these inputs."""
    method = dynamic_method(name, partitioner)
    try:
        live = live_sizes(method, by_position(shapes))
    except UsageError:
        return None
    return [live.dims[value] for value in method.plan.outputs or ()]


def _theirs(session: Session, inputs: tuple[torch.Tensor, ...]) -> list[Dims] | None:
    try:
        return [tuple(output.shape) for output in session.run("forward", list(inputs))]
    except ExecutionError:
        return None


@pytest.mark.parametrize("partitioner", ["portable", "xnnpack"])
@pytest.mark.parametrize("name", TRIED)
def test_outputs_are_those_of_the_runtime(name: str, partitioner: str, tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    path.write_bytes(program_bytes(name, partitioner))
    for shapes in TRIED[name]:
        with Session(path) as session:
            expected = _theirs(session, CASES[name].inputs(shapes))
        assert _ours(name, partitioner, shapes) == expected, shapes
