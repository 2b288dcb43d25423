"""Reorders an opened method: kernels between the calls, nodes inside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from onearena.delegates.xnnpack.call import XnnpackCall
from onearena.delegates.xnnpack.opening import OpenedPayload
from onearena.delegates.xnnpack.schedule import schedule_payload
from onearena.opening import OpenedMethod, called_delegates, delegate_calls
from onearena.reorder import reorder_kernels
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage


def rescheduled(
    opened: OpenedMethod, steps: MethodSteps, storage: Storage, what: str
) -> tuple[OpenedMethod, tuple[int, ...]]:
    """The method in a better order, and that order (`order[new] = old`, empty when no
    instruction moved). Returns `opened` itself when nothing moved at all.

    Raises:
        FormatError: a payload contradicts itself.
    """
    moved = reorder_kernels(steps, storage)
    plan, order = (moved.plan, moved.order) if moved else (opened.plan, ())
    position_of = {old: new for new, old in enumerate(order)}
    calls = {position_of.get(k, k): call for k, call in opened.calls.items()}
    payloads: dict[int, OpenedPayload] = {}
    result = replace(opened, plan=plan, calls=calls)
    changed = moved is not None
    for number, payload in opened.payloads.items():
        better = schedule_payload(payload, _persistent(result, number, steps, storage, order), what)
        changed |= better is not payload
        payloads[number] = better
    if not changed:
        return opened, ()
    closed = tuple(sorted((position_of.get(k, k), reason) for k, reason in opened.closed))
    new_calls = _with_payloads(result, calls, payloads)
    return replace(result, calls=new_calls, payloads=payloads, closed=closed), order


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
    method: OpenedMethod,
    delegate: int,
    steps: MethodSteps,
    storage: Storage,
    order: tuple[int, ...],
) -> frozenset[int]:
    """Argument positions of a payload whose memory some call does not let die."""
    position_of = {old: new for new, old in enumerate(order)}
    found: set[int] = set()
    for instruction, call in delegate_calls(method.plan):
        if call.delegate_index != delegate:
            continue
        for position, value in enumerate(call.args or ()):
            if _used_after(value, instruction, steps, storage, position_of):
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
