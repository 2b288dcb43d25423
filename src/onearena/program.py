"""A program prepared for analysis: per method the payloads, the steps, the timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from onearena.arena_base import recorded_leads
from onearena.delegates.ethosu.calls import EthosUDelegate, call_boundaries, read_delegates
from onearena.delegates.xnnpack.schema import XNNGraph
from onearena.delegates.xnnpack.workspace import predict_workspace, program_workspace
from onearena.elision import Elision, elide_copies
from onearena.errors import AnalysisError
from onearena.export_record import ExportedMethod, exported_method
from onearena.payloads import (
    DelegatePayload,
    argument_problem,
    delegate_calls,
    read_payloads,
    understood_calls,
)
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.record import MethodRecord, TempRecord, read_record
from onearena.repetition import Repeat, Repeated, repeat
from onearena.temp_memory.demand import find_demand, target_isa
from onearena.temp_memory.region import TempRegion
from onearena.timeline.access import Memory
from onearena.timeline.build import Timeline, build_timeline
from onearena.timeline.steps import MethodSteps, method_steps


@dataclass(frozen=True)
class AnalysedMethod:
    """A method as it stands in a file.

    Attributes:
        payloads: of its XNNPACK delegates, by number.
        ethosu: its Ethos-U delegates, by number.
        temp: where the record says that the application's temp allocator is.
        exported: what the exporter noted; None when it noted nothing.
        leads: by arena, what the record says is free in front, in bytes.
    """

    plan: ExecutionPlan
    payloads: Mapping[int, DelegatePayload]
    steps: MethodSteps
    timeline: Timeline
    ethosu: Mapping[int, EthosUDelegate] = field(default_factory=dict)
    temp: TempRecord | None = None
    exported: ExportedMethod | None = None
    leads: Mapping[int, int] = field(default_factory=dict)

    @cached_property
    def workspace_bytes(self) -> int:
        """What its XNNPACK delegates need, predicted.

        Raises:
            FormatError: a delegate's graph is malformed.
        """
        called = (self.payloads.get(number) for number in sorted(_called(self.plan)))
        found = (payload.workspace for payload in called if payload is not None)
        return program_workspace(workspace for workspace in found if workspace is not None)


def method_label(file: PteFile, plan: ExecutionPlan) -> str:
    """How errors name a method."""
    return f"{file.path}: method {plan.name!r}"


def analyse_steps(
    file: PteFile, plan: ExecutionPlan
) -> tuple[dict[int, DelegatePayload], MethodSteps]:
    """The payloads and steps of a method as it stands.

    Raises:
        AnalysisError: the method contradicts itself.
    """
    return _analyse_steps(file, plan, exported_method(file, plan), method_record(file, plan))


def _analyse_steps(
    file: PteFile,
    plan: ExecutionPlan,
    exported: ExportedMethod | None,
    entry: MethodRecord | None,
) -> tuple[dict[int, DelegatePayload], MethodSteps]:
    for arena, size in enumerate(plan.non_const_buffer_sizes or ()):
        if size < 0:
            raise AnalysisError(f"{method_label(file, plan)}: arena {arena} of {size} bytes")
    payloads = read_payloads(file, plan)
    calls = understood_calls(plan, payloads, entry.pieces if entry else ())
    edges = boundaries(plan, payloads, read_delegates(file, plan))
    state = exported.state_values if exported else frozenset()
    return payloads, method_steps(plan, calls, method_label(file, plan), edges, state)


def analyse_method(file: PteFile, plan: ExecutionPlan) -> AnalysedMethod:
    """Analyses a method as it stands.

    Raises:
        AnalysisError: the method contradicts itself.
    """
    exported, entry = exported_method(file, plan), method_record(file, plan)
    payloads, steps = _analyse_steps(file, plan, exported, entry)
    ethosu = read_delegates(file, plan)
    temp, leads = entry.temp if entry else None, recorded_leads(plan, entry)
    region = _recorded_region(plan, ethosu, temp)
    timeline = build_timeline(steps, temp=region)
    return AnalysedMethod(plan, payloads, steps, timeline, ethosu, temp, exported, leads)


def without_copies(method: AnalysedMethod) -> tuple[AnalysedMethod, Elision] | None:
    """A method whose kernels that need not copy are left out, see `elision.py`; None when there
    are none.

    Raises:
        AnalysisError: the method contradicts itself.
    """
    found = elide_copies(method.steps, method.timeline.storage)
    if found is None:
        return None
    return _with_plan(method, found.plan, found.order, sources=found.sources), found


def with_repeats(
    method: AnalysedMethod, repeats: Sequence[Repeat]
) -> tuple[AnalysedMethod, Repeated] | None:
    """A method some of whose kernels run once more, see `repetition.py`; None when they cannot.

    Raises:
        AnalysisError: the method contradicts itself.
    """
    found = repeat(method.steps, method.timeline.storage, repeats)
    if found is None:
        return None
    sources, remade = method.steps.sources, method.steps.remade | found.remade
    return _with_plan(method, found.plan, found.order, sources, remade), found


def _with_plan(
    method: AnalysedMethod,
    plan: ExecutionPlan,
    order: Sequence[int],
    sources: Mapping[int, tuple[int, ...]],
    remade: frozenset[int] = frozenset(),
) -> AnalysedMethod:
    known = method.steps.calls
    calls = {new: known[old] for new, old in enumerate(order) if old in known}
    edges = boundaries(plan, method.payloads, method.ethosu)
    steps = method_steps(plan, calls, method.steps.what, edges, method.steps.known_state)
    steps = replace(steps, sources=sources, remade=remade)
    return replace(method, plan=plan, steps=steps, timeline=build_timeline(steps))


def recorded_temp(file: PteFile, plan: ExecutionPlan) -> TempRecord | None:
    """Where the record of a file says that a method's temp allocator is."""
    entry = method_record(file, plan)
    return entry.temp if entry else None


