"""Opens the delegate calls of a method: new values, longer argument lists, new payloads."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from onearena.delegates.ethosu.payload import ETHOSU_BACKEND
from onearena.delegates.xnnpack.call import XnnpackCall
from onearena.delegates.xnnpack.graph import Value
from onearena.delegates.xnnpack.joins import PayloadJoins
from onearena.delegates.xnnpack.opening import OpenedPayload, open_payload
from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.simplify_switches import ALL_SIMPLIFICATIONS, Simplifications
from onearena.delegates.xnnpack.strips import Region
from onearena.payloads import (
    DelegatePayload,
    any_dynamic,
    argument_dims,
    argument_problem,
    delegate_calls,
)
from onearena.pte.schema import (
    AllocationDetails,
    BackendDelegate,
    DelegateCall,
    EValue,
    ExecutionPlan,
    Instruction,
    Tensor,
)
from onearena.pte.tensors import Dynamism, ScalarType, tensor_bytes

_SCALAR_TYPES: Mapping[int, ScalarType] = {
    Datatype.FP32: ScalarType.FLOAT,
    Datatype.QINT8: ScalarType.CHAR,
    Datatype.QUINT8: ScalarType.BYTE,
}


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
            shapes = [argument_dims(plan, c.args or ()) for c in calls_of.get(number, ())]
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
    if any_dynamic(plan, args):
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
        dynamic = any_dynamic(plan, args)
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
