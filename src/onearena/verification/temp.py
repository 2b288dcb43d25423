"""Is the temp region of a method large enough, and free whenever an instruction uses it?

Knows nothing of how the region was planned. What every instruction takes is computed from the
file; the trace then overwrites the whole region at each of them, so that any later read of
bytes that lay there shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from onearena.cortex_m.cores import isa_of
from onearena.delegates.ethosu.calls import read_delegates
from onearena.pte.container import PteFile
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.record import Record, TempRecord, read_record
from onearena.temp_memory.takes import TempTake, temp_takes
from onearena.timeline.steps import MethodSteps
from onearena.verification.memory_state import Extent, extents_in, extents_of
from onearena.verification.trace_result import Trace
from onearena.verification.violation import Violation

_ALIGNMENT = 16


@dataclass(frozen=True)
class TempUses:
    """The use of a temp region.

    Attributes:
        place: of the region.
        clobbers: the same, by step at which an instruction uses it.
        violations: what is wrong with the region itself.
    """

    place: Extent
    clobbers: Mapping[int, Extent]
    violations: tuple[Violation, ...]


def temp_uses(file: PteFile, method: MethodSteps, region: TempRecord) -> TempUses:
    """When a region is used, and whether it can hold what is taken.

    Args:
        file: that the method is from.
        region: as the file's record has it.

    Raises:
        AnalysisError: an instruction names something that is not there.
    """
    isa = None if region.target is None else isa_of(region.target)
    takes = [
        take
        for take in temp_takes(method.plan, read_delegates(file, method.plan), isa)
        if take.size_bytes != 0
    ]
    place = Extent(region.arena, region.offset, region.offset + region.size_bytes)
    first = method.first_step
    clobbers = {
        step: place
        for take in takes
        for step in range(first[take.instruction], first[take.instruction + 1])
    }
    name = method.plan.name or ""
    found = (*_bounds(method, region), *_needs(takes, region))
    return TempUses(
        place, clobbers, tuple(Violation(kind, name, message) for kind, message in found)
    )


def _bounds(method: MethodSteps, region: TempRecord) -> Iterable[tuple[str, str]]:
    sizes = method.plan.non_const_buffer_sizes or ()
    if not 0 < region.arena < len(sizes):
        yield "bounds", f"the temp region lies in arena {region.arena}, which does not exist"
    elif region.offset + region.size_bytes > sizes[region.arena]:
        end = region.offset + region.size_bytes
        yield (
            "bounds",
            f"the temp region ends at byte {end} of arena {region.arena}, which has "
            f"{sizes[region.arena]}",
        )
    if region.offset % _ALIGNMENT:
        yield (
            "alignment",
            f"the temp region at offset {region.offset} is not aligned to {_ALIGNMENT}",
        )


def _needs(takes: Iterable[TempTake], region: TempRecord) -> Iterable[tuple[str, str]]:
    for take in takes:
        if take.size_bytes is None:
            yield "bounds", f"how much temp memory {take.name} takes is not known: {take.note}"
        elif take.size_bytes > region.size_bytes:
            yield (
                "bounds",
                f"instruction {take.instruction} ({take.name}) takes {take.size_bytes} bytes of "
                f"temp memory, the region has {region.size_bytes}",
            )


def operand_faults(method: MethodSteps, trace: Trace, uses: TempUses) -> Iterable[Violation]:
    """Operands and outputs of the instructions that use the region, where they overlap it."""
    extents = extents_of(method)
    for position in sorted(uses.clobbers):
        step = method.steps[position]
        for value in dict.fromkeys((*step.roles.reads, *step.roles.writes)):
            for target in sorted(trace.targets.get((position, value), ())):
                if target in extents and _overlap(extents[target], uses.place):
                    yield Violation(
                        "overlap",
                        method.plan.name or "",
                        f"value {target} of instruction {step.instruction} ({step.label}) shares "
                        "bytes with the temp region, which it uses",
                    )


def foreign_state_faults(file: PteFile) -> Iterable[Violation]:
    """State of any method inside a temp region of any other: they may share their arenas."""
    record = read_record(file)
    if record is None:
        return
    regions = _regions(record)
    for plan in (file.program.execution_plan or ()) if regions else ():
        for value, place in _state(record, plan):
            for name, region in regions.items():
                if _overlap(place, region):
                    message = (
                        f"the temp region shares bytes with the state in value {value} of method "
                        f"{plan.name!r}"
                    )
                    yield Violation("state", name, message)


def _regions(record: Record) -> dict[str, Extent]:
    """The temp regions by method."""
    return {
        name: Extent(entry.temp.arena, entry.temp.offset, entry.temp.offset + entry.temp.size_bytes)
        for name, entry in record.methods.items()
        if entry.temp is not None
    }


def _state(record: Record, plan: ExecutionPlan) -> Iterable[tuple[int, Extent]]:
    """What has initial content, and what the record calls state, with its place."""
    entry = record.methods.get(plan.name or "")
    recorded = frozenset(entry.state if entry else ())
    for value, place in extents_in(plan).items():
        tensor = (plan.values or ())[value].val
        if value in recorded or (isinstance(tensor, Tensor) and tensor.data_buffer_idx):
            yield value, place


def _overlap(first: Extent, second: Extent) -> bool:
    return first.arena == second.arena and first.start < second.end and second.start < first.end
