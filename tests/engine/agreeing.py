"""Runs a program on the stock and on the native runtime, which must agree in every bit."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from onearena.engine.model import Model
from onearena.engine.runtime import Runtime
from onearena.runtime.session import Session
from tests.cases.running import Call, Outputs, difference


def agree(path: Path, calls: Sequence[Call], runtime: Runtime | None = None) -> list[Outputs]:
    """The outputs; fails at the first bit that differs. Both load all methods first."""
    expected = _stock(path, calls)
    found = native(Runtime() if runtime is None else runtime, path, calls)
    problem = difference(expected, found)
    assert problem is None, f"{path.name}: {problem}"
    return expected


def native(runtime: Runtime, path: Path, calls: Sequence[Call]) -> list[Outputs]:
    """The outputs of the native runtime, as torch tensors."""
    model = runtime.load(path)
    return [run_call(model, call) for call in calls]


def run_call(model: Model, call: Call) -> Outputs:
    """One run; the inputs stay as they are."""
    outputs = model.method(call.method).run(*_copies(call.inputs))
    return tuple(torch.from_numpy(x) if isinstance(x, np.ndarray) else x for x in outputs)


def _stock(path: Path, calls: Sequence[Call]) -> list[Outputs]:
    with Session(path) as session:
        for name in {call.method for call in calls}:
            session.load(name)  # loading a method resets the state that it shares
        return [session.run(call.method, _copies(call.inputs)) for call in calls]


def _copies(inputs: tuple[Any, ...]) -> list[Any]:
    return [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]
