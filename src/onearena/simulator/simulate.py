"""`onearena.simulate`: is the plan in a file right, by running it."""

from __future__ import annotations

import contextlib
import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from onearena.errors import (
    ExecutionError,
    RuntimeUnavailableError,
    UnsupportedError,
    UsageError,
)
from onearena.program import analyse_steps, method_label
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.schema import DelegateCall, ExecutionPlan, Tensor
from onearena.record import read_record
from onearena.runtime.bindings import import_torch
from onearena.runtime.inputplan import InputSource, MethodFacts
from onearena.runtime.signature import select_plans, signature_of
from onearena.runtime.userinputs import check_inputs
from onearena.simulator.access import Access
from onearena.simulator.arenas import Arenas, Place
from onearena.simulator.expiry import Expiry
from onearena.simulator.findings import Findings
from onearena.simulator.machine import Machine
from onearena.simulator.memory import Memory
from onearena.simulator.names import MemoryNames, memory_names
from onearena.simulator.results import MethodSimulation, SimulationReport
from onearena.simulator.scratch import ScratchNeed, need_on, unknown_need
from onearena.simulator.slots import Slots, has_stored_bytes, stored_bytes
from onearena.timeline.control import instructions_of
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import analyse_storage

_SMALL_BYTES = 4 << 20
"""Arenas below this size hold small tensors."""
NeedOf = Callable[[MethodSteps], ScratchNeed]
"""Makes, for a method, what tells how much scratch its kernels need."""


def _declared(method: MethodSteps) -> ScratchNeed:
    return unknown_need


def simulate(
    path: str | os.PathLike[str],
    *,
    method: str | None = None,
    inputs: int | Sequence[Sequence[Any]] = 5,
    seed: int = 0,
    original: str | os.PathLike[str] | None = None,
    target: str | None = None,
    progress: Callable[[str], None] = lambda status: None,
) -> SimulationReport:
    """Runs a program's instructions on the host, in one poisoned buffer per arena.

    Every planned tensor lies where the plan puts it and, once more, in memory of its own. What
    is read must be the same in both.

    Args:
        path: the program; it calls no delegate.
        method: which method; by default all, one after another, each with memory of its own.
        inputs: how many sets of random inputs, or the inputs themselves: for each run the
            method's tensors and numbers.
        seed: of the random inputs, and of the poison.
        original: the program as it was exported, when `path` has another plan for it: its offsets
            say what is a view of what. By default the record that onearena leaves says it, or
            else the offsets of the program itself (see `names.py`).
        target: what the program will run on, "cortex-m0" to "cortex-m85": kernels use as much
            scratch as they need there. By default they use what the program gives them.
        progress: is told what happens.

    Raises:
        UsageError: there is no such method, the inputs do not suit it, the original is
            another program, or the target is no Cortex-M.
        FormatError, AnalysisError: the file is broken.
        UnsupportedError: the method calls a delegate.
        RuntimeUnavailableError: torch, or the library of an operator, is not installed.
        ExecutionError: an operator fails.
    """
    if isinstance(inputs, int) and inputs < 1:
        raise UsageError(f"a simulation needs at least 1 input, not {inputs}")
    if not 0 <= seed < 1 << 63:
        raise UsageError(f"a seed is from 0 to 2**63 - 1, {seed} is not")
    need_of: NeedOf = partial(need_on, target) if target is not None else _declared
    with open_pte(path) as file:
        plans = select_plans(file.program, method, file.path)
        if not isinstance(inputs, int) and len(plans) > 1:
            names = ", ".join(plan.name or "" for plan in plans)
            raise UsageError(f"{file.path}: inputs are for one method: name one of {names}")
        for plan in plans:
            _refuse_delegates(file, plan)
        import_torch()
        found = []
        for plan in plans:
            progress(f"method {plan.name}")
            steps = analyse_steps(file, plan)[1]
            known = _names(file, steps, original)
            found.append(_simulate_method(file, steps, known, inputs, seed, need_of))
        return SimulationReport(file.path, tuple(found))


def _refuse_delegates(file: PteFile, plan: ExecutionPlan) -> None:
    what = method_label(file, plan)
    for position, args in enumerate(instructions_of(plan, what)):
        if isinstance(args, DelegateCall):
            backend = (plan.delegates or ())[args.delegate_index].id or "without a name"
            raise UnsupportedError(
                f"{what}: instruction {position} calls delegate {backend}: a simulation has no "
                "such hardware"
            )


