"""Measures the memory a program takes at run time beyond its arenas (child side)."""

from __future__ import annotations

import ctypes
import gc
from typing import Any

from onearena.pte import PteFile, open_pte
from onearena.runtime.bindings import runtime_module
from onearena.runtime.inputplan import InputPlan, InputSource, MethodFacts
from onearena.runtime.session import Session
from onearena.runtime.signature import select_plans
from onearena.runtime.worker import Desk
from onearena.runtime.xnnhook import UnmeasurableError, WorkspaceWatch

_XNNPACK = "XnnpackBackend"


def measure_job(job: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """The job `measure`: path, plans → the workspaces after one run of each method.

    The hooks must be in place before the program is loaded, and nothing else may have used
    XNNPACK in this process.
    """
    path = job["path"]
    plans = [InputPlan.from_json(plan) for plan in job["plans"]]
    runtime_module()  # loads the libraries that are to be watched
    watch = WorkspaceWatch()
    try:
        watch.install()
        reason = None
    except UnmeasurableError as error:
        reason = str(error)
    desk.note(f"{path}: loading", "a")
    with open_pte(path) as file, Session(path, desk.log("a")) as session:
        growth = [_first_run(file, session, plan, desk) for plan in plans]
        calls = sum(_delegates(file, plan.method) for plan in plans)
        result = _workspace(watch, calls) if reason is None else {"bytes": None, "reason": reason}
    known = [bytes_ for bytes_ in growth if bytes_ is not None]
    return {**result, "heap_growth_bytes": sum(known) if len(known) == len(growth) else None}


def _delegates(file: PteFile, method: str) -> int:
    plan = select_plans(file.program, method, file.path)[0]
    return sum(delegate.id == _XNNPACK for delegate in plan.delegates or ())


def _workspace(watch: WorkspaceWatch, delegates: int) -> dict[str, Any]:
    """Sum of the live workspaces in bytes, or None and why it is not known."""
    try:
        sizes = watch.sizes_bytes()
    except UnmeasurableError as error:
        return {"bytes": None, "reason": str(error)}
    if delegates and not watch.created:
        return {"bytes": None, "reason": "the runtime created no workspace that can be watched"}
    return {"bytes": sum(sizes), "reason": None, "workspaces": len(sizes)}


def _first_run(file: PteFile, session: Session, plan: InputPlan, desk: Desk) -> int | None:
    """Runs a method once; the heap that stays taken, outputs not counted, in bytes."""
    facts = MethodFacts.of(file, select_plans(file.program, plan.method, file.path)[0])
    inputs = InputSource(facts, plan).inputs(0)
    desk.note(f"{file.path}: method {plan.method!r}", "a")
    session.load(plan.method)
    before = _heap_bytes()
    session.run(plan.method, inputs)  # the outputs are dropped at once
    after = _heap_bytes()
    return None if before is None or after is None else after - before


class _MallocInfo(ctypes.Structure):
    """glibc's `struct mallinfo2` (malloc.h)."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )
    hblkhd: int
    uordblks: int


def _heap_bytes() -> int | None:
    """What malloc has handed out; None where it does not say (no glibc, or one before 2.33)."""
    gc.collect()
    try:
        mallinfo = ctypes.CDLL(None).mallinfo2
    except (OSError, AttributeError, TypeError):
        return None
    mallinfo.restype = _MallocInfo
    info: _MallocInfo = mallinfo()
    return info.uordblks + info.hblkhd
