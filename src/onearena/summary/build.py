"""A program file → its summary."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping

from onearena.flatbuf.data import data_size
from onearena.program import AnalysedMethod, analyse_method, inner_values
from onearena.proving import proven_bounds
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.schema import (
    DelegateCall,
    ExecutionPlan,
    KernelCall,
    Program,
    Tensor,
)
from onearena.pte.tensors import ScalarType, is_dynamic, tensor_bytes
from onearena.record import Record, TempRecord, read_record
from onearena.summary.blocks import live_bytes, rectangles, temp_pieces, value_blocks
from onearena.summary.delegates import delegate_summaries, workspace
from onearena.summary.model import (
    ArenaSummary,
    Block,
    DelegateSummary,
    Kind,
    MethodSummary,
    ProgramSummary,
    SourceLine,
    StepKind,
    StepSummary,
    TensorSummary,
    Unplanned,
)
from onearena.timeline.build import Timeline
from onearena.timeline.steps import MethodSteps, Step, debug_handle

PathLike = str | os.PathLike[str]


def summarize(path: PathLike) -> ProgramSummary:
    """Reads a program and finds what it needs.

    Raises:
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself.
    """
    with open_pte(path) as file:
        return summarize_file(file)


def summarize_file(
    file: PteFile, analysed: Iterable[AnalysedMethod] | None = None
) -> ProgramSummary:
    """As `summarize`, for a file that is open.

    Args:
        analysed: its methods, if they were analysed before.
    """
    record = read_record(file)
    if analysed is None:
        analysed = (analyse_method(file, plan) for plan in file.program.execution_plan or ())
    methods = tuple(summarize_method(file, method, record) for method in analysed)
    size = file.source.size_bytes
    segments = sum(segment.size_bytes for segment in file.segments)
    constants = _constants_bytes(file)
    return ProgramSummary(file.path, size, max(0, size - segments), constants, methods)


def _constants_bytes(file: PteFile) -> int:
    program: Program = file.program
    inline = sum(
        data_size(buffer.storage) for buffer in program.constant_buffer or () if buffer.storage
    )
    segment = program.constant_segment
    if segment is None or len(segment.offsets or ()) < 2:
        return inline  # one offset stands for "no data"
    number = segment.segment_index
    return inline + (file.segments[number].size_bytes if number < len(file.segments) else 0)


def summarize_method(file: PteFile, method: AnalysedMethod, record: Record | None) -> MethodSummary:
    """The summary of one method, as it stands in the file."""
    name = method.plan.name or ""
    entry = record.methods.get(name) if record else None
    timeline = method.timeline
    inner = inner_values(method.steps, entry.opened if entry else None)
    tensors, blocks = _tensors_and_blocks(timeline, inner)
    delegates = delegate_summaries(file, method, inner)
    steps = tuple(_step(method, number, step) for number, step in enumerate(timeline.method.steps))
    arenas = _arenas(timeline, blocks, method.temp, method.leads)
    return MethodSummary(
        name=name,
        steps=steps,
        tensors=tensors,
        blocks=blocks,
        arenas=arenas,
        delegates=delegates,
        workspace=workspace(delegates),
        workspace_by_step=_workspace_by_step(steps, delegates),
        unplanned=_unplanned(timeline.method),
        state_bytes=_state_bytes(blocks),
        optimized_by=record.tool_version if record and entry else None,
        notes=(*_notes(arenas), *_temp_notes(method.temp)),
    )


def _notes(arenas: tuple[ArenaSummary, ...]) -> Iterable[str]:
    for arena in arenas:
        if arena.peak_bytes > arena.bound_bytes:
            yield (
                f"arena {arena.memory_id} holds separate copies where operators could work in "
                "place; the lower bound counts them once"
            )


def _temp_notes(temp: TempRecord | None) -> Iterable[str]:
    if temp is not None:
        yield (
            f"arena {temp.arena} holds the temp allocator: {temp.size_bytes:,} B at offset "
            f"{temp.offset:,}"
        )


# -- steps ------------------------------------------------------------------------------------


def _step(method: AnalysedMethod, number: int, step: Step) -> StepSummary:
    position = step.instruction
    source = step_source(method, step)
    if position < 0:
        return StepSummary(number, position, None, step.label, StepKind.ENTRY, None, None)
    if position >= len(method.steps.instructions):
        return StepSummary(number, position, None, step.label, StepKind.EXIT, None, None)
    call = method.steps.instructions[position]
    kind, delegate = StepKind.CONTROL, None
    if isinstance(call, KernelCall):
        kind = StepKind.KERNEL
    elif isinstance(call, DelegateCall):
        kind = StepKind.NODE if step.node is not None else StepKind.DELEGATE
        delegate = call.delegate_index
    node = step.node.index if step.node is not None else None
    return StepSummary(number, position, node, step.label, kind, delegate, source)


def step_source(method: AnalysedMethod, step: Step) -> SourceLine | None:
    """Where a step comes from: as the exporter noted it, of a node inside a call, too; else as in
    the stack trace of its instruction; None where the file says nothing."""
    if method.exported is not None:
        line = method.exported.line_of(step.instruction, debug_handle(step))
        if line is not None:
            return SourceLine(line.file, line.line, line.function, "")
    return _source_line(method.plan, step.instruction)


def _source_line(plan: ExecutionPlan, instruction: int) -> SourceLine | None:
    chains = plan.chains or ()
    traces = chains[0].stacktrace or () if chains else ()
    if not 0 <= instruction < len(traces) or not traces[instruction].items:
        return None
    frame = (traces[instruction].items or ())[-1]
    if not frame.filename:
        return None
    return SourceLine(frame.filename, frame.lineno, frame.name or "", (frame.context or "").strip())


# -- tensors and blocks -----------------------------------------------------------------------


def _tensors_and_blocks(
    timeline: Timeline, inner: frozenset[int]
) -> tuple[tuple[TensorSummary, ...], tuple[Block, ...]]:
    storage, method = timeline.storage, timeline.method
    producers, consumers = _users(method)
    tensors: list[TensorSummary] = []
    blocks: list[Block] = []
    for number, values in enumerate(value_blocks(timeline)):
        kinds = []
        first = len(tensors)
        for value in values:
            kind = _kind(timeline, value, inner)
            kinds.append(kind)
            memory, tensor = storage.memories[value], method.tensor(value)
            tensors.append(
                TensorSummary(
                    value=value,
                    name=value_name(method, value),
                    kind=kind,
                    dtype=ScalarType(tensor.scalar_type).name.lower(),
                    shape=tuple(tensor.sizes or ()),
                    is_dynamic=is_dynamic(tensor),
                    size_bytes=memory.size_bytes,
                    arena=memory.arena,
                    offset=memory.start,
                    lifetime=storage.lifetimes[value],
                    producers=producers.get(value, ()),
                    consumers=consumers.get(value, ()),
                    block=number,
                    pinned=storage.pinned.get(value),
                )
            )
        blocks.append(
            Block(
                number,
                storage.memories[values[0]].arena,
                min(kinds, key=_KIND_ORDER.index),
                tuple(range(first, len(tensors))),
                rectangles(storage, values),
            )
        )
    return tuple(tensors), tuple(blocks)


# a block is what the most telling of its tensors is
_KIND_ORDER = (Kind.STATE, Kind.INPUT, Kind.OUTPUT, Kind.SCRATCH, Kind.ACTIVATION, Kind.INNER)


def _users(
    method: MethodSteps,
) -> tuple[Mapping[int, tuple[int, ...]], Mapping[int, tuple[int, ...]]]:
    """By value, the steps that write it and those that read it."""
    producers: dict[int, list[int]] = {}
    consumers: dict[int, list[int]] = {}
    for number, step in enumerate(method.steps):
        for value in dict.fromkeys(step.roles.writes):
            producers.setdefault(value, []).append(number)
        for value in dict.fromkeys(step.roles.reads):
            consumers.setdefault(value, []).append(number)
    return (
        {value: tuple(found) for value, found in producers.items()},
        {value: tuple(found) for value, found in consumers.items()},
    )


def _kind(timeline: Timeline, value: int, inner: frozenset[int]) -> Kind:
    method = timeline.method
    if value in method.inputs:
        return Kind.INPUT
    if value in method.outputs:
        return Kind.OUTPUT
    if any(value in step.roles.scratch for step in method.steps):
        return Kind.SCRATCH
    if value in timeline.storage.state:
        return Kind.STATE
    return Kind.INNER if value in inner else Kind.ACTIVATION


def value_name(method: MethodSteps, value: int) -> str:
    """The name in the file, or its part among inputs and outputs, or its number."""
    info = method.tensor(value).extra_tensor_info
    if info is not None and info.fully_qualified_name:
        return info.fully_qualified_name
    if value in method.inputs:
        return f"input {method.inputs.index(value)}"
    if value in method.outputs:
        return f"output {method.outputs.index(value)}"
    return f"value {value}"


# -- sums -------------------------------------------------------------------------------------


def _arenas(
    timeline: Timeline,
    blocks: tuple[Block, ...],
    temp: TempRecord | None,
    leads: Mapping[int, int],
) -> tuple[ArenaSummary, ...]:
    method = timeline.method
    pieces = [(block.arena, piece) for block in blocks for piece in block.rectangles]
    pieces += temp_pieces(timeline, temp)
    live = live_bytes(pieces, len(method.steps))
    nothing = (0,) * len(method.steps)
    sizes = dict(enumerate(method.plan.non_const_buffer_sizes or ()))
    bounds = proven_bounds(timeline.problem, sizes, leads)
    found = []
    for memory_id, size in sizes.items():
        if memory_id == 0:
            continue  # reserved for constants; holds nothing
        curve = live.get(memory_id, nothing)
        peak = max(curve, default=0)
        step = curve.index(peak) if peak else None
        found.append(ArenaSummary(memory_id, size, curve, bounds.get(memory_id, 0), step))
    return tuple(found)


def _workspace_by_step(
    steps: tuple[StepSummary, ...], delegates: tuple[DelegateSummary, ...]
) -> tuple[int | None, ...]:
    return tuple(
        0 if step.delegate is None else delegates[step.delegate].workspace_bytes for step in steps
    )


def _state_bytes(blocks: tuple[Block, ...]) -> int:
    """Of blocks that are state, the most bytes at any step."""
    total = 0
    for block in blocks:
        if block.kind is Kind.STATE and block.rectangles:
            total += max(r.high for r in block.rectangles) - min(r.low for r in block.rectangles)
    return total


def _unplanned(method: MethodSteps) -> tuple[Unplanned, ...]:
    found = []
    for kind, values in ((Kind.INPUT, method.inputs), (Kind.OUTPUT, method.outputs)):
        for value in values:
            tensor: Tensor = method.tensor(value)
            if tensor.allocation_info is None and not tensor.data_buffer_idx:
                shape = "x".join(str(size) for size in tensor.sizes or ()) or "scalar"
                dtype = ScalarType(tensor.scalar_type).name.lower()
                found.append(
                    Unplanned(
                        value,
                        value_name(method, value),
                        kind,
                        f"{dtype} {shape}",
                        tensor_bytes(tensor),
                    )
                )
    return tuple(found)
