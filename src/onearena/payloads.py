"""The payloads of a method's delegates, and its calls of them, as they stand in a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from onearena.delegates.xnnpack.call import XnnpackCall, understand_call
from onearena.delegates.xnnpack.graph import (
    Graph,
    index_graph,
    index_like,
    kinds_of,
    once_for_all_alike,
)
from onearena.delegates.xnnpack.opening import Prepared, prepare_payload
from onearena.delegates.xnnpack.payload import Payload, read_payload
from onearena.delegates.xnnpack.rules import closed_reason
from onearena.delegates.xnnpack.schema import XNNGraph
from onearena.delegates.xnnpack.shapes import values_of_other_shape, with_real_order
from onearena.delegates.xnnpack.simplify_switches import Simplifications
from onearena.delegates.xnnpack.strips import Piece
from onearena.delegates.xnnpack.workspace import WorkspacePrediction, predict_workspace
from onearena.errors import OnearenaError
from onearena.flatbuf.data import Data
from onearena.pte.container import PteFile
from onearena.pte.schema import BackendDelegate, DelegateCall, ExecutionPlan, Tensor
from onearena.pte.tensors import is_dynamic

XNNPACK_BACKEND = "XnnpackBackend"
_SEGMENT = 1
"""Where a payload is that is no inline data."""


@dataclass(frozen=True)
class DelegatePayload:
    """The XNNPACK payload of one delegate of a method, as read.

    Attributes:
        payload: decoded; None when it could not be.
        closed: why nothing inside it can be planned; None when something can.
        graph: indexed; None when it could not be.
        plan, calls: the method, and its calls of the delegate.
    """

    payload: Payload | None
    graph: Graph | None
    closed: str | None
    plan: ExecutionPlan | None = field(default=None, repr=False)
    calls: tuple[DelegateCall, ...] = ()
    _prepared: dict[Simplifications, Prepared | str] = field(
        init=False, repr=False, compare=False, default_factory=dict
    )

    @cached_property
    def is_static(self) -> bool:
        """Whether every call gives it the shapes that it declares: they are those at run time."""
        graph, plan = self.graph, self.plan
        if graph is None or plan is None or self.closed is not None:
            return False
        for call in self.calls:
            args = call.args or ()
            if argument_problem(plan, args, graph) is not None or any_dynamic(plan, args):
                return False
            if values_of_other_shape(graph, argument_dims(plan, args)):
                return False
        return True

    def prepared(self, switches: Simplifications, what: str) -> Prepared | str:
        """As it is opened, which many drafts begin with; the reason when it cannot be.

        Raises:
            FormatError: the graph contradicts itself.
        """
        assert self.graph is not None
        if switches not in self._prepared:
            found = prepare_payload(self.graph, what, switches, self.is_static)
            self._prepared[switches] = found
        return self._prepared[switches]

    @cached_property
    def workspace(self) -> WorkspacePrediction | None:
        """What its delegate needs at the shapes it declares; None without a graph.

        Raises:
            FormatError: the graph is malformed.
        """
        return None if self.graph is None else _workspace(self.graph)


@once_for_all_alike
def _workspace(graph: Graph) -> WorkspacePrediction:
    return predict_workspace(graph)


def payload_data(file: PteFile, delegate: BackendDelegate) -> Data | None:
    """The bytes of a delegate's payload; None when the reference leads nowhere."""
    where = delegate.processed
    if where is None:
        return None
    if where.location == _SEGMENT:
        return file.segments[where.index].data if where.index < len(file.segments) else None
    inline = file.program.backend_delegate_data or ()
    return inline[where.index].data if where.index < len(inline) else None


def read_payloads(file: PteFile, plan: ExecutionPlan) -> dict[int, DelegatePayload]:
    """Decodes the XNNPACK payloads of a method, by delegate. What cannot be decoded is closed."""
    result: dict[int, DelegatePayload] = {}
    calls: dict[int, list[DelegateCall]] = {}
    known: dict[tuple[type, ...], list[Graph]] = {}
    for _, call in delegate_calls(plan):
        calls.setdefault(call.delegate_index, []).append(call)
    for number, delegate in enumerate(plan.delegates or ()):
        if delegate.id == XNNPACK_BACKEND:
            what = f"{file.path}: method {plan.name!r}: delegate {number}"
            payload = _read(payload_data(file, delegate), what, known)
            result[number] = replace(payload, plan=plan, calls=tuple(calls.get(number, ())))
    return result


