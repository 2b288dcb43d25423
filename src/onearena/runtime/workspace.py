"""The memory that the XNNPACK delegate takes at run time, measured on the real runtime.

What is measured: after one run of each method at its largest sizes, the bytes of the
workspaces that XNNPACK holds, in the sharing mode that the runtime has by default (one
workspace for the whole process in the released wheels). Each program has a child process
of its own. Linux with glibc only: see xnnhook.py for how, and for what guards the number.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from onearena.errors import ExecutionError
from onearena.pte import open_pte
from onearena.runtime.inputplan import InputPlan
from onearena.runtime.jobs import DEFAULT_TIMEOUT_S, run_job
from onearena.runtime.planning import input_files, plan_inputs


@dataclass(frozen=True)
class WorkspaceMeasurement:
    """A program's measured memory.

    Attributes:
        bytes: the XNNPACK workspaces; None when they could not be measured.
        reason: why not.
        heap_growth_bytes: what the heap grew by over the first runs, outputs not counted:
            the workspaces plus what operators keep for themselves; None when unknown.
    """

    bytes: int | None
    reason: str | None = None
    heap_growth_bytes: int | None = None


def measure_workspace(
    path: str | os.PathLike[str],
    *,
    method: str | None = None,
    inputs: Sequence[Any] | None = None,
    seed: int = 0,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> WorkspaceMeasurement:
    """Runs a program once in a child process and measures its workspaces.

    Args:
        path: a ``.pte`` file.
        method: the method to run; all of them by default.
        inputs: files, arrays, tensors or numbers for that method; random ones by default.
        seed: of the random inputs.
        timeout_s: seconds each child process may take.

    Raises:
        FormatError: not a ``.pte``, or an input file is corrupt.
        UsageError: no such method, or inputs that do not suit it.
        RuntimeUnavailableError: no runtime is installed.
        ExecutionError: no inputs can be found that the program runs on.
    """
    name = os.path.abspath(os.fspath(path))  # noqa: PTH100 (a string goes to the child)
    with input_files(inputs) as files:
        with open_pte(path) as file:
            plans = plan_inputs(file, method, seed=seed, files=files, timeout_s=timeout_s)
        return measure_planned(name, plans, timeout_s=timeout_s)


def measure_planned(
    path: str, plans: Sequence[InputPlan], *, timeout_s: float
) -> WorkspaceMeasurement:
    """Measures with inputs that are decided; a program that cannot run gives a reason."""
    job = {"path": path, "plans": [plan.to_json() for plan in plans]}
    try:
        result = run_job("measure", job, timeout_s=timeout_s)
    except ExecutionError as error:
        return WorkspaceMeasurement(None, str(error))
    return WorkspaceMeasurement(result["bytes"], result["reason"], result["heap_growth_bytes"])
