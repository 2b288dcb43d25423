"""Values of a payload become arguments of its call."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from onearena.delegates.xnnpack.graph import tensor_of
from onearena.delegates.xnnpack.schema import (
    EXTERNAL_INPUT,
    EXTERNAL_OUTPUT,
    INVALID_ID,
    XNNGraph,
    XValue,
)
from onearena.delegates.xnnpack.simplify_edit import with_tensor


def as_arguments(source: XNNGraph, opened: Sequence[int], inputs: Collection[int] = ()) -> XNNGraph:
    """Appends arguments to a payload.

    Args:
        opened: the values, in the order of the new arguments.
        inputs: those among them, and among the outputs that there are already, which no node
            writes under their own name.
    """
    positions = {value: source.num_externs + k for k, value in enumerate(opened)}
    outputs = (*(source.output_ids or ()), *opened)
    return replace(
        source,
        xvalues=tuple(_argument(v, positions, inputs) for v in source.xvalues or ()),
        num_externs=source.num_externs + len(opened),
        input_ids=(*(source.input_ids or ()), *(v for v in outputs if v in inputs)),
        output_ids=tuple(v for v in outputs if v not in inputs),
    )


def without_values(source: XNNGraph, gone: Collection[int]) -> XNNGraph:
    """Takes values out of a payload that no node names; arguments behind them move up."""
    tensors = [t for v in source.xvalues or () if (t := tensor_of(v))]
    positions = [t.external_id for t in tensors if t.id_out in gone and t.external_id != INVALID_ID]
    return replace(
        source,
        xvalues=tuple(
            _moved_up(v, positions)
            for v in source.xvalues or ()
            if (t := tensor_of(v)) and t.id_out not in gone
        ),
        num_externs=source.num_externs - len(positions),
        input_ids=tuple(v for v in source.input_ids or () if v not in gone),
        output_ids=tuple(v for v in source.output_ids or () if v not in gone),
    )


def _moved_up(xvalue: XValue, positions: Sequence[int]) -> XValue:
    tensor = tensor_of(xvalue)
    assert tensor is not None
    if tensor.external_id == INVALID_ID:
        return xvalue
    before = sum(position < tensor.external_id for position in positions)
    return with_tensor(xvalue, replace(tensor, external_id=tensor.external_id - before))


def _argument(xvalue: XValue, positions: Mapping[int, int], inputs: Collection[int]) -> XValue:
    tensor = tensor_of(xvalue)
    assert tensor is not None
    value = tensor.id_out
    is_output = bool(tensor.flags & EXTERNAL_OUTPUT)
    if value not in positions and not (value in inputs and is_output):
        return xvalue
    kind = EXTERNAL_INPUT if value in inputs else EXTERNAL_OUTPUT
    flags = tensor.flags & ~(EXTERNAL_INPUT | EXTERNAL_OUTPUT) | kind
    position = positions.get(value, tensor.external_id)
    return with_tensor(xvalue, replace(tensor, external_id=position, flags=flags))
