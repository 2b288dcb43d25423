"""Opens the delegate calls of a method: new values, longer argument lists, new payloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod

from onearena.delegates.ethosu.payload import ETHOSU_BACKEND
from onearena.delegates.xnnpack.call import XnnpackCall, understand_call
from onearena.delegates.xnnpack.graph import (
    Graph,
    Value,
    index_graph,
    index_like,
    kinds_of,
    once_for_all_alike,
)
from onearena.delegates.xnnpack.joins import PayloadJoins
from onearena.delegates.xnnpack.opening import (
    OpenedPayload,
    Prepared,
    open_payload,
    prepare_payload,
)
from onearena.delegates.xnnpack.payload import Payload, read_payload
from onearena.delegates.xnnpack.rules import closed_reason
from onearena.delegates.xnnpack.schema import Datatype, XNNGraph
from onearena.delegates.xnnpack.shapes import values_of_other_shape, with_real_order
from onearena.delegates.xnnpack.simplify_switches import ALL_SIMPLIFICATIONS, Simplifications
from onearena.delegates.xnnpack.strips import Piece, Region
from onearena.delegates.xnnpack.workspace import WorkspacePrediction, predict_workspace
from onearena.errors import OnearenaError
from onearena.flatbuf.data import Data
from onearena.pte.container import PteFile
from onearena.pte.schema import (
    AllocationDetails,
    BackendDelegate,
    DelegateCall,
    EValue,
    ExecutionPlan,
    Instruction,
    Tensor,
)
from onearena.pte.tensors import Dynamism, ScalarType, is_dynamic, tensor_bytes

XNNPACK_BACKEND = "XnnpackBackend"
_INLINE, _SEGMENT = 0, 1
_SCALAR_TYPES: Mapping[int, ScalarType] = {
    Datatype.FP32: ScalarType.FLOAT,
    Datatype.QINT8: ScalarType.CHAR,
    Datatype.QUINT8: ScalarType.BYTE,
}


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
            if argument_problem(plan, args, graph) is not None or _any_dynamic(plan, args):
                return False
            if values_of_other_shape(graph, _argument_dims(plan, args)):
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


@dataclass(frozen=True)
class MethodJoins:
    """What may lie inside other values of a call.

    Attributes:
        fixed: values of the method that can have no parts.
        skipped: by delegate, what nodes write that are to stay.
        without: delegates in which nothing is joined.
    """

    fixed: frozenset[int] = frozenset()
    skipped: Mapping[int, frozenset[int]] = field(default_factory=dict)
    without: frozenset[int] = frozenset()


@dataclass(frozen=True)
class OpenedMethod:
    """A method with opened calls, before it is planned.

    Attributes:
        plan: the method; the places of added values are not decided.
        calls: by instruction, every call that is understood.
        added: the values that opening added.
        payloads: by delegate, the rewritten payloads.
        opened_calls: number of calls with added values.
        closed: (instruction, reason) of the calls that stay closed.
        pieces: by added value that names bytes inside another value, that value and the offset.
    """

    plan: ExecutionPlan
    calls: Mapping[int, XnnpackCall]
    added: frozenset[int]
    payloads: Mapping[int, OpenedPayload]
    opened_calls: int
    closed: tuple[tuple[int, str], ...]
    pieces: Mapping[int, tuple[int, int]] = field(default_factory=dict)


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
            found = understand_call(payload.graph, args, _any_dynamic(plan, args))
            own = _own_pieces(payload.graph, args, known) if known else {}
            result[position] = replace(found, pieces=own)
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


def _any_dynamic(plan: ExecutionPlan, args: Sequence[int]) -> bool:
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


def open_method(
    plan: ExecutionPlan,
    payloads: Mapping[int, DelegatePayload],
    what: str,
    regions: Mapping[int, Sequence[Region]] | None = None,
    switches: Simplifications = ALL_SIMPLIFICATIONS,
    joins: MethodJoins | None = None,
) -> OpenedMethod:
    """Opens every call of the method that can be opened.

    Args:
        regions: by delegate, what to run in strips; only of delegates that are called once, and
            with static shapes.
        switches: how payloads are simplified first.
        joins: what may lie inside other values of a call; None for nothing but strips.

    Raises:
        FormatError: a payload contradicts itself.
    """
    opened: dict[int, OpenedPayload] = {}
    reasons: dict[int, str] = {}
    calls_of: dict[int, list[DelegateCall]] = {}
    for _, call in delegate_calls(plan):
        calls_of.setdefault(call.delegate_index, []).append(call)
    for number, delegate in enumerate(plan.delegates or ()):
        payload = payloads.get(number)
        if payload is None:
            reasons[number] = _foreign_reason(delegate)
        elif payload.closed is not None or payload.payload is None:
            reasons[number] = payload.closed or "it could not be read"
        else:
            shapes = [_argument_dims(plan, c.args or ()) for c in calls_of.get(number, ())]
            strips = (regions or {}).get(number, ())
            own = _payload_joins(plan, number, payload, calls_of.get(number, ()), joins)
            result = open_payload(
                payload.payload.graph,
                what,
                shapes,
                strips,
                joins=own,
                prepared=payload.prepared(switches, what),
            )
            if isinstance(result, OpenedPayload) and strips:
                result = _strip_problem(plan, calls_of.get(number, ()), result) or result
            if isinstance(result, str):
                reasons[number] = result
            else:
                opened[number] = result
    for position, call in delegate_calls(plan):
        payload = payloads.get(call.delegate_index)
        if call.delegate_index in opened and payload is not None and payload.graph is not None:
            problem = argument_problem(plan, call.args or (), payload.graph)
            if problem is not None:
                # one call that does not fit keeps the payload closed for all of its calls
                del opened[call.delegate_index]
                reasons[call.delegate_index] = f"{problem} (instruction {position})"
    return _extend(plan, payloads, opened, reasons)


def _payload_joins(
    plan: ExecutionPlan,
    number: int,
    payload: DelegatePayload,
    calls: Sequence[DelegateCall],
    joins: MethodJoins | None,
) -> PayloadJoins | None:
    """What may be joined in a delegate's payload; None when nothing may."""
    if joins is None or len(calls) != 1 or not payload.is_static or number in joins.without:
        return None
    args = calls[0].args or ()
    places = {value: _place(plan, value) for value in args}
    fixed = {
        position
        for position, value in enumerate(args)
        if (own := places[value]) is None
        or value in joins.fixed
        or args.count(value) > 1
        or any(other != value and _overlap(own, place) for other, place in places.items())
    }
    return PayloadJoins(frozenset(fixed), joins.skipped.get(number, frozenset()))


