"""Runs two programs on the stock runtime: same bits? how fast? how much workspace?"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from typing import Any

from onearena.errors import UsageError
from onearena.pte import PteFile, open_pte
from onearena.runtime.flow import method_flow
from onearena.runtime.inputplan import InputPlan
from onearena.runtime.jobs import DEFAULT_TIMEOUT_S, Tell, run_job
from onearena.runtime.planning import check_runs, input_files, plan_inputs
from onearena.runtime.signature import SizeSet, select_plans, signature_of
from onearena.runtime.workspace import WorkspaceMeasurement, measure_planned


@dataclass(frozen=True)
class MethodResult:
    """What one method did in both programs.

    Attributes:
        runs: how many runs were compared, each with other inputs unless they were given.
        max_abs_diff: largest difference of two numbers; infinite when a NaN or an infinity
            met something else, None when types or shapes differ.
        first_difference: where and what, in words; None when every bit is equal.
        latency_ratio_median: median over pairs of runs of time in b / time in a.
        latency_ratio_best: fastest run of b / fastest run of a, less shaken by a busy machine.
        latency_a_s, latency_b_s: median seconds of a run.
        sizes: the sizes of the inputs that were tried (None for a number).
        is_stateful: whether something survives from run to run.
    """

    name: str
    bit_exact: bool
    runs: int
    max_abs_diff: float | None
    first_difference: str | None
    latency_ratio_median: float
    latency_ratio_best: float
    latency_a_s: float
    latency_b_s: float
    latency_pairs: int
    sizes: tuple[SizeSet, ...]
    outputs: int
    is_stateful: bool


@dataclass(frozen=True)
class CompareReport:
    """The comparison of the programs `a` (the reference) and `b`.

    Attributes:
        runs: runs per method.
        latency_ratio_median: that of the method whose runs take longest.
        workspace_a, workspace_b: the measured XNNPACK workspaces; None when not asked for.
        notes: what a reader should know about how it was done.
    """

    a: str
    b: str
    methods: tuple[MethodResult, ...]
    runs: int
    workspace_a: WorkspaceMeasurement | None
    workspace_b: WorkspaceMeasurement | None
    notes: tuple[str, ...] = ()

    @property
    def bit_exact(self) -> bool:
        """True when every output of every run has the same type, shape and bits."""
        return all(method.bit_exact for method in self.methods)

    @property
    def max_abs_diff(self) -> float | None:
        """The largest of the methods' differences; see :class:`MethodResult`."""
        found = [method.max_abs_diff for method in self.methods]
        return None if None in found else max(x for x in found if x is not None)

    @property
    def latency_ratio_median(self) -> float:
        """Time in b / time in a."""
        return max(self.methods, key=lambda method: method.latency_a_s).latency_ratio_median

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object; a difference that is not a finite number is null."""
        return {
            "a": self.a,
            "b": self.b,
            "bit_exact": self.bit_exact,
            "runs": self.runs,
            "max_abs_diff": _finite(self.max_abs_diff),
            "latency_ratio_median": self.latency_ratio_median,
            "workspace_measured_bytes": {
                "a": self.workspace_a and self.workspace_a.bytes,
                "b": self.workspace_b and self.workspace_b.bytes,
            },
            "workspace": {
                "a": self.workspace_a and asdict(self.workspace_a),
                "b": self.workspace_b and asdict(self.workspace_b),
            },
            "methods": [
                {**asdict(method), "max_abs_diff": _finite(method.max_abs_diff)}
                for method in self.methods
            ],
            "notes": list(self.notes),
        }


def compare(
    a: str | os.PathLike[str],
    b: str | os.PathLike[str],
    *,
    method: str | None = None,
    runs: int = 5,
    inputs: Sequence[Any] | None = None,
    seed: int = 0,
    measure: bool = True,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Tell | None = None,
) -> CompareReport:
    """Runs both programs on the same inputs and compares what comes out bit for bit.

    Args:
        a: the reference, a ``.pte`` file.
        b: the program to compare with it.
        method: the method to run; all of them by default.
        runs: runs per method; state is carried over from one to the next.
        inputs: files (``.npy``, ``.npz``, ``.pt``), arrays, tensors or numbers for one
            method; by default random ones, others in every run, at several sizes where
            shapes are dynamic.
        seed: of the random inputs.
        measure: whether to measure workspaces and to time further runs; without, the times
            are those of the compared runs.
        timeout_s: seconds each child process may take.
        progress: is told from time to time what is being done.

    Raises:
        UsageError: the programs cannot be compared, or the inputs do not suit them.
        FormatError: a file is corrupt or missing.
        RuntimeUnavailableError: no runtime is installed.
        ExecutionError: the runtime refuses a program, or crashes.
    """
    check_runs(runs, seed)
    paths = os.path.abspath(os.fspath(a)), os.path.abspath(os.fspath(b))  # noqa: PTH100
    with input_files(inputs) as files:
        with open_pte(a) as file_a, open_pte(b) as file_b:
            check_comparable(file_a, file_b, method)
            plans = plan_inputs(file_a, method, seed=seed, files=files, timeout_s=timeout_s)
        job = {
            "a": paths[0],
            "b": paths[1],
            "plans": [plan.to_json() for plan in plans],
            "runs": runs,
            "measure": measure,
        }
        result = run_job("compare", job, timeout_s=timeout_s, tell=progress)
        if measure and progress is not None:
            progress("measuring workspaces")
        measured = _measure(paths, plans, timeout_s) if measure else (None, None)
    return CompareReport(
        a=os.fspath(a),
        b=os.fspath(b),
        methods=tuple(_method_result(found) for found in result["methods"]),
        runs=runs,
        workspace_a=measured[0],
        workspace_b=measured[1],
        notes=_notes(plans, result["methods"]),
    )


def _measure(
    paths: tuple[str, str], plans: tuple[InputPlan, ...], timeout_s: float
) -> tuple[WorkspaceMeasurement, WorkspaceMeasurement]:
    """Both at once: sizes do not depend on how busy the machine is."""
    with ThreadPoolExecutor(2) as pool:
        a, b = pool.map(lambda path: measure_planned(path, plans, timeout_s=timeout_s), paths)
    return a, b


def check_comparable(a: PteFile, b: PteFile, method: str | None) -> None:
    """Both must have the same methods, which take the same inputs.

    Raises:
        UsageError: they do not.
    """
    signatures = []
    for file in (a, b):
        plans = select_plans(file.program, method, file.path)
        for plan in plans:
            method_flow(file, plan)  # checks that indices are in range
        signatures.append({plan.name or "": signature_of(plan) for plan in plans})
    left, right = signatures
    if left.keys() != right.keys():
        names = [", ".join(signature) for signature in signatures]
        raise UsageError(f"{a.path} has the methods {names[0]}; {b.path} has {names[1]}")
    for name, signature in left.items():
        if signature != right[name]:
            raise UsageError(
                f"method {name!r} takes {signature} in {a.path}, {right[name]} in {b.path}"
            )


def _method_result(found: dict[str, Any]) -> MethodResult:
    difference = found["max_abs_diff"]
    return MethodResult(
        name=found["name"],
        bit_exact=found["bit_exact"],
        runs=found["runs"],
        max_abs_diff=None if difference is None else float(difference),
        first_difference=found["first_difference"],
        latency_ratio_median=found["latency_ratio_median"],
        latency_ratio_best=found["latency_ratio_best"],
        latency_a_s=found["latency_s"][0],
        latency_b_s=found["latency_s"][1],
        latency_pairs=found["latency_pairs"],
        sizes=tuple(
            tuple(None if x is None else tuple(x) for x in sizes) for sizes in found["sizes"]
        ),
        outputs=found["outputs"],
        is_stateful=found["is_stateful"],
    )


def _notes(plans: Sequence[InputPlan], results: list[dict[str, Any]]) -> tuple[str, ...]:
    notes = []
    for plan, result in zip(plans, results, strict=True):
        if plan.files is None and plan.strategy.value != "inferred":
            notes.append(f"{plan.method}: integer inputs had to be {plan.strategy.value}")
        skipped = len(plan.sizes) - len(result["sizes"])
        if skipped > 0:
            notes.append(f"{plan.method}: {skipped} more sizes need --runs {len(plan.sizes)}")
    return tuple(notes)


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None
