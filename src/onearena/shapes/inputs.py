"""A method's tensor inputs by name, and the sizes that people give for them."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onearena.errors import UsageError
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.tensors import is_dynamic
from onearena.shapes.rules.call import Dims, text

_SHAPE = re.compile(r"[0-9]+(?:x[0-9]+)*")
_MAX_SIZE = (1 << 31) - 1
"""A program's tensors have signed 32-bit sizes."""


@dataclass(frozen=True)
class TensorInputShape:
    """A tensor that a method takes.

    Attributes:
        position: among the method's inputs.
        value: index among the method's values.
        name: the name in the file, else "input 3", as every report calls it.
        bound: its sizes; upper bounds when it is dynamic. The file does not say which of a
            dynamic input's dimensions may change.
        is_dynamic: whether its sizes may differ from run to run.
    """

    position: int
    value: int
    name: str
    bound: Dims
    is_dynamic: bool

    def __str__(self) -> str:
        limit = "up to " if self.is_dynamic else ""
        return f"{self.name} ({limit}{text(self.bound)})"


def tensor_inputs(plan: ExecutionPlan) -> tuple[TensorInputShape, ...]:
    """The tensor inputs of a method whose indices are in range."""
    values, indices = plan.values or (), plan.inputs or ()
    names = _recorded_names(plan, len(indices))
    found: list[TensorInputShape] = []
    for position, index in enumerate(indices):
        tensor = values[index].val
        if isinstance(tensor, Tensor):
            extra = tensor.extra_tensor_info
            name = (extra.fully_qualified_name if extra else None) or names.get(position)
            found.append(
                TensorInputShape(
                    position,
                    index,
                    name or _unnamed(position),
                    tensor.sizes or (),
                    is_dynamic(tensor),
                )
            )
    return tuple(found)


def _unnamed(position: int) -> str:
    return f"input {position}"


def parse_shapes(texts: Sequence[str], inputs: Sequence[TensorInputShape]) -> dict[int, Dims]:
    """Reads shapes as people write them: `x=1x3x64x64`, for an input without a name `0=1x3x64x64`
    or `input0=1x3x64x64`, and, when only one input is dynamic, `1x3x64x64`.

    Args:
        texts: one per input; inputs without one keep their recorded sizes.
        inputs: what the method takes.

    Returns:
        The sizes, by the input's position.

    Raises:
        UsageError: something else is written, an input is unknown, ambiguous or given twice.
    """
    found: dict[int, Dims] = {}
    for written in texts:
        name, separator, sizes = written.rpartition("=")
        chosen = _named(name.strip(), inputs) if separator else _only(written, inputs)
        if chosen.position in found:
            raise UsageError(f"the shape of {chosen.name} is given twice")
        found[chosen.position] = _sizes(written, sizes.strip())
    return found


def check_shapes(what: str, inputs: Sequence[TensorInputShape], shapes: Mapping[int, Dims]) -> None:
    """Refuses sizes that the program was not exported for.

    Args:
        what: how errors call the method.
        shapes: by position among the method's inputs.

    Raises:
        UsageError: no such input, another rank, a size below 1 or above the bound, or another
            size for an input that is not dynamic.
    """
    by_position = {spec.position: spec for spec in inputs}
    for position, dims in shapes.items():
        spec = by_position.get(position)
        if spec is None:
            known = ", ".join(map(str, inputs)) or "none"
            raise UsageError(f"{what}: no tensor input {position}, there are: {known}")
        if len(dims) != len(spec.bound):
            raise UsageError(f"{what}: {spec} has {len(spec.bound)} dimensions, not {len(dims)}")
        if not spec.is_dynamic and dims != spec.bound:
            raise UsageError(f"{what}: {spec} is static and cannot be {text(dims)}")
        for axis, (size, bound) in enumerate(zip(dims, spec.bound, strict=True)):
            if not min(1, bound) <= size <= bound:
                raise UsageError(
                    f"{what}: dimension {axis} of {spec} cannot be {size}, the program was "
                    f"exported for 1 to {bound}"
                )


def _named(name: str, inputs: Sequence[TensorInputShape]) -> TensorInputShape:
    matching = [spec for spec in inputs if spec.name == name]
    if not matching:
        number = name.removeprefix("input").strip()
        matching = [spec for spec in inputs if _is_number(spec, number, number == name)]
    if not matching and name.isidentifier() and _is_lone_and_unnamed(inputs):
        matching = list(inputs)
    if len(matching) != 1:
        known = ", ".join(map(str, inputs)) or "none"
        problem = "several inputs are" if matching else "no tensor input is"
        raise UsageError(f"{problem} called {name!r}; the tensor inputs are: {known}")
    return matching[0]


def _is_number(spec: TensorInputShape, number: str, is_bare: bool) -> bool:
    """Whether `number` is the input's; `input3` is a name only where the file has none."""
    return str(spec.position) == number and (is_bare or spec.name == _unnamed(spec.position))


def _is_lone_and_unnamed(inputs: Sequence[TensorInputShape]) -> bool:
    """Files seldom record the names that the model's author knows; for a lone input any will do."""
    return len(inputs) == 1 and inputs[0].name == _unnamed(inputs[0].position)


def _only(written: str, inputs: Sequence[TensorInputShape]) -> TensorInputShape:
    dynamic = [spec for spec in inputs if spec.is_dynamic]
    if len(dynamic) != 1:
        known = ", ".join(map(str, inputs)) or "none"
        count = len(dynamic) or "no"
        raise UsageError(
            f"{written!r} does not say which input it is for: {count} inputs are dynamic; the "
            f"tensor inputs are: {known}"
        )
    return dynamic[0]


def _sizes(written: str, sizes: str) -> Dims:
    if not _SHAPE.fullmatch(sizes):
        raise UsageError(f"{written!r} is not a shape; write NAME=1x3x64x64")
    # longer numbers are larger than any size, and slow to read
    if any(len(size.lstrip("0")) > len(str(_MAX_SIZE)) for size in sizes.split("x")):
        raise UsageError(f"{written[:60]!r}: no size is that large")
    return tuple(int(size) for size in sizes.split("x"))


def _recorded_names(plan: ExecutionPlan, count: int) -> dict[int, str]:
    """Names of keyword arguments, from the input's structure that the exporter recorded.

    It is a version and a tree as JSON: a tuple of the positional arguments and a dictionary of
    the keyword arguments, whose `context` is a JSON list of the keys (`torch.utils._pytree`).
    """
    meta = plan.container_meta_type
    try:
        tree = json.loads((meta.encoded_inp_str if meta else None) or "")
        positional, keywords = tree[1]["children_spec"]
        keys = json.loads(keywords["context"])
        first = sum(1 for _ in _leaves(positional))
        names: dict[int, str] = {}
        for key, child in zip(keys, keywords["children_spec"], strict=True):
            leaves = sum(1 for _ in _leaves(child))
            for k in range(leaves):
                names[first + k] = str(key) if leaves == 1 else f"{key}.{k}"
            first += leaves
    except (ValueError, TypeError, KeyError, IndexError, RecursionError):
        return {}
    return names if first == count else {}


def _leaves(spec: Mapping[str, object]) -> Iterator[object]:
    if spec["type"] is None:
        yield spec
        return
    children = spec["children_spec"]
    if not isinstance(children, list):
        raise TypeError("children_spec")
    for child in children:
        yield from _leaves(child)
