"""Runs programs and keeps what goes in and comes out, for bundled programs (both sides).

The child writes the numbers of every tensor to a file of its own in the directory of the job.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from onearena.errors import UnsupportedError
from onearena.pte import open_pte
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.runtime.bits import compare_outputs
from onearena.runtime.inputplan import InputPlan, InputSource, MethodFacts
from onearena.runtime.session import Session
from onearena.runtime.signature import TORCH_NAMES, TensorInput, select_plans
from onearena.runtime.worker import Desk


@dataclass(frozen=True)
class RecordedTensor:
    """A tensor that went in or came out.

    Attributes:
        scalar_type: of ExecuTorch.
        sizes: in elements.
        dim_order: the order of the numbers in the file, outermost dimension first.
        file: where the numbers are.
    """

    scalar_type: int
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    file: str


RecordedValue = RecordedTensor | int | float | bool


@dataclass(frozen=True)
class RecordedCase:
    """One run."""

    inputs: tuple[RecordedValue, ...]
    outputs: tuple[RecordedValue, ...]


@dataclass(frozen=True)
class RecordedMethod:
    """The runs of one method.

    Attributes:
        difference: what the program itself does otherwise than the reference, in words; None
            when every bit is equal, or there is no other reference.
    """

    name: str
    cases: tuple[RecordedCase, ...]
    difference: str | None


def recorded_methods(result: Mapping[str, Any]) -> tuple[RecordedMethod, ...]:
    """What :func:`record_job` gave, as objects."""
    return tuple(
        RecordedMethod(
            method["name"],
            tuple(
                RecordedCase(_values(case["inputs"]), _values(case["outputs"]))
                for case in method["cases"]
            ),
            method["difference"],
        )
        for method in result["methods"]
    )


def _values(entries: Sequence[Any]) -> tuple[RecordedValue, ...]:
    return tuple(
        RecordedTensor(
            entry["scalar_type"], tuple(entry["sizes"]), tuple(entry["dim_order"]), entry["file"]
        )
        if isinstance(entry, dict)
        else float.fromhex(entry)  # as text, so that it keeps its bits
        if isinstance(entry, str)
        else entry
        for entry in entries
    )


def record_job(job: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """The job `record`: reference, program (or None), plans, runs, directory → what happened."""
    plans = [InputPlan.from_json(plan) for plan in job["plans"]]
    store = _Store(Path(job["directory"]))
    return {"methods": [_record(job, plan, store, desk) for plan in plans]}


def _record(job: dict[str, Any], plan: InputPlan, store: _Store, desk: Desk) -> dict[str, Any]:
    """Every method in a session of its own: state begins as it does on the device."""
    reference, other = job["reference"], job["program"]
    with open_pte(reference) as file:
        (method,) = select_plans(file.program, plan.method, reference)
        facts = MethodFacts.of(file, method)
    source = InputSource(facts, plan)
    orders = _Orders(method, facts)
    difference: str | None = None
    cases = []
    with ExitStack() as stack:
        sessions = []
        for name, path in (("a", reference), ("b", other)):
            if path is not None:
                desk.note(f"{path}: loading", name)
                sessions.append((name, stack.enter_context(Session(path, desk.log(name)))))
        for run in range(job["runs"]):
            inputs = store.put(source.inputs(run), orders.inputs, f"{plan.method}: input")
            found = []
            for name, session in sessions:
                desk.note(f"{session.path}: method {plan.method!r}, run {run}", name)
                found.append(session.run(plan.method, source.inputs(run)))
            outputs = store.put(found[0], orders.outputs, f"{plan.method}: output")
            cases.append({"inputs": inputs, "outputs": outputs})
            if len(found) > 1 and difference is None:
                what = compare_outputs(found[0], found[1]).what
                difference = None if what is None else f"run {run}: {what}"
    return {"name": plan.method, "cases": cases, "difference": difference}


class _Orders:
    """The order of dimensions that the program gives its inputs and outputs."""

    def __init__(self, plan: ExecutionPlan, facts: MethodFacts) -> None:
        self.inputs = [
            spec.dim_order if isinstance(spec, TensorInput) else ()
            for spec in facts.signature.inputs
        ]
        values = plan.values or ()
        tensors = [values[k].val for k in plan.outputs or ()]
        self.outputs = [(t.dim_order or ()) if isinstance(t, Tensor) else () for t in tensors]


class _Store:
    """Keeps tensors in files."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._count = 0
        self._types = {name: number for number, name in TORCH_NAMES.items()}

    def put(
        self, values: Sequence[Any], orders: Sequence[tuple[int, ...]], what: str
    ) -> list[dict[str, Any] | int | bool | str]:
        return [
            self._value(value, order, f"{what} {k}")
            for k, (value, order) in enumerate(zip(values, orders, strict=True))
        ]

    def _value(self, value: Any, order: tuple[int, ...], what: str) -> Any:
        if isinstance(value, bool | int):
            return value
        if isinstance(value, float):
            return value.hex()
        dtype = str(value.dtype).removeprefix("torch.")
        if dtype not in self._types:
            raise UnsupportedError(f"{what}: a bundled program cannot hold {dtype}")
        order = dim_order(value, order, what)
        path = self._directory / f"{self._count}.bin"
        self._count += 1
        _write(value, order, path)
        return {
            "scalar_type": self._types[dtype],
            "sizes": list(value.shape),
            "dim_order": list(order),
            "file": str(path),
        }


