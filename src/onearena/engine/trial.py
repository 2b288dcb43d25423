"""Runs a method a number of times: what `onearena run` does."""

from __future__ import annotations

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onearena.engine.arena import Arena
from onearena.engine.memory import MethodMemory
from onearena.engine.model import DEFAULT_METHOD
from onearena.engine.runtime import Planning, Runtime
from onearena.errors import UsageError
from onearena.pte.reader import open_pte
from onearena.runtime.bindings import import_torch
from onearena.runtime.inputplan import InputSource, MethodFacts
from onearena.runtime.signature import select_plans
from onearena.runtime.userinputs import load_inputs


@dataclass(frozen=True)
class OutputSummary:
    """One output: a tensor's element type, shape and range, or a number.

    Attributes:
        dtype: None for what is no tensor.
        low, high, mean: of the finite elements; None when there are none.
        other: elements that are no finite numbers.
        value: the number, for what is no tensor.
    """

    dtype: str | None
    sizes: tuple[int, ...] = ()
    low: float | None = None
    high: float | None = None
    mean: float | None = None
    other: int = 0
    value: Any = None

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        if self.dtype is None:
            return {"value": self.value}
        numbers = {"min": self.low, "max": self.high, "mean": self.mean, "not_finite": self.other}
        return {"dtype": self.dtype, "sizes": list(self.sizes), **numbers}


@dataclass(frozen=True)
class Trial:
    """The result of some runs; the outputs are those of the last one."""

    path: str
    method: str
    outputs: tuple[OutputSummary, ...]
    times_s: tuple[float, ...]
    load_s: float
    memory: MethodMemory

    @property
    def median_s(self) -> float:
        """The median time of a run in seconds."""
        return statistics.median(self.times_s)

    def to_json(self) -> dict[str, Any]:
        """As a JSON object."""
        return {
            "program": self.path,
            "method": self.method,
            "outputs": [output.to_json() for output in self.outputs],
            "runs": len(self.times_s),
            "median_s": self.median_s,
            "load_s": self.load_s,
            "memory": self.memory.to_json(),
        }


def run_trial(
    path: str,
    *,
    method: str | None = None,
    inputs: Sequence[str] | None = None,
    repeat: int = 1,
    seed: int = 0,
    data_files: Sequence[str] = (),
    limit_bytes: int | None = None,
    planning: Planning = "auto",
    unbounded: bool = False,
) -> Trial:
    """Loads a program and runs one of its methods.

    Args:
        method: its name; `forward`, or the only method, if none is given.
        inputs: files with real inputs (`.npy`, `.npz`, `.pt`); random numbers if there are none.
        repeat: how often to run it.
        limit_bytes: what the arena may have at the most.
        planning, unbounded: as of :meth:`Runtime.load`.

    Raises:
        OnearenaError: the program cannot be loaded or run, or the options make no sense.
    """
    if repeat < 1:
        raise UsageError(f"the number of runs must be positive, it is {repeat}")
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"the seed must be from 0 to 2**63 - 1, it is {seed}")
    name = _method_name(path, method)
    runtime = Runtime(Arena(limit_bytes=limit_bytes))
    start = time.perf_counter()
    model = runtime.load(path, data_files=data_files, planning=planning, unbounded=unbounded)
    loaded = model.method(name)
    load_s = time.perf_counter() - start
    values = load_inputs(inputs) if inputs else _random_inputs(path, name, seed)
    outputs: tuple[Any, ...] = ()
    times: list[float] = []
    for _ in range(repeat):
        start = time.perf_counter()
        outputs = loaded.run(*values)
        times.append(time.perf_counter() - start)
    summaries = tuple(_summary(output) for output in outputs)
    return Trial(path, name, summaries, tuple(times), load_s, loaded.memory())


def _method_name(path: str, method: str | None) -> str:
    with open_pte(path) as file:
        names = [plan.name or "" for plan in select_plans(file.program, method, path)]
    if len(names) == 1:
        return names[0]
    if DEFAULT_METHOD in names:
        return DEFAULT_METHOD
    raise UsageError(f"{path}: which method? It has: {', '.join(names)}")


def _random_inputs(path: str, method: str, seed: int) -> list[Any]:
    import_torch()  # which makes them; executorch brings it
    with open_pte(path) as file:
        (plan,) = select_plans(file.program, method, path)
        facts = MethodFacts.of(file, plan)
    return InputSource(facts, facts.default_plan(seed)).inputs(0)


def _summary(output: Any) -> OutputSummary:
    import numpy as np

    if not hasattr(output, "dtype"):
        return OutputSummary(None, value=output)
    dtype = str(output.dtype).removeprefix("torch.")
    if hasattr(output, "detach"):
        output = output.double() if output.is_floating_point() else output
        output = output.numpy()
    array = np.asarray(output)
    sizes = tuple(array.shape)
    if array.dtype.kind == "c":
        return OutputSummary(dtype, sizes)
    numbers = array.astype(np.float64)
    finite = numbers[np.isfinite(numbers)]
    other = int(numbers.size - finite.size)
    if not finite.size:
        return OutputSummary(dtype, sizes, other=other)
    low, high, mean = float(finite.min()), float(finite.max()), float(finite.mean())
    return OutputSummary(dtype, sizes, low, high, mean, other)