def _place(plan: ExecutionPlan, value: int) -> tuple[int, int, int] | None:
    """The arena, start and end of a planned tensor."""
    tensor = (plan.values or ())[value].val
    if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
        return None
    start = tensor.allocation_info.offset
    return tensor.allocation_info.memory_id, start, start + (tensor_bytes(tensor) or 0)


def _overlap(first: tuple[int, int, int], second: tuple[int, int, int] | None) -> bool:
    return (
        second is not None
        and first[0] == second[0]
        and (first[1] < second[2] and second[1] < first[2])
    )


def _strip_problem(
    plan: ExecutionPlan, calls: Sequence[DelegateCall], payload: OpenedPayload
) -> str | None:
    """Why a payload cannot be run in strips, or None when it can."""
    if len(calls) != 1:
        return "it is called more than once"
    args, values = calls[0].args or (), plan.values or ()
    if _any_dynamic(plan, args):
        return "its shapes are known only at run time"
    for piece in payload.pieces.values():
        position = payload.graph.values[piece.whole].tensor.external_id
        tensor = values[args[position]].val if position < len(args) else None
        if isinstance(tensor, Tensor) and tensor.allocation_info is None:
            return f"argument {position} has no planned memory"
    return None


def _foreign_reason(delegate: BackendDelegate) -> str:
    if delegate.id == ETHOSU_BACKEND:
        return "Vela has planned what is inside"
    return f"backend {delegate.id!r} is not known"


