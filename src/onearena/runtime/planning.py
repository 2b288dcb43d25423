"""Decides the inputs of a comparison or measurement (parent side)."""

from __future__ import annotations

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from onearena.errors import UsageError
from onearena.pte import PteFile
from onearena.runtime.inputplan import InputPlan, MethodFacts
from onearena.runtime.jobs import CrashError, run_job
from onearena.runtime.signature import select_plans
from onearena.runtime.userinputs import is_path

_MAX_CRASHES = 8


def check_runs(runs: int, seed: int) -> None:
    """Refuses numbers that make no sense.

    Raises:
        UsageError: no runs, or a negative seed.
    """
    if runs < 1:
        raise UsageError(f"runs must be at least 1, not {runs}")
    if seed < 0:
        raise UsageError(f"the seed must not be negative, it is {seed}")


def plan_inputs(
    file: PteFile,
    method: str | None,
    *,
    seed: int,
    files: tuple[str, ...] | None,
    timeout_s: float,
) -> tuple[InputPlan, ...]:
    """An input plan for `method` of the program, or for all of its methods.

    Methods with integer inputs or dynamic shapes are tried out in a child process, unless
    the user gives the inputs.

    Raises:
        UsageError: no such method, or inputs given for a program with several methods.
        AnalysisError: a method's indices are out of range.
        ExecutionError: a method accepts none of the inputs we can think of.
    """
    chosen = select_plans(file.program, method, file.path)
    if files is not None and len(chosen) > 1:
        names = ", ".join(plan.name or "" for plan in chosen)
        raise UsageError(f"{file.path}: inputs are for one method: name one of {names}")
    facts = [MethodFacts.of(file, plan) for plan in chosen]
    plans = {f.signature.name: f.default_plan(seed, files) for f in facts}
    unsure = [f.signature.name for f in facts if f.needs_probe and files is None]
    if unsure:
        probed = _probe(os.path.abspath(file.path), unsure, seed, timeout_s)  # noqa: PTH100
        plans.update((plan.method, plan) for plan in probed)
    return tuple(plans.values())


def _probe(path: str, methods: list[str], seed: int, timeout_s: float) -> list[InputPlan]:
    """Starts again after each crash, which is one more verdict."""
    verdicts: dict[str, str] = {}
    with tempfile.TemporaryDirectory(prefix="onearena-") as name:
        ledger = Path(name) / "ledger.jsonl"
        job = {"path": path, "methods": methods, "seed": seed, "ledger": str(ledger)}
        for crashes in range(_MAX_CRASHES + 1):
            try:
                result = run_job("probe", {**job, "verdicts": verdicts}, timeout_s=timeout_s)
                return [InputPlan.from_json(plan) for plan in result["plans"]]
            except CrashError as error:
                found = {**_read(ledger, str(error)), **verdicts}
                if len(found) == len(verdicts) or crashes == _MAX_CRASHES:
                    raise  # it died before any trial, or does nothing but die
                verdicts = found
    raise AssertionError("unreachable")


def _read(ledger: Path, death: str) -> dict[str, str]:
    """The verdicts that children wrote; the trial without one is what killed the last of them."""
    verdicts: dict[str, str] = {}
    if ledger.exists():
        for line in ledger.read_text(encoding="utf-8").splitlines():
            entry = json.loads(line)
            if "trying" in entry:
                verdicts.setdefault(entry["trying"], death)
            else:
                verdicts[entry["key"]] = entry["verdict"]
    return verdicts


@contextlib.contextmanager
def input_files(inputs: Sequence[Any] | None) -> Iterator[tuple[str, ...] | None]:
    """The inputs as absolute file paths: what is not a file yet is saved while the block runs."""
    if inputs is None:
        yield None
        return
    with tempfile.TemporaryDirectory(prefix="onearena-") as name:
        yield tuple(
            os.path.abspath(value) if is_path(value) else _save(value, Path(name) / str(index))  # noqa: PTH100
            for index, value in enumerate(inputs)
        )


def _save(value: Any, stem: Path) -> str:
    """Saves an array, a tensor or a number; returns the path."""
    if hasattr(value, "__array__") and not hasattr(value, "detach"):
        import numpy as np

        path = stem.with_suffix(".npy")
        np.save(path, np.asarray(value), allow_pickle=False)
        return str(path)
    from onearena.runtime.bindings import import_torch

    path = stem.with_suffix(".pt")
    import_torch().save(value, path)
    return str(path)
