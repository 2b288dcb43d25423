"""Opening a payload: inner activations become outputs of the delegate call.

An internal value becomes an external output when it gets an `external_id`, the output flag
and a place in `output_ids`, `num_externs` grows, and a tensor is appended to the arguments
of the call. The stock delegate then writes it where that tensor lives, in the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from onearena.delegates.xnnpack.graph import Graph, index_graph, tensor_of
from onearena.delegates.xnnpack.normalise import Normalisation, normalise, with_tensor
from onearena.delegates.xnnpack.rules import (
    Link,
    closed_reason,
    kept_internal,
)
from onearena.delegates.xnnpack.schema import (
    EXTERNAL_OUTPUT,
    MAX_EXTERNALS,
    XNNGraph,
    XValue,
)
from onearena.delegates.xnnpack.shapes import Dims, values_of_other_shape


@dataclass(frozen=True)
class OpenedPayload:
    """A payload after opening, with what its lifetimes need.

    Attributes:
        graph: the rewritten graph, indexed.
        opened: ids of the values that became arguments, in argument order.
        kept: the activations that stay in XNNPACK's workspace, each with the reason.
        changes: how the graph was normalised before it was opened.
    """

    graph: Graph
    opened: tuple[int, ...]
    kept: Mapping[int, Link]
    changes: Normalisation


def open_payload(
    source: XNNGraph, what: str, calls: Sequence[Mapping[int, Dims]] = ()
) -> OpenedPayload | str:
    """Opens every value that can be opened; returns the reason when none may be.

    Args:
        calls: for each call of the payload, by external id the shape of the argument in
            storage order. Values that would get another shape than declared stay internal.

    Raises:
        FormatError: the graph contradicts itself.
    """
    graph = index_graph(source, what)
    reason = closed_reason(graph) or _bad_externals(graph)
    if reason is not None:
        return reason
    split, changes = normalise(graph, what)
    kept = dict(kept_internal(split))
    for dims in calls:
        for value in values_of_other_shape(split, dims):
            if split.values[value].is_internal and value in split.producer:
                kept.setdefault(value, Link.SHAPE)
    candidates = [
        value
        for node in split.nodes
        for value in node.outputs
        if split.values[value].is_internal and value not in kept
    ]
    room = MAX_EXTERNALS - split.source.num_externs
    if len(candidates) > room:
        largest = sorted(candidates, key=lambda v: -(split.values[v].size_bytes or 0))[:room]
        kept.update((v, Link.LIMIT) for v in candidates if v not in set(largest))
        candidates = [v for v in candidates if v not in kept]
    opened = index_graph(_externalise(split.source, candidates), what)
    return OpenedPayload(opened, tuple(candidates), kept, changes)


def _bad_externals(graph: Graph) -> str | None:
    positions = sorted(v.tensor.external_id for v in graph.values.values() if v.is_external)
    if positions != list(range(graph.source.num_externs)):
        return "arguments that are numbered with gaps"
    return None


def _externalise(source: XNNGraph, opened: Sequence[int]) -> XNNGraph:
    positions = {value: source.num_externs + i for i, value in enumerate(opened)}
    values = tuple(_with_position(xvalue, positions) for xvalue in source.xvalues or ())
    return replace(
        source,
        xvalues=values,
        num_externs=source.num_externs + len(opened),
        output_ids=(*(source.output_ids or ()), *opened),
    )


def _with_position(xvalue: XValue, positions: Mapping[int, int]) -> XValue:
    tensor = tensor_of(xvalue)
    assert tensor is not None
    position = positions.get(tensor.id_out)
    if position is None:
        return xvalue
    return with_tensor(
        xvalue, replace(tensor, external_id=position, flags=tensor.flags | EXTERNAL_OUTPUT)
    )
