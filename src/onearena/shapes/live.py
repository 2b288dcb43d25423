"""Shapes and sizes of a method's tensors when its inputs have certain shapes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import prod

from onearena.delegates.xnnpack.graph import ELEMENT_BYTES as INNER_ELEMENT_BYTES
from onearena.errors import UsageError
from onearena.export_record import ExportedMethod
from onearena.payloads import delegate_calls
from onearena.program import AnalysedMethod
from onearena.pte.schema import Tensor
from onearena.pte.tensors import ELEMENT_BYTES
from onearena.shapes.inputs import TensorInputShape, check_shapes, tensor_inputs
from onearena.shapes.propagate import Propagation, RefusedShapeError, propagate
from onearena.shapes.rules.call import Cause, Dims
from onearena.size_formula import evaluate


@dataclass(frozen=True)
class LiveShapes:
    """A method at certain input shapes.

    Attributes:
        inputs: the method's tensor inputs, with their bounds.
        shapes: by position, the shapes of all tensor inputs.
        dims: by tensor value; a value that changes its shape (a loop) has its largest.
        size_bytes: by tensor value, for shapes that are known.
        inner: by instruction of an XNNPACK call, the shape of each value of the payload by its
            id, in storage order, or why it is not known.
        unknown: by tensor value whose shape cannot be derived, where and why the ignorance
            began. Such a value may need as much as its bound.
    """

    inputs: tuple[TensorInputShape, ...]
    shapes: Mapping[int, Dims]
    dims: Mapping[int, Dims]
    size_bytes: Mapping[int, int]
    inner: Mapping[int, Mapping[int, Dims | Cause]]
    unknown: Mapping[int, Cause]


def live_sizes(method: AnalysedMethod, shapes: Mapping[int, Dims]) -> LiveShapes:
    """Derives the shape and size of every tensor of a method.

    Args:
        shapes: by position among the method's inputs; inputs left out are at their bounds.

    Raises:
        UsageError: the program was not exported for these shapes, or refuses them.
    """
    inputs = tensor_inputs(method.plan)
    check_shapes(method.steps.what, inputs, shapes)
    try:
        found = derive(method, inputs, shapes)
    except RefusedShapeError as error:
        raise UsageError(
            f"{method.steps.what}: cannot run with these shapes: {error.cause}"
        ) from None
    all_shapes = {spec.position: tuple(shapes.get(spec.position, spec.bound)) for spec in inputs}
    return LiveShapes(
        inputs, all_shapes, found.dims, _sizes(method, found.dims), found.inner, found.unknown
    )


def with_recorded(method: AnalysedMethod, live: LiveShapes) -> LiveShapes:
    """Shapes that cannot be derived, from the formulas that the exporter noted, where it did.

    For reports: what a file says of itself is not proven.
    """
    if method.exported is None or not live.unknown:
        return live
    found = _recorded_dims(method, method.exported, live)
    dims = {**live.dims, **found}
    unknown = {value: cause for value, cause in live.unknown.items() if value not in found}
    sizes = {**live.size_bytes, **_sizes(method, found)}
    return replace(live, dims=dims, size_bytes=sizes, unknown=unknown)


def _recorded_dims(
    method: AnalysedMethod, exported: ExportedMethod, live: LiveShapes
) -> dict[int, Dims]:
    symbols: dict[str, int] = {}
    for spec in live.inputs:
        for formula, size in zip(
            exported.sizes.get(spec.value, ()), live.shapes[spec.position], strict=False
        ):
            if isinstance(formula, str) and symbols.setdefault(formula, size) != size:
                return {}  # two inputs disagree: the record is of something else
    found: dict[int, Dims] = {}
    for value in live.unknown.keys() & exported.sizes.keys():
        tensor = (method.plan.values or ())[value].val
        bounds = (tensor.sizes or ()) if isinstance(tensor, Tensor) else ()
        dims = [None if f is None else evaluate(f, symbols) for f in exported.sizes[value]]
        known = [dim for dim in dims if dim is not None]
        if len(known) == len(bounds) and all(
            0 <= dim <= bound for dim, bound in zip(known, bounds, strict=True)
        ):
            found[value] = tuple(known)
    return found


def derive(
    method: AnalysedMethod,
    inputs: tuple[TensorInputShape, ...],
    shapes: Mapping[int, Dims],
) -> Propagation:
    """The shapes alone, of inputs that were checked.

    Raises:
        RefusedShapeError: the program cannot run at these shapes.
    """
    given = {
        spec.value: tuple(shapes.get(spec.position, spec.bound))
        for spec in inputs
        if spec.is_dynamic
    }
    return propagate(method.steps, method.payloads, given)


def _sizes(method: AnalysedMethod, found: Mapping[int, Dims]) -> dict[int, int]:
    sizes: dict[int, int] = {}
    for value, dims in found.items():
        tensor = (method.plan.values or ())[value].val
        width = ELEMENT_BYTES.get(tensor.scalar_type) if isinstance(tensor, Tensor) else None
        if width is not None:
            sizes[value] = width * prod(dims)
    return sizes


def inner_sizes(method: AnalysedMethod, live: LiveShapes) -> dict[int, dict[int, int]]:
    """Bytes of the values inside XNNPACK payloads, by instruction of the call and value id; values
    of unknown shape, and types without a simple size, are left out. Arguments are among them."""
    found: dict[int, dict[int, int]] = {}
    for position, call in delegate_calls(method.plan):
        payload = method.payloads.get(call.delegate_index)
        shapes = live.inner.get(position)
        if shapes is None or payload is None or payload.graph is None:
            continue
        sizes = found.setdefault(position, {})
        for identifier, dims in shapes.items():
            width = INNER_ELEMENT_BYTES.get(payload.graph.values[identifier].tensor.datatype)
            if width is not None and isinstance(dims, tuple):
                sizes[identifier] = width * prod(dims)
    return found
