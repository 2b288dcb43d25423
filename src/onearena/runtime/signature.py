"""What a method takes and needs, read from the file without a runtime."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from onearena.errors import UsageError
from onearena.pte.schema import Bool, Double, ExecutionPlan, Int, Program, String, Tensor
from onearena.pte.tensors import is_dynamic

Sizes: TypeAlias = tuple[int, ...]
SizeSet: TypeAlias = tuple[Sizes | None, ...]
"""The sizes of each input of a method; None for inputs that are not tensors."""
Scalar: TypeAlias = int | float | bool | str | None

TORCH_NAMES = {
    0: "uint8",
    1: "int8",
    2: "int16",
    3: "int32",
    4: "int64",
    5: "float16",
    6: "float32",
    7: "float64",
    8: "complex32",
    9: "complex64",
    10: "complex128",
    11: "bool",
    15: "bfloat16",
    23: "float8_e5m2",
    24: "float8_e4m3fn",
    25: "float8_e5m2fnuz",
    26: "float8_e4m3fnuz",
    27: "uint16",
    28: "uint32",
    29: "uint64",
}
"""ExecuTorch's element types → names of torch's; those that an input can have."""


@dataclass(frozen=True)
class TensorInput:
    """A tensor that a method takes; `sizes` are upper bounds when it is dynamic."""

    scalar_type: int
    sizes: Sizes
    dim_order: tuple[int, ...]
    is_dynamic: bool

    @property
    def dtype(self) -> str:
        """The element type as torch calls it."""
        return TORCH_NAMES.get(self.scalar_type, f"element type {self.scalar_type}")

    def __str__(self) -> str:
        bound = "up to " if self.is_dynamic else ""
        return f"{self.dtype} {bound}{list(self.sizes)}"


@dataclass(frozen=True)
class ScalarInput:
    """A number (or None) that a method takes: the runtime accepts the recorded value only."""

    value: Scalar

    def __str__(self) -> str:
        return repr(self.value)


Input: TypeAlias = TensorInput | ScalarInput


@dataclass(frozen=True)
class Signature:
    """A method's name and inputs."""

    name: str
    inputs: tuple[Input, ...]

    def __str__(self) -> str:
        return "; ".join(map(str, self.inputs)) or "nothing"

    @property
    def bound(self) -> SizeSet:
        """The largest sizes of all inputs."""
        return tuple(x.sizes if isinstance(x, TensorInput) else None for x in self.inputs)

    @property
    def is_dynamic(self) -> bool:
        """True when some input may be smaller than its recorded sizes."""
        return any(isinstance(x, TensorInput) and x.is_dynamic for x in self.inputs)


def select_plans(program: Program, method: str | None, path: str) -> tuple[ExecutionPlan, ...]:
    """The methods to work on: the one named `method`, or all.

    Raises:
        UsageError: there is no such method, or no method at all.
    """
    plans = program.execution_plan or ()
    chosen = tuple(plan for plan in plans if method is None or plan.name == method)
    if not chosen:
        names = ", ".join(plan.name or "" for plan in plans) or "none"
        what = "no methods" if method is None else f"no method {method!r}, it has: {names}"
        raise UsageError(f"{path}: {what}")
    return chosen


def signature_of(plan: ExecutionPlan) -> Signature:
    """The signature of a method whose indices are in range."""
    values = plan.values or ()
    return Signature(plan.name or "", tuple(_input(values[i].val) for i in plan.inputs or ()))


def _input(value: object) -> Input:
    if isinstance(value, Tensor):
        sizes = value.sizes or ()
        order = value.dim_order or tuple(range(len(sizes)))
        return TensorInput(value.scalar_type, sizes, order, is_dynamic(value))
    if isinstance(value, Int):
        return ScalarInput(value.int_val)
    if isinstance(value, Double):
        return ScalarInput(value.double_val)
    if isinstance(value, Bool):
        return ScalarInput(value.bool_val)
    if isinstance(value, String):
        return ScalarInput(value.string_val)
    return ScalarInput(None)