def method_record(file: PteFile, plan: ExecutionPlan) -> MethodRecord | None:
    """What the record of a file says of a method."""
    record = read_record(file)
    return record.methods.get(plan.name or "") if record else None


def _recorded_region(
    plan: ExecutionPlan, ethosu: Mapping[int, EthosUDelegate], temp: TempRecord | None
) -> TempRegion | None:
    """A region as the record has it; None without one, and when nothing uses it."""
    if temp is None:
        return None
    region = find_demand(plan, ethosu, target_isa(temp.target)).region
    return replace(region, arena=temp.arena, size_bytes=temp.size_bytes) if region else None


def boundaries(
    plan: ExecutionPlan,
    payloads: Mapping[int, DelegatePayload],
    ethosu: Mapping[int, EthosUDelegate] | None = None,
) -> dict[int, tuple[tuple[int, ...], tuple[int, ...]]]:
    """By instruction of a call that stays closed, the values it reads and writes, where its
    payload tells.

    Args:
        payloads, ethosu: by delegate, of XNNPACK and of Ethos-U.
    """
    result = dict(call_boundaries(plan, ethosu or {}))
    for position, call in delegate_calls(plan):
        payload = payloads.get(call.delegate_index)
        args = call.args or ()
        if payload is None or payload.graph is None or payload.closed is None:
            continue
        if argument_problem(plan, args, payload.graph) is not None:
            continue
        graph = payload.graph
        written = {p for p, v in graph.externals.items() if graph.values[v].tensor.flags & 2}
        reads = tuple(dict.fromkeys(v for p, v in enumerate(args) if p not in written))
        writes = tuple(dict.fromkeys(v for p, v in enumerate(args) if p in written))
        result[position] = (reads, writes)
    return result


def workspace_of(plan: ExecutionPlan, graphs: Mapping[int, XNNGraph]) -> int:
    """Predicted workspace of the delegates that a method calls, in bytes, shared as by default."""
    called = _called(plan)
    return program_workspace(
        predict_workspace(graph) for number, graph in graphs.items() if number in called
    )


def _called(plan: ExecutionPlan) -> frozenset[int]:
    """The delegates that a method calls."""
    return frozenset(call.delegate_index for _, call in delegate_calls(plan))


def unknown_backends(method: AnalysedMethod) -> tuple[str, ...]:
    """The delegates that the method calls and whose own memory is not known, each once."""
    delegates = method.plan.delegates or ()
    called = _called(method.plan)
    return tuple(
        dict.fromkeys(
            delegates[number].id or "delegate"
            for number in sorted(called)
            if (number not in method.payloads or method.payloads[number].graph is None)
            and (number not in method.ethosu or method.ethosu[number].payload is None)
        )
    )


def inner_values(steps: MethodSteps, recorded: tuple[int, int] | None) -> frozenset[int]:
    """Values that opening a delegate added: what nobody but one call writes and reads.

    Args:
        recorded: the first and the past-the-last of them, where the file has a record.
    """
    if recorded is not None:
        first, end = recorded
        return frozenset(range(max(first, 0), min(end, len(steps.plan.values or ()))))
    written: dict[int, set[int]] = {}
    read: dict[int, set[int]] = {}
    for step in steps.steps:
        for value in step.roles.reads:
            read.setdefault(value, set()).add(step.instruction)
        for value in step.roles.writes if step.call is not None else ():
            written.setdefault(value, set()).add(step.instruction)
    return frozenset(v for v, where in read.items() if where <= written.get(v, set()))


def arena_bytes(plan: ExecutionPlan) -> int:
    """Sum of the planned arenas; index 0 is reserved and holds nothing."""
    return sum((plan.non_const_buffer_sizes or ())[1:])


def unknown_sizes(plan: ExecutionPlan) -> tuple[int, ...]:
    """Planned values whose size in bytes is not known."""
    return tuple(
        index
        for index, entry in enumerate(plan.values or ())
        if isinstance(entry.val, Tensor)
        and entry.val.allocation_info is not None
        and tensor_bytes(entry.val) is None
    )


def misplaced_values(plan: ExecutionPlan) -> tuple[int, ...]:
    """Planned values of at least one byte that do not lie inside an arena of the method."""
    sizes = plan.non_const_buffer_sizes or ()
    found: list[int] = []
    for index, entry in enumerate(plan.values or ()):
        tensor = entry.val
        if not isinstance(tensor, Tensor) or tensor.allocation_info is None:
            continue
        info, size = tensor.allocation_info, tensor_bytes(tensor)
        inside = 0 < info.memory_id < len(sizes) and size is not None
        if size and not (inside and info.offset + size <= sizes[info.memory_id]):
            found.append(index)
    return tuple(found)


def foreign_state(analysed: Mapping[int, AnalysedMethod], position: int) -> tuple[Memory, ...]:
    """Bytes that other methods keep state in and that method `position` does not use.

    Methods of one program may share the host's arenas, and with them state that lies at one
    address. What the method itself uses in the file read was shared before and stays so.
    """
    own = tuple(analysed[position].timeline.storage.memories.values())
    found: list[Memory] = []
    for other, method in analysed.items():
        storage = method.timeline.storage
        for value in sorted(storage.state) if other != position else ():
            memory = storage.memories[value]
            if not any(memory.overlaps(mine) for mine in own):
                found.append(memory)
    return tuple(dict.fromkeys(found))