def _read(
    data: Data | None, what: str, known: dict[tuple[type, ...], list[Graph]]
) -> DelegatePayload:
    if data is None:
        return DelegatePayload(None, None, "its payload is missing")
    try:
        payload = read_payload(data, what)
        graph = _indexed(payload.graph, what, known)
        payload = replace(payload, graph=graph.source)
    except OnearenaError as error:
        return DelegatePayload(None, None, str(error).removeprefix(f"{what}: "))
    if not payload.has_header and payload.graph.constant_buffer:
        return DelegatePayload(payload, graph, "its constants are stored in the old way")
    return DelegatePayload(payload, graph, closed_reason(graph))


def _indexed(source: XNNGraph, what: str, known: dict[tuple[type, ...], list[Graph]]) -> Graph:
    """The graph of a payload; the layers of a network mostly have graphs that are alike.

    Args:
        known: those that are not, by their operators; grows.
    """
    candidates = known.setdefault(kinds_of(source), [])
    for candidate in candidates:
        graph = index_like(source, candidate)
        if graph is not None:
            return graph
    graph = with_real_order(index_graph(source, what), what)
    if graph.source is source:
        candidates.append(graph)
    return graph


def understood_calls(
    plan: ExecutionPlan,
    payloads: Mapping[int, DelegatePayload],
    pieces: Iterable[tuple[int, int, int]] = (),
) -> dict[int, XnnpackCall]:
    """By instruction, the XNNPACK calls whose inside is understood, as they stand.

    Args:
        pieces: (value, value, offset in bytes): the first names bytes inside the second.
    """
    result: dict[int, XnnpackCall] = {}
    known = {value: (whole, offset) for value, whole, offset in pieces}
    for position, call in delegate_calls(plan):
        payload = payloads.get(call.delegate_index)
        if payload is None or payload.graph is None or payload.closed is not None:
            continue
        args = call.args or ()
        if argument_problem(plan, args, payload.graph) is None:
            found = understand_call(payload.graph, args, any_dynamic(plan, args))
            own = _own_pieces(payload.graph, args, known) if known else {}
            result[position] = replace(found, pieces=own) if own else found
    return result


def _own_pieces(
    graph: Graph, args: Sequence[int], pieces: Mapping[int, tuple[int, int]]
) -> dict[int, Piece]:
    """The pieces among a call's arguments, in values of its payload."""
    identifier = {args[position]: value for position, value in graph.externals.items()}
    return {
        identifier[value]: Piece(identifier[pieces[value][0]], pieces[value][1])
        for value in args
        if value in pieces and pieces[value][0] in identifier
    }


def delegate_calls(plan: ExecutionPlan) -> list[tuple[int, DelegateCall]]:
    """The delegate calls of a method with their instruction numbers."""
    chains = plan.chains or ()
    instructions = chains[0].instructions or () if chains else ()
    return [
        (position, instruction.instr_args)
        for position, instruction in enumerate(instructions)
        if isinstance(instruction.instr_args, DelegateCall)
    ]


def called_delegates(plan: ExecutionPlan) -> dict[int, int]:
    """By instruction, the number of the delegate that it calls."""
    return {position: call.delegate_index for position, call in delegate_calls(plan)}


def any_dynamic(plan: ExecutionPlan, args: Sequence[int]) -> bool:
    """Whether the shape of some argument is known only at run time."""
    values = plan.values or ()
    return any(isinstance(v := values[a].val, Tensor) and is_dynamic(v) for a in args)


def argument_problem(plan: ExecutionPlan, args: Sequence[int], graph: Graph) -> str | None:
    """Why the arguments do not fit the payload, or None when they do."""
    values = plan.values or ()
    if len(args) != graph.source.num_externs or sorted(graph.externals) != list(range(len(args))):
        return f"it takes {graph.source.num_externs} arguments and is given {len(args)}"
    for position, identifier in graph.externals.items():
        value = graph.values[identifier]
        tensor = values[args[position]].val if 0 <= args[position] < len(values) else None
        if not isinstance(tensor, Tensor):
            return f"argument {position} is not a tensor"
        count = prod(tensor.sizes or ())
        if count != value.element_count:
            return f"argument {position} has {count} elements, the payload says otherwise"
        is_output = bool(value.tensor.flags & 2)
        if is_output != (identifier in graph.producer):
            return f"argument {position} is an output that nothing writes, or is written unasked"
    return None


def argument_dims(plan: ExecutionPlan, args: Sequence[int]) -> dict[int, tuple[int, ...]]:
    """By argument position, the shape of a tensor in storage order."""
    values = plan.values or ()
    result: dict[int, tuple[int, ...]] = {}
    for position, value in enumerate(args):
        tensor = values[value].val
        if isinstance(tensor, Tensor):
            sizes, order = tensor.sizes or (), tensor.dim_order or ()
            valid = sorted(order) == list(range(len(sizes)))
            result[position] = tuple(sizes[axis] for axis in order) if valid else sizes
    return result
