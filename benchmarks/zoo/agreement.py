"""Compares a program's outputs with PyTorch's, run by run."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import torch
from executorch.runtime import Method, Runtime
from torch import Tensor, nn

from .entries import ZooEntry
from .inputs import cases, load_example
from .lowering import reference
from .models import Model, build

FLOAT_TOLERANCE = 1e-4


@dataclass(frozen=True)
class Run:
    """One run's errors, each a root-mean-square difference relative to the right-hand side.

    Attributes:
        error: The program against eager PyTorch. A quantised program's eager side is the
            quantised graph it was lowered from.
        eager_error: Eager PyTorch against the same network, unquantised, in double precision.
        seconds: Time that the program took.
    """

    error: float
    eager_error: float
    seconds: float

    @property
    def tolerance(self) -> float:
        """The largest error that passes.

        Random networks amplify rounding, int8 ones most of all, so eager PyTorch is itself off.
        A program that is no further from the exact result than eager is differs from eager by at
        most twice that.
        """
        return max(FLOAT_TOLERANCE, 2 * self.eager_error)

    @property
    def passes(self) -> bool:
        """Whether the program computes what it should (a NaN does not pass)."""
        return self.error <= self.tolerance

    def __str__(self) -> str:
        verdict = "agrees" if self.passes else "DISAGREES"
        return (
            f"{verdict:9}  error {self.error:.1e} of at most {self.tolerance:.1e}  "
            f"{1e3 * self.seconds:5.0f} ms"
        )


def compare(
    program: ZooEntry, directory: Path, builder: Callable[[str], Model] = build
) -> list[Run]:
    """Run ``program`` on ExecuTorch and on PyTorch with equal inputs."""
    model = builder(program.name)
    exact = builder(program.name).module.double()
    eager = reference(model)
    method = load(directory / f"{program.name}.pte")
    runs = []
    for arrays in cases(program, load_example(directory / f"{program.name}.npz")):
        inputs = [torch.from_numpy(array) for array in arrays]
        start = time.perf_counter()
        (actual,) = method.execute(inputs)
        seconds = time.perf_counter() - start
        expected = _evaluate(eager, inputs)
        ideal = _evaluate(exact, [x.double() if x.is_floating_point() else x for x in inputs])
        runs.append(Run(relative_error(actual, expected), relative_error(expected, ideal), seconds))
    return runs


def load(path: Path) -> Method:
    """Return the method ``forward`` of a program."""
    method = Runtime.get().load_program(path).load_method("forward")
    if method is None:
        raise RuntimeError(f"ExecuTorch does not load {path.name}")
    return method


def relative_error(actual: Tensor, expected: Tensor) -> float:
    """Return the root-mean-square difference over the root-mean-square of ``expected``."""
    return float((actual.double() - expected.double()).norm() / expected.double().norm())


def _evaluate(module: nn.Module, inputs: list[Tensor]) -> Tensor:
    with torch.no_grad():
        result: Tensor = module(*inputs)
    return result
