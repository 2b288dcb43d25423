"""Reorders an opened method: kernels between the calls, nodes inside them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace

from onearena.delegates.xnnpack.call import XnnpackCall
from onearena.delegates.xnnpack.opening import OpenedPayload
from onearena.delegates.xnnpack.schedule import schedule_payload, with_node_order
from onearena.opening import OpenedMethod
from onearena.payloads import called_delegates, delegate_calls
from onearena.pte.schema import ExecutionPlan
from onearena.reorder import reorder_kernels, reordered_plan
from onearena.scheduling.core import Schedule, find_schedule
from onearena.scheduling.model import OpenCalls, ScheduleModel, model_method
from onearena.timeline.build import Timeline
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage


@dataclass(frozen=True)
class Rescheduled:
    """A method in another order.

    Attributes:
        order: `order[new] = old` instruction; empty when no instruction moved.
    """

    opened: OpenedMethod
    order: tuple[int, ...]


def find_order(
    opened: OpenedMethod, timeline: Timeline, in_place_kernels: bool, what: str
) -> tuple[Rescheduled | None, Schedule]:
    """The method in the best order found, None when nothing moves, and what is known of it.

    Args:
        timeline: of the method as it is.
        in_place_kernels: kernels may write over operands where that is proven to be safe.

    Raises:
        FormatError: a payload contradicts itself.
    """
    model = model_opened(opened, timeline, in_place_kernels)
    schedule = find_schedule(model.problem)
    return in_order(opened, model, schedule.order, what), schedule


def model_opened(opened: OpenedMethod, timeline: Timeline, in_place_kernels: bool) -> ScheduleModel:
    """An opened method as a scheduling problem."""
    delegates = called_delegates(opened.plan)
    calls = {k: c for k, c in opened.calls.items() if delegates[k] in opened.payloads}
    strips: dict[int, Collection[int]] = {}
    for instruction in calls:
        made = opened.payloads[delegates[instruction]].strips
        if made is not None:
            strips[instruction] = made.parts.keys()
    return model_method(timeline, OpenCalls(calls, strips), in_place_kernels)


def in_order(
    opened: OpenedMethod, model: ScheduleModel, order: Sequence[int], what: str
) -> Rescheduled | None:
    """An opened method with the operations of its model in some order; None when nothing moves.

    A payload that is called more than once gets the order that its first call has.

    Raises:
        FormatError: a payload contradicts itself.
    """
    delegates = called_delegates(opened.plan)
    units = [model.units[k] for k in order]
    payloads = dict(opened.payloads)
    nodes_of: dict[int, list[int]] = {}
    for unit in units:
        nodes_of.setdefault(unit.instruction, []).extend(unit.nodes)
    for instruction in sorted(nodes_of, reverse=True):
        nodes, number = nodes_of[instruction], delegates.get(instruction)
        if nodes and number is not None:
            payloads[number] = with_node_order(opened.payloads[number], nodes, what)
    return _applied(opened, tuple(nodes_of), payloads)


def order_bound_bytes(timeline: Timeline, in_place_kernels: bool = True) -> int | None:
    """No order of a method's kernels, and of the nodes inside its calls, has less alive at its
    peak (see `scheduling.model` for what that assumes). None for methods with kernels that run once
    more: memory that is free in between is not modelled."""
    if timeline.method.remade:
        return None
    model = model_method(timeline, OpenCalls(timeline.method.calls), in_place_kernels)
    return find_schedule(model.problem).bound_bytes


def rescheduled(
    opened: OpenedMethod, steps: MethodSteps, storage: Storage, what: str
) -> Rescheduled | None:
    """The method in an order that is better step by step: first the instructions, then the nodes of
    each call. None when nothing moves.

    Raises:
        FormatError: a payload contradicts itself.
    """
    moved = reorder_kernels(steps, storage)
    order = moved.order if moved else tuple(range(len(steps.instructions)))
    payloads = {
        number: schedule_payload(
            payload, _persistent(opened.plan, number, steps, storage, order), what
        )
        for number, payload in opened.payloads.items()
    }
    return _applied(opened, order, payloads)


def _applied(
    opened: OpenedMethod, order: tuple[int, ...], payloads: Mapping[int, OpenedPayload]
) -> Rescheduled | None:
    same = order == tuple(range(len(order)))
    if same and all(payloads[k] is payload for k, payload in opened.payloads.items()):
        return None
    plan = opened.plan if same else reordered_plan(opened.plan, order)
    position_of = {old: new for new, old in enumerate(order)}
    calls = {position_of[k]: call for k, call in opened.calls.items()}
    result = replace(opened, plan=plan, calls=calls)
    closed = tuple(sorted((position_of[k], reason) for k, reason in opened.closed))
    new_calls = _with_payloads(result, calls, payloads)
    result = replace(result, calls=new_calls, payloads=payloads, closed=closed)
    return Rescheduled(result, () if same else order)


def _with_payloads(
    method: OpenedMethod, calls: Mapping[int, XnnpackCall], payloads: Mapping[int, OpenedPayload]
) -> dict[int, XnnpackCall]:
    delegate_of = called_delegates(method.plan)
    return {
        position: replace(call, graph=payloads[delegate_of[position]].graph)
        if delegate_of[position] in payloads
        else call
        for position, call in calls.items()
    }


def _persistent(
    plan: ExecutionPlan,
    delegate: int,
    steps: MethodSteps,
    storage: Storage,
    order: tuple[int, ...],
) -> frozenset[int]:
    """Argument positions of a payload whose memory some call does not let die."""
    position_of = {old: new for new, old in enumerate(order)}
    found: set[int] = set()
    for instruction, call in delegate_calls(plan):
        if call.delegate_index != delegate:
            continue
        for position, value in enumerate(call.args or ()):
            if _used_after(value, position_of[instruction], steps, storage, position_of):
                found.add(position)
    return frozenset(found)


def _used_after(
    value: int,
    instruction: int,
    steps: MethodSteps,
    storage: Storage,
    position_of: Mapping[int, int],
) -> bool:
    if value in storage.state or value in storage.pinned:
        return True
    group = next((g for g in storage.groups if value in g), (value,))
    for member in group:
        for step in storage.touches.get(member, ()):
            number = steps.steps[step].instruction
            if position_of.get(number, number) > instruction:
                return True
    return False