def _names(
    file: PteFile, steps: MethodSteps, original: str | os.PathLike[str] | None
) -> MemoryNames:
    name = steps.plan.name or ""
    record = read_record(file)
    entry = record.methods.get(name) if record else None
    if original is None:
        return memory_names(steps, entry)
    with open_pte(original) as other:
        (plan,) = select_plans(other.program, name, other.path)
        first = analyse_steps(other, plan)[1]
        # what moved, what was left out and what runs once more
        order = (entry.order if entry else ()) or range(len(first.instructions))
        moved = tuple(first.instructions[k] for k in order if 0 <= k < len(first.instructions))
        if moved != steps.instructions or len(plan.values or ()) != len(steps.plan.values or ()):
            raise UsageError(
                f"{other.path}: method {name!r} is not the one in {file.path}: its instructions "
                "differ"
            )
        return memory_names(steps, entry, first)


def _simulate_method(
    file: PteFile,
    steps: MethodSteps,
    names: MemoryNames,
    inputs: int | Sequence[Sequence[Any]],
    seed: int,
    need_of: NeedOf,
) -> MethodSimulation:
    plan = steps.plan
    findings = Findings(steps, names)
    executed = scratch_calls = runs = 0
    sizes = tuple((plan.non_const_buffer_sizes or ())[1:])
    if not _misplaced(steps, names, findings):
        try:
            machine, arenas = build_machine(file, steps, names, seed, need_of(steps))
        except (RuntimeError, OverflowError, MemoryError) as error:  # torch finds no memory
            raise ExecutionError(
                f"{steps.what}: its arenas of {plan.non_const_buffer_sizes} bytes or its constants "
                "do not fit into this machine's memory"
            ) from error
        with _few_threads(sum(sizes)):
            for number, given in enumerate(_all_inputs(file, plan, inputs, seed)):
                _, log = machine.run(given)
                findings.add_run(number, log, arenas.damaged())
                executed += log.executed
                scratch_calls += log.scratch_calls
                runs += 1
    return MethodSimulation(
        plan.name or "", runs, executed, sizes, scratch_calls, findings.clobbers
    )


@contextlib.contextmanager
def _few_threads(arena_bytes: int) -> Iterator[None]:
    """Operators on small tensors take longer with several threads than with one."""
    torch = import_torch()
    before = torch.get_num_threads()
    torch.set_num_threads(1 if arena_bytes < _SMALL_BYTES else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _all_inputs(
    file: PteFile, plan: ExecutionPlan, inputs: int | Sequence[Sequence[Any]], seed: int
) -> Iterator[Sequence[Any]]:
    if isinstance(inputs, int):
        if importlib.util.find_spec("numpy") is None:
            raise RuntimeUnavailableError(
                "random inputs need NumPy; install it with: pip install 'onearena[run]'"
            )
        facts = MethodFacts.of(file, plan)
        source = InputSource(facts, facts.default_plan(seed))
        for run in range(inputs):
            yield source.inputs(run)
        return
    signature = signature_of(plan)
    for given in inputs:
        yield check_inputs(signature, given)


def _misplaced(steps: MethodSteps, names: MemoryNames, findings: Findings) -> bool:
    """Notes the values that do not lie inside an arena; True when there are any."""
    sizes = steps.plan.non_const_buffer_sizes or ()
    for value, place in names.places.items():
        size = sizes[place.arena] if 0 < place.arena < len(sizes) else None
        if size is None or place.end > size:
            findings.add_misplaced(value, place, size)
    return bool(findings.clobbers)


def build_machine(
    file: PteFile, steps: MethodSteps, names: MemoryNames, seed: int, need: ScratchNeed
) -> tuple[Machine, Arenas]:
    """A method ready to run, and the arenas that it runs in.

    Raises:
        FormatError, UnsupportedError: its data is not in the file, or torch lacks a type.
    """
    slots = Slots(steps.plan, steps.what)
    arenas = Arenas(steps.plan.non_const_buffer_sizes or (0,), seed)
    memory = Memory(arenas, names, _stored(file, steps, slots))
    arenas.guard(_room(steps, names))
    storage = analyse_storage(steps, frozenset())
    expiry = Expiry(steps, storage, names)
    return Machine(Access(steps, slots, memory, arenas, need), expiry), arenas


def _stored(file: PteFile, steps: MethodSteps, slots: Slots) -> dict[int, Any]:
    found: dict[int, Any] = {}
    for value, entry in enumerate(steps.plan.values or ()):
        tensor = entry.val
        if isinstance(tensor, Tensor) and has_stored_bytes(tensor):
            (cell,) = slots.cells(value)
            what = f"{steps.what}: value {value}"
            found[value] = stored_bytes(file, tensor, cell.layout.capacity_bytes, what)
    return found


def _room(steps: MethodSteps, names: MemoryNames) -> Iterator[Place]:
    """The bytes of the arenas that belong to no value."""
    for arena, size in enumerate(steps.plan.non_const_buffer_sizes or ()):
        end = 0
        taken = (place for place in names.places.values() if place.arena == arena)
        for place in sorted(taken, key=lambda place: place.start):
            if place.start > end:
                yield Place(arena, end, place.start)
            end = max(end, place.end)
        if end < size:
            yield Place(arena, end, size)
