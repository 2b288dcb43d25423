"""The Ethos-U delegates of a method: their payloads, and what their calls read and write."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onearena.delegates.ethosu.payload import ETHOSU_BACKEND, EthosUPayload, read_payload
from onearena.errors import FormatError
from onearena.payloads import payload_data
from onearena.pte.container import PteFile
from onearena.pte.schema import DelegateCall, ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes


@dataclass(frozen=True)
class EthosUDelegate:
    """The payload of one delegate, as read.

    Attributes:
        payload: None when it could not be read.
        problem: why not.
    """

    payload: EthosUPayload | None
    problem: str = ""


def read_delegates(file: PteFile, plan: ExecutionPlan) -> dict[int, EthosUDelegate]:
    """The Ethos-U delegates of a method, by number. What cannot be read has a problem."""
    return {
        number: _read(file, plan, number)
        for number, delegate in enumerate(plan.delegates or ())
        if delegate.id == ETHOSU_BACKEND
    }


def _read(file: PteFile, plan: ExecutionPlan, number: int) -> EthosUDelegate:
    data = payload_data(file, (plan.delegates or ())[number])
    if data is None:
        return EthosUDelegate(None, "its payload is missing")
    try:
        return EthosUDelegate(read_payload(data, "its payload"))
    except FormatError as error:
        return EthosUDelegate(None, str(error))


def call_problem(plan: ExecutionPlan, call: DelegateCall, payload: EthosUPayload) -> str | None:
    """Why the arguments of a call do not fit the payload, or None when they do.

    The backend copies inputs into the scratch, each as large as its tensor, and outputs out of
    it; that must stay inside (`EthosUBackend.cpp`).
    """
    values, args = plan.values or (), call.args or ()
    borders = (*payload.inputs, *payload.outputs)
    if len(args) != len(borders):
        return f"it takes {len(borders)} arguments and is given {len(args)}"
    for position, (index, border) in enumerate(zip(args, borders, strict=True)):
        tensor = values[index].val if 0 <= index < len(values) else None
        size = tensor_bytes(tensor) if isinstance(tensor, Tensor) else None
        if size is None:
            return f"argument {position} is no tensor of a known size"
        if position < len(payload.inputs) and border.offset + size > payload.scratch_bytes:
            return f"argument {position} of {size:,} B does not fit into its scratch"
    return None


def call_boundaries(
    plan: ExecutionPlan, delegates: Mapping[int, EthosUDelegate]
) -> Iterable[tuple[int, tuple[tuple[int, ...], tuple[int, ...]]]]:
    """By instruction, the values that a call reads and writes, where its payload tells."""
    for chain in (plan.chains or ())[:1]:
        for position, instruction in enumerate(chain.instructions or ()):
            call = instruction.instr_args
            if not isinstance(call, DelegateCall):
                continue
            found = delegates.get(call.delegate_index)
            payload = found.payload if found else None
            if payload is not None and call_problem(plan, call, payload) is None:
                args, count = call.args or (), len(payload.inputs)
                reads, writes = args[:count], args[count:]
                yield position, (tuple(dict.fromkeys(reads)), tuple(dict.fromkeys(writes)))
