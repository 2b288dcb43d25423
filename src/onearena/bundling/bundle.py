"""`onearena.bundle`: a program with test inputs, and what must come out, in one file."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from onearena.bundling.file import write_bundle
from onearena.bundling.results import BundledMethodReport, BundleReport, NotReproducedError
from onearena.bundling.schema import (
    BundledBool,
    BundledCase,
    BundledDouble,
    BundledInt,
    BundledSuite,
    BundledTensor,
    BundledValue,
)
from onearena.errors import UsageError
from onearena.flatbuf.data import ByteRange, ByteSource, Data
from onearena.pte import PteFile, open_pte
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.writer import output_path, refuse_input
from onearena.runtime.bindings import runtime_version
from onearena.runtime.compare import check_comparable
from onearena.runtime.flow import method_flow
from onearena.runtime.inputplan import InputPlan
from onearena.runtime.jobs import DEFAULT_TIMEOUT_S, Tell, run_job
from onearena.runtime.planning import check_runs, input_files, plan_inputs
from onearena.runtime.recording import (
    RecordedMethod,
    RecordedTensor,
    RecordedValue,
    recorded_methods,
)
from onearena.runtime.signature import ScalarInput, select_plans, signature_of
from onearena.timeline.roles import operator_name

DEFAULT_RUNS = 2


def bundle(
    path: str | os.PathLike[str],
    output: str | os.PathLike[str],
    *,
    reference: str | os.PathLike[str] | None = None,
    method: str | None = None,
    runs: int = DEFAULT_RUNS,
    inputs: Sequence[Any] | None = None,
    seed: int = 0,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    progress: Tell | None = None,
) -> BundleReport:
    """Writes a bundled program (``.bpte``), for a device to check bits on its own runtime.

    The expected outputs are computed on the installed ExecuTorch, which must then find them in the
    bundle, bit for bit, before the file gets its name.

    Args:
        path: the program to bundle.
        output: the file to write.
        reference: the program that computes the expected outputs, such as the one before
            `optimize`; without it, the program itself.
        method: the method to test; by default all that can be.
        runs: test cases per method, each with other inputs; state is carried over.
        inputs: files, arrays, tensors or numbers: the only test case of one method; by default
            random ones, at several sizes where shapes are dynamic.
        seed: of the random inputs.
        timeout_s: seconds each child process may take.
        progress: is told from time to time what is being done.

    Raises:
        NotReproducedError: the program does not do what the reference does; nothing was written.
        UsageError: nothing can be tested, the inputs do not suit, or `output` cannot be written.
        FormatError: a file is corrupt or missing.
        RuntimeUnavailableError: no runtime is installed.
        ExecutionError: the runtime refuses a program, or crashes.
    """
    check_runs(runs, seed)
    tell = progress or (lambda _: None)
    target = output_path(output)
    with ExitStack() as stack:
        file = stack.enter_context(open_pte(path))
        judge = file if reference is None else stack.enter_context(open_pte(reference))
        refuse_input(target, file.path, judge.path)
        if judge is not file:
            check_comparable(judge, file, method)
        names, skipped = _testable(file, method)
        files = stack.enter_context(input_files(inputs))
        tell("choosing inputs")
        plans = _plans(judge, names, seed, files, timeout_s)
        directory = stack.enter_context(tempfile.TemporaryDirectory(prefix="onearena-"))
        count = runs if files is None else 1
        recorded = _record(file, judge, plans, count, directory, timeout_s, tell)
        suites = [_suite(found, stack) for found in recorded]
        cases = [(found.name, len(found.cases)) for found in recorded]

        def confirm(written: Path) -> None:
            tell("checking")
            _confirm(written, file, cases, timeout_s, tell)

        tell("writing")
        size = write_bundle(file.source, suites, output, confirm)
        stateful = {plan.method: plan.is_stateful for plan in plans}
        methods = tuple(_method_report(found, stateful[found.name]) for found in recorded)
        return BundleReport(
            path=file.path,
            output=os.fspath(output),
            reference=None if judge is file else judge.path,
            size_bytes=size,
            program_bytes=file.source.size_bytes,
            methods=methods,
            skipped=skipped,
            runtime=f"executorch {runtime_version()}",
            notes=_notes(methods),
        )


def _testable(
    file: PteFile, method: str | None
) -> tuple[tuple[str, ...], tuple[tuple[str, str], ...]]:
    """The methods to test, and (method, reason) of the others.

    Raises:
        UsageError: there is none.
    """
    names: list[str] = []
    skipped: list[tuple[str, str]] = []
    for plan in select_plans(file.program, method, file.path):
        method_flow(file, plan)  # checks that indices are in range
        reason = _obstacle(plan)
        if reason is None:
            names.append(plan.name or "")
        else:
            skipped.append((plan.name or "", reason))
    if not names:
        name, reason = skipped[0]
        raise UsageError(f"{file.path}: method {name!r} cannot be tested with a bundle: {reason}")
    return tuple(names), tuple(skipped)


def _obstacle(plan: ExecutionPlan) -> str | None:
    """Why the format cannot hold a test of a method; None when it can."""
    values = plan.values or ()
    for position, spec in enumerate(signature_of(plan).inputs):
        if isinstance(spec, ScalarInput) and not isinstance(spec.value, bool | int | float):
            return f"input {position} is {spec.value!r}"
    if not plan.outputs:
        return "it has no outputs"
    for position, value in enumerate(plan.outputs):
        if not isinstance(values[value].val, Tensor):
            return f"output {position} is not a tensor"
    return None


def _plans(
    file: PteFile,
    names: Sequence[str],
    seed: int,
    files: tuple[str, ...] | None,
    timeout_s: float,
) -> tuple[InputPlan, ...]:
    if files is not None and len(names) > 1:
        raise UsageError(f"{file.path}: inputs are for one method: name one of {', '.join(names)}")
    return tuple(
        plan
        for name in names
        for plan in plan_inputs(file, name, seed=seed, files=files, timeout_s=timeout_s)
    )


def _record(
    file: PteFile,
    judge: PteFile,
    plans: Sequence[InputPlan],
    runs: int,
    directory: str,
    timeout_s: float,
    tell: Tell,
) -> tuple[RecordedMethod, ...]:
    """What the judge does.

    Raises:
        NotReproducedError: the program does something else.
    """
    job = {
        "reference": os.path.abspath(judge.path),  # noqa: PTH100
        "program": None if judge is file else os.path.abspath(file.path),  # noqa: PTH100
        "plans": [plan.to_json() for plan in plans],
        "runs": runs,
        "directory": directory,
    }
    found = recorded_methods(run_job("record", job, timeout_s=timeout_s, tell=tell))
    for method in found:
        if method.difference is not None:
            raise NotReproducedError(
                f"{file.path}: method {method.name!r} does not do what it does in {judge.path}: "
                f"{method.difference}"
            )
    return found


def _confirm(
    written: Path,
    file: PteFile,
    cases: Sequence[tuple[str, int]],
    timeout_s: float,
    tell: Tell,
) -> None:
    """Has the installed runtime check the bundle.

    Raises:
        NotReproducedError: it does not find what is expected.
    """
    plans = file.program.execution_plan or ()
    operators = {operator_name(op) for plan in plans for op in plan.operators or ()}
    job = {"path": str(written), "cases": list(cases), "operators": sorted(operators)}
    failures = run_job("check", job, timeout_s=timeout_s, tell=tell)["failures"]
    if failures:
        raise NotReproducedError(
            f"{file.path}: does not give the expected outputs when it runs again: {failures[0]}"
        )


def _suite(method: RecordedMethod, stack: ExitStack) -> BundledSuite:
    cases = tuple(
        BundledCase(_values(case.inputs, stack), _values(case.outputs, stack))
        for case in method.cases
    )
    return BundledSuite(method.name, cases)


def _values(values: Sequence[RecordedValue], stack: ExitStack) -> tuple[BundledValue, ...]:
    return tuple(BundledValue(_item(value, stack)) for value in values)


def _item(
    value: RecordedValue, stack: ExitStack
) -> BundledTensor | BundledInt | BundledBool | BundledDouble:
    if isinstance(value, RecordedTensor):
        data = _contents(Path(value.file), stack)
        return BundledTensor(value.scalar_type, value.sizes, data, value.dim_order)
    if isinstance(value, bool):
        return BundledBool(value)
    if isinstance(value, int):
        return BundledInt(value)
    return BundledDouble(value)


def _contents(path: Path, stack: ExitStack) -> Data:
    """The numbers of a tensor, as a range of the file that they are in."""
    if path.stat().st_size == 0:
        return (b"",)  # a tensor without elements has data, too: empty
    source = stack.enter_context(ByteSource.open(path))
    return (ByteRange(source, 0, source.size_bytes),)


def _method_report(method: RecordedMethod, is_stateful: bool) -> BundledMethodReport:
    first = method.cases[0]
    return BundledMethodReport(
        method.name, len(method.cases), len(first.inputs), len(first.outputs), is_stateful
    )


def _notes(methods: Sequence[BundledMethodReport]) -> tuple[str, ...]:
    return tuple(
        f"method {method.name!r} keeps state: run its cases in order, from a fresh start"
        for method in methods
        if method.is_stateful and method.cases > 1
    )