def _argument_dims(plan: ExecutionPlan, args: Sequence[int]) -> dict[int, tuple[int, ...]]:
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


def _extend(
    plan: ExecutionPlan,
    payloads: Mapping[int, DelegatePayload],
    opened: Mapping[int, OpenedPayload],
    reasons: Mapping[int, str],
) -> OpenedMethod:
    values = list(plan.values or ())
    arguments: dict[int, tuple[int, ...]] = {}
    calls: dict[int, XnnpackCall] = {}
    closed: list[tuple[int, str]] = []
    opened_calls = 0
    pieces: dict[int, tuple[int, int]] = {}
    for position, call in delegate_calls(plan):
        args = call.args or ()
        payload = opened.get(call.delegate_index)
        if payload is None:
            closed.append((position, reasons.get(call.delegate_index, "it could not be read")))
            continue
        dynamic = _any_dynamic(plan, args)
        arena = _arena_for(plan, args)
        new = range(len(values), len(values) + len(payload.opened))
        values += [_value(payload.graph.values[v], dynamic, arena) for v in payload.opened]
        arguments[position] = (*args, *new)
        opened_calls += bool(payload.opened)
        opened_call = XnnpackCall(
            payload.graph, payload.kept, arguments[position], dynamic, payload.pieces
        )
        pieces.update(opened_call.parts)
        calls[position] = opened_call.fold()
    added = frozenset(range(len(plan.values or ()), len(values)))
    return OpenedMethod(
        _with_arguments(replace(plan, values=tuple(values)), arguments),
        calls,
        added,
        {number: found for number, found in opened.items() if _is_changed(found, payloads[number])},
        opened_calls,
        tuple(closed),
        pieces,
    )


def _is_changed(opened: OpenedPayload, original: DelegatePayload) -> bool:
    """Whether a payload has to be written anew: lifetimes are those of its new graph."""
    assert original.payload is not None
    return bool(opened.opened) or opened.graph.source != original.payload.graph


def _value(value: Value, dynamic: bool, arena: int) -> EValue:
    return EValue(
        Tensor(
            scalar_type=_SCALAR_TYPES[value.tensor.datatype],
            sizes=value.dims,
            dim_order=tuple(range(len(value.dims))),
            allocation_info=AllocationDetails(arena),
            shape_dynamism=Dynamism.DYNAMIC_BOUND if dynamic else Dynamism.STATIC,
        )
    )


def _arena_for(plan: ExecutionPlan, args: Sequence[int]) -> int:
    """The CPU arena that most of the call's planned arguments live in; else the first one."""
    values = plan.values or ()
    devices = {d.buffer_idx for d in plan.non_const_buffer_device or () if d.device_type != 0}
    votes: dict[int, int] = {}
    for argument in args:
        tensor = values[argument].val
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            arena = tensor.allocation_info.memory_id
            if arena not in devices and not tensor.data_buffer_idx:
                votes[arena] = votes.get(arena, 0) + 1
    if votes:
        return max(sorted(votes), key=lambda arena: votes[arena])
    return next(a for a in range(1, len(devices) + 2) if a not in devices)


def _with_arguments(plan: ExecutionPlan, arguments: Mapping[int, tuple[int, ...]]) -> ExecutionPlan:
    if not arguments:
        return plan
    chain = (plan.chains or ())[0]
    instructions: list[Instruction] = []
    for position, instruction in enumerate(chain.instructions or ()):
        call = instruction.instr_args
        if position in arguments and isinstance(call, DelegateCall):
            instructions.append(Instruction(replace(call, args=arguments[position])))
        else:
            instructions.append(instruction)
    return replace(plan, chains=(replace(chain, instructions=tuple(instructions)),))