def _write(tensor: Any, order: tuple[int, ...], path: Path) -> None:
    import torch

    plain = tensor.detach().permute(order).contiguous().reshape(-1)
    path.write_bytes(plain.view(torch.uint8).numpy().tobytes())


def dim_order(tensor: Any, preferred: tuple[int, ...], what: str) -> tuple[int, ...]:
    """The order of a tensor's dimensions in memory, outermost first.

    The runtime computes strides from it and stops the process if they are not those of its own
    output, so that dimensions of one element matter, too.

    Args:
        preferred: what the program says.

    Raises:
        UnsupportedError: no order gives its strides.
    """
    sizes, strides = tuple(tensor.shape), tuple(tensor.stride())
    if tensor.numel() == 0 and len(preferred) == len(sizes):
        return preferred
    for order in _candidates(sizes, strides, preferred):
        if _strides(sizes, order) == strides:
            return order
    raise UnsupportedError(f"{what}: strides {strides} of {sizes} have no order of dimensions")


def _candidates(
    sizes: tuple[int, ...], strides: tuple[int, ...], preferred: tuple[int, ...]
) -> Iterator[tuple[int, ...]]:
    if sorted(preferred) == list(range(len(sizes))):
        yield preferred
    yield tuple(range(len(sizes)))
    yield tuple(sorted(range(len(sizes)), key=lambda k: (-strides[k], -sizes[k])))


def _strides(sizes: tuple[int, ...], order: tuple[int, ...]) -> tuple[int, ...]:
    """As `dim_order_to_stride` of ExecuTorch computes them."""
    result = [1] * len(sizes)
    step = 1
    for dim in reversed(order):
        result[dim] = step
        step *= max(1, sizes[dim])
    return tuple(result)


def check_job(job: dict[str, Any], desk: Desk) -> dict[str, Any]:
    """The job `check`: does the runtime find in a bundle what it expects? → failures in words."""
    from onearena.runtime.bindings import missing_kernels, runtime_module
    from onearena.runtime.nativelog import NativeLog, printable

    module = runtime_module()
    missing_kernels(job["operators"])  # loads libraries that the program needs
    data = Path(job["path"]).read_bytes()
    failures: list[str] = []
    log = NativeLog(desk.log("a"))
    for method, count in job["cases"]:
        with log.capture():
            bundle = module._load_bundled_program_from_buffer(data)  # with state of its own
        for case in range(count):
            desk.note(f"{job['path']}: method {method!r}, case {case}", "a")
            try:
                with log.capture():
                    bundle.verify_result_with_bundled_expected_output(method, case, 0, 0)
            except RuntimeError as error:
                reason = printable(log.message() or str(error))
                failures.append(f"method {method!r}, case {case}: {reason}")
    return {"failures": failures}
