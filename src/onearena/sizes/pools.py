"""Computes the pools of a program from its file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onearena.cortex_m.cores import isa_of
from onearena.delegates.ethosu.calls import read_delegates
from onearena.delegates.xnnpack.schema import XNNGraph
from onearena.delegates.xnnpack.workspace import (
    SharingMode,
    WorkspacePrediction,
    predict_workspace,
    program_workspace,
)
from onearena.errors import AnalysisError, OnearenaError
from onearena.payloads import XNNPACK_BACKEND, delegate_calls, read_payloads
from onearena.program import method_label, recorded_temp
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.tensors import tensor_bytes
from onearena.record import TempRecord
from onearena.sizes.files import file_sizes
from onearena.sizes.method_allocator import (
    MethodAllocation,
    is_external,
    method_allocation,
    resolve_temp_bytes,
)
from onearena.sizes.results import (
    Arena,
    InterfaceTensor,
    MethodPools,
    Place,
    Pool,
    ProgramPools,
    TempPlace,
    Workspace,
)
from onearena.sizes.targets import HOST64, Target
from onearena.sizes.temp import TempUse, temp_uses
from onearena.temp_memory.demand import target_isa
from onearena.temp_memory.takes import TempTake, temp_takes
from onearena.timeline.roles import tensors_in

__all__ = ["MethodPools", "Pool", "ProgramPools", "program_pools"]


def program_pools(file: PteFile, target: Target = HOST64) -> ProgramPools:
    """The pools of the program in `file` on `target`.

    Raises:
        AnalysisError: a method contradicts itself.
    """
    plans = file.program.execution_plan or ()
    methods = tuple(_method(file, plan, target) for plan in plans)
    return ProgramPools(file.path, target, file_sizes(file), methods, _notes(file, plans))


def _notes(file: PteFile, plans: Sequence[ExecutionPlan]) -> tuple[str, ...]:
    notes = [
        "for the runtime of ExecuTorch 1.5 and its own kernel libraries; "
        "pools aligned to 8 bytes or more",
        "not counted: stack, heap, code, the runtime's own Program and Method objects",
    ]
    if any(_needs_data_file(plan) for plan in plans):
        notes.append("tensors of this program come from a second file (.ptd), not counted")
    return tuple(notes)


def _needs_data_file(plan: ExecutionPlan) -> bool:
    return any(is_external(entry.val) for entry in plan.values or ())


def _method(file: PteFile, plan: ExecutionPlan, target: Target) -> MethodPools:
    label = method_label(file, plan)
    try:
        arenas = _arenas(plan)
        resolve = resolve_temp_bytes(plan, target.abi)
        record = recorded_temp(file, plan)
        takes = _takes(file, plan, target, record)
        region = _region(arenas, takes, target, record) if record else None
        uses = temp_uses(takes)
        inputs = tuple(_interface(plan, plan.inputs or (), frozenset()))
        taken = frozenset(tensor.value for tensor in inputs)
        outputs = tuple(_interface(plan, plan.outputs or (), taken))
        with_temp, alone = (
            method_allocation(
                plan,
                target.abi,
                temp,
                merges_data=file.program.named_data is not None and _needs_data_file(plan),
            )
            for temp in (region.size_bytes if region else max(resolve, 1), None)
        )
        workspace = _workspace(file, plan, target)
    except AnalysisError as error:
        raise AnalysisError(f"{label}: {error}") from None
    return MethodPools(
        name=plan.name or "",
        method_allocator=_allocator_pool(with_temp, target),
        method_allocator_alone=_allocator_pool(alone, target),
        resolve_temp_bytes=resolve,
        temp=Pool.known(region.size_bytes) if region else _temp_pool(resolve, uses),
        temp_uses=uses,
        arenas=arenas,
        inputs=inputs,
        outputs=outputs,
        workspace=workspace,
        temp_region=region,
    )


def _takes(
    file: PteFile, plan: ExecutionPlan, target: Target, record: TempRecord | None
) -> tuple[TempTake, ...]:
    """What takes temp memory on the target; a host stands for what the program was planned for."""
    isa = isa_of(target.name)
    if isa is None and record is not None:
        isa = target_isa(record.target)
    return temp_takes(plan, read_delegates(file, plan), isa)


def _region(
    arenas: Iterable[Arena], takes: Iterable[TempTake], target: Target, record: TempRecord
) -> TempPlace:
    """The recorded region.

    Raises:
        AnalysisError: it does not lie in planned memory, or is too small on the target.
    """
    end = record.offset + record.size_bytes
    if not any(arena.memory_id == record.arena and end <= arena.size_bytes for arena in arenas):
        raise AnalysisError(f"its temp region lies outside of memory_id {record.arena}")
    for take in takes:
        where = f"instruction {take.instruction}: {take.name}"
        if take.size_bytes is None:
            raise AnalysisError(f"{where} may not fit into the temp region: {take.note}")
        if take.size_bytes > record.size_bytes:
            raise AnalysisError(
                f"{where} takes {take.size_bytes:,} B on {target.name}, the temp region has "
                f"{record.size_bytes:,} B: optimize the program for this target"
            )
    return TempPlace(record.arena, record.offset, record.size_bytes)


def _arenas(plan: ExecutionPlan) -> tuple[Arena, ...]:
    """Index 0 of the sizes is reserved and holds nothing."""
    sizes = plan.non_const_buffer_sizes or ()
    for number, size in enumerate(sizes):
        if size < 0:
            raise AnalysisError(f"the arena with memory_id {number} has {size} bytes")
    return tuple(Arena(number, size) for number, size in enumerate(sizes) if number)


def _allocator_pool(allocation: MethodAllocation, target: Target) -> Pool:
    if not allocation.unknown_backends:
        return Pool.known(allocation.size_bytes)
    notes = tuple(
        f"what {backend or 'a backend without a name'} takes on {target.name} is not known"
        for backend in allocation.unknown_backends
    )
    return Pool(None, allocation.size_bytes, notes)


def _temp_pool(resolve_bytes: int, uses: Sequence[TempUse]) -> Pool:
    known = max((use.size_bytes or 0 for use in uses), default=0)
    notes = tuple(f"{use.name}: {use.note}" for use in uses)
    unknown = any(use.size_bytes is None for use in uses)
    needed = max(resolve_bytes, known)
    return Pool(None if unknown else needed, needed, notes)


def _interface(
    plan: ExecutionPlan, positions: tuple[int, ...], inputs: frozenset[int]
) -> Iterable[InterfaceTensor]:
    values = plan.values or ()
    for position, index in enumerate(positions):
        if not 0 <= index < len(values):
            raise AnalysisError(f"an input or output is value {index} of {len(values)}")
        for number in tensors_in(plan, index):
            tensor = values[number].val if number < len(values) else None
            if not isinstance(tensor, Tensor):
                raise AnalysisError(f"value {index}: value {number} in its list is no tensor")
            place = _place(tensor, number in inputs)
            yield InterfaceTensor(position, number, tensor_bytes(tensor), place)


def _place(tensor: Tensor, is_input: bool) -> Place:
    if tensor.allocation_info is not None:
        return Place.ARENA
    if tensor.data_buffer_idx or is_external(tensor):
        return Place.PROGRAM
    return Place.INPUT if is_input else Place.APPLICATION


def _workspace(file: PteFile, plan: ExecutionPlan, target: Target) -> Workspace:
    called = sorted({call.delegate_index for _, call in delegate_calls(plan)})
    numbers = [k for k in called if _backend(plan, k) == XNNPACK_BACKEND]
    if not target.runs_xnnpack and numbers:
        none = Pool(None, 0, (f"ExecuTorch has no XNNPACK for {target.name}",))
        return Workspace(none, none, none, len(numbers))
    payloads = read_payloads(file, plan) if numbers else {}
    predictions: list[WorkspacePrediction] = []
    unread: list[str] = []
    for number in numbers:
        graph = payloads[number].graph
        found = None if graph is None else _prediction(graph.source)
        if found is None:
            unread.append(f"the payload of delegate {number} cannot be read")
        else:
            predictions.append(found)
    notes = (*unread, *dict.fromkeys(note for found in predictions for note in found.notes))

    def pool(mode: SharingMode) -> Pool:
        size = program_workspace(predictions, mode)
        return Pool(None if unread else size, size, notes)

    return Workspace(
        disabled=pool(SharingMode.DISABLED),
        per_model=pool(SharingMode.PER_MODEL),
        shared_globally=pool(SharingMode.GLOBAL),
        delegates=len(numbers),
    )


def _prediction(graph: XNNGraph) -> WorkspacePrediction | None:
    """None when the graph is malformed."""
    try:
        return predict_workspace(graph)
    except OnearenaError:
        return None


def _backend(plan: ExecutionPlan, number: int) -> str | None:
    delegates = plan.delegates or ()
    if not 0 <= number < len(delegates):
        raise AnalysisError(f"an instruction names delegate {number} of {len(delegates)}")
    return delegates[number].id
