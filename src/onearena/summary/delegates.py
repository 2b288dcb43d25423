"""What the delegates of a method take beside the arenas."""

from __future__ import annotations

from onearena.delegates.ethosu.payload import ETHOSU_BACKEND, EthosUPayload
from onearena.delegates.xnnpack.workspace import indirection_bytes, predict_workspace
from onearena.errors import FormatError
from onearena.flatbuf.data import data_size
from onearena.payloads import XNNPACK_BACKEND, DelegatePayload, delegate_calls, payload_data
from onearena.program import AnalysedMethod
from onearena.pte.container import PteFile
from onearena.pte.schema import BackendDelegate
from onearena.summary.model import DelegateSummary, Workspace


def delegate_summaries(
    file: PteFile, method: AnalysedMethod, inner: frozenset[int]
) -> tuple[DelegateSummary, ...]:
    """One summary per delegate.

    Args:
        inner: the values that are activations of opened delegates.
    """
    calls: dict[int, list[int]] = {}
    opened: set[int] = set()
    for position, call in delegate_calls(method.plan):
        calls.setdefault(call.delegate_index, []).append(position)
        if inner.intersection(call.args or ()):
            opened.add(call.delegate_index)
    found: list[DelegateSummary] = []
    for number, delegate in enumerate(method.plan.delegates or ()):
        where, payload = tuple(calls.get(number, ())), method.payloads.get(number)
        ethosu = method.ethosu.get(number)
        if ethosu is not None and ethosu.payload is not None:
            found.append(_ethosu(file, number, method, where, ethosu.payload))
        else:
            found.append(_summary(file, number, delegate, where, payload, number in opened))
    return tuple(found)


def _ethosu(
    file: PteFile,
    number: int,
    method: AnalysedMethod,
    calls: tuple[int, ...],
    payload: EthosUPayload,
) -> DelegateSummary:
    """Its scratch comes from the temp allocator: beside the arenas, if it has no region there."""
    data = payload_data(file, (method.plan.delegates or ())[number])
    return DelegateSummary(
        number=number,
        backend=ETHOSU_BACKEND,
        calls=calls,
        is_opened=False,
        closed="Vela has planned what is inside",
        payload_bytes=None if data is None else data_size(data),
        nodes=None,
        workspace_bytes=payload.scratch_bytes if method.temp is None else 0,
        indirection_bytes=0,
        weights_bytes=payload.weight_bytes,
        notes=(),
    )


def _summary(
    file: PteFile,
    number: int,
    delegate: BackendDelegate,
    calls: tuple[int, ...],
    payload: DelegatePayload | None,
    is_opened: bool,
) -> DelegateSummary:
    data = payload_data(file, delegate)
    backend = delegate.id or "delegate"
    size = None if data is None else data_size(data)
    if payload is None or payload.graph is None or payload.payload is None:
        reason = payload.closed if payload else f"backend {backend!r} is not known"
        return DelegateSummary(
            number, backend, calls, False, reason, size, None, None, None, None, ()
        )
    source = payload.graph.source
    try:
        predicted = predict_workspace(source)
        workspace: int | None = predicted.total_bytes
        indirection: int | None = indirection_bytes(source)
        notes = predicted.notes
    except FormatError as error:
        workspace = indirection = None
        notes = (str(error),)
    return DelegateSummary(
        number,
        backend,
        calls,
        is_opened,
        payload.closed,
        size,
        len(payload.graph.nodes),
        workspace,
        indirection,
        sum(entry.size for entry in source.constant_data or ()),
        notes,
    )


def workspace(delegates: tuple[DelegateSummary, ...]) -> Workspace:
    """The workspace under each sharing mode, of the delegates that are called."""
    called = [delegate for delegate in delegates if delegate.calls]
    unknown = dict.fromkeys(d.backend for d in called if d.workspace_bytes is None)
    if unknown:
        return Workspace(None, None, None, tuple(unknown))
    sizes = [d.workspace_bytes or 0 for d in called if d.backend == XNNPACK_BACKEND]
    # whatever the mode, calls that use the temp allocator use it one after the other
    temp = max((d.workspace_bytes or 0 for d in called if d.backend == ETHOSU_BACKEND), default=0)
    shared = max(sizes, default=0) + temp
    return Workspace(sum(sizes) + temp, shared, shared, ())
