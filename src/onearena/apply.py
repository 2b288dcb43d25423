"""Plan → program: offsets into the values, sizes into the arenas, payloads into the file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from onearena.delegates.xnnpack.payload import Payload, build_payload
from onearena.delegates.xnnpack.schema import XNNGraph
from onearena.flatbuf.data import Data
from onearena.opening import OpenedMethod
from onearena.payloads import DelegatePayload
from onearena.problem import Plan
from onearena.pte.container import PteFile, Segment
from onearena.pte.named_data import segments_of_data, with_named_data
from onearena.pte.places import placed_at
from onearena.pte.schema import (
    AllocationDetails,
    BackendDelegate,
    BackendDelegateDataReference,
    BackendDelegateInlineData,
    EValue,
    ExecutionPlan,
    Program,
    Tensor,
)
from onearena.pte.tensors import tensor_bytes
from onearena.record import KEY
from onearena.timeline.build import Timeline

XNNPACK_TAIL_BYTES = 64
"""XNNPACK reads up to 16 bytes past the end of a tensor (XNN_EXTRA_BYTES); like ExecuTorch's
memory planning we leave 64 bytes behind the last tensor of an arena that it uses."""
_SEGMENT = 1
_PAYLOAD_ALIGNMENT = 16


def place_values(
    plan: ExecutionPlan,
    timeline: Timeline,
    solution: Plan,
    tail_bytes: int,
    pieces: Mapping[int, tuple[int, int]] | None = None,
) -> ExecutionPlan:
    """Writes a plan's offsets and arena sizes into a method.

    Args:
        tail_bytes: bytes to leave free behind the last tensor of each arena.
        pieces: by value that is a part of another one, that one and the offset in it.
    """
    values = list(plan.values or ())
    for buffer, value in enumerate(timeline.values):
        values[value] = placed_at(values[value], solution.offsets[buffer])
    for value, (whole, offset) in (pieces or {}).items():
        values[value] = _inside(values[value], values[whole], offset)
    for index, entry in enumerate(values):
        tensor = entry.val
        planned = isinstance(tensor, Tensor) and tensor.allocation_info is not None
        if planned and isinstance(tensor, Tensor) and tensor_bytes(tensor) == 0:
            values[index] = placed_at(entry, 0)
    sizes = list(plan.non_const_buffer_sizes or (0,))
    for arena, height in solution.height_bytes.items():
        while len(sizes) <= arena:
            sizes.append(0)
        padded = height + (tail_bytes if height else 0)
        sizes[arena] = padded + -padded % 16
    return replace(plan, values=tuple(values), non_const_buffer_sizes=tuple(sizes))


def _inside(entry: EValue, whole: EValue, offset: int) -> EValue:
    tensor, around = entry.val, whole.val
    assert isinstance(tensor, Tensor)
    assert isinstance(around, Tensor)
    assert around.allocation_info is not None
    info = around.allocation_info
    place = AllocationDetails.at(info.memory_id, info.offset + offset)
    return EValue(replace(tensor, allocation_info=place))


@dataclass(frozen=True)
class NewMethod:
    """A method to put into the file: its plan, and which payloads changed."""

    plan: ExecutionPlan
    opened: OpenedMethod
    originals: Mapping[int, DelegatePayload]


def rewrite_file(file: PteFile, methods: Mapping[int, NewMethod], record: bytes) -> PteFile:
    """Replaces methods of a file, with their payloads, and adds the record.

    Args:
        methods: by position in the program; methods that are not named stay as they are.
        record: what is kept under `record.KEY` in the named data.
    """
    plans = list(file.program.execution_plan or ())
    store = _Payloads(file, methods)
    for position, method in methods.items():
        delegates = list(method.plan.delegates or ())
        for number, opened in method.opened.payloads.items():
            original = method.originals[number].payload
            assert original is not None
            payload = replace(original, graph=opened.graph.source)
            delegates[number] = store.put(delegates[number], payload)
        if method.opened.payloads:
            plans[position] = replace(method.plan, delegates=tuple(delegates))
        else:
            plans[position] = method.plan
    program = replace(
        file.program,
        execution_plan=tuple(plans),
        backend_delegate_data=store.inline(),
    )
    program, segments = with_named_data(program, store.segments(), KEY, record)
    return file.with_program(program, segments)


class _Payloads:
    """Where rewritten payloads go: over the old one when nobody else needs it, else behind."""

    def __init__(self, file: PteFile, methods: Mapping[int, NewMethod]) -> None:
        self._segments = list(file.segments)
        self._inline = list(file.program.backend_delegate_data or ())
        self._had_inline = file.program.backend_delegate_data is not None
        self._kept = _kept_references(file.program, methods)
        self._placed: dict[
            tuple[int, int], list[tuple[XNNGraph, BackendDelegateDataReference]]
        ] = {}

    def put(self, delegate: BackendDelegate, payload: Payload) -> BackendDelegate:
        """Stores a rewritten payload and points the delegate at it. Methods that share an
        original share the rewritten one as long as they want the same."""
        old = delegate.processed
        assert old is not None
        key = (old.location, old.index)
        placed = self._placed.setdefault(key, [])
        for graph, reference in placed:
            if graph == payload.graph:
                return replace(delegate, processed=reference)
        reference = self._store(key, build_payload(payload), fresh=bool(placed))
        placed.append((payload.graph, reference))
        return replace(delegate, processed=reference)

    def _store(self, key: tuple[int, int], data: Data, fresh: bool) -> BackendDelegateDataReference:
        location, index = key
        fresh |= key in self._kept
        if location == _SEGMENT:
            segment = Segment(data, max(self._segments[index].alignment, _PAYLOAD_ALIGNMENT))
            if fresh:
                index = len(self._segments)
                self._segments.append(segment)
            else:
                self._segments[index] = segment
        else:
            entry = BackendDelegateInlineData(data)
            if fresh:
                index = len(self._inline)
                self._inline.append(entry)
            else:
                self._inline[index] = entry
        return BackendDelegateDataReference(location, index)

    def segments(self) -> tuple[Segment, ...]:
        return tuple(self._segments)

    def inline(self) -> tuple[BackendDelegateInlineData, ...] | None:
        return tuple(self._inline) if self._inline or self._had_inline else None


def _kept_references(program: Program, methods: Mapping[int, NewMethod]) -> set[tuple[int, int]]:
    """(location, index) of data that something besides the rewritten delegates needs."""
    kept: set[tuple[int, int]] = set()
    for position, plan in enumerate(program.execution_plan or ()):
        rewritten = methods[position].opened.payloads if position in methods else {}
        for number, delegate in enumerate(plan.delegates or ()):
            if number not in rewritten and delegate.processed is not None:
                kept.add((delegate.processed.location, delegate.processed.index))
    kept.update((_SEGMENT, number) for number in segments_of_data(program))
    return kept
