"""Checks a whole file as it stands: every method, and what its record says."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.memory_map.check import verify_regions
from onearena.program import analyse_steps, recorded_temp
from onearena.pte.container import PteFile
from onearena.record import MethodRecord, read_record
from onearena.results import VerifyReport
from onearena.timeline.steps import MethodSteps
from onearena.verification.memory_state import extents_of
from onearena.verification.method import verify_method
from onearena.verification.temp import foreign_state_faults, operand_faults, temp_uses
from onearena.verification.trace import trace_method
from onearena.verification.trace_result import Trace
from onearena.verification.violation import Violation


def verify_program(file: PteFile) -> VerifyReport:
    """All violations in a file.

    Raises:
        AnalysisError: a method contradicts itself.
    """
    plans = file.program.execution_plan or ()
    return verify_methods(file, [analyse_steps(file, plan)[1] for plan in plans])


def verify_methods(file: PteFile, methods: Iterable[MethodSteps]) -> VerifyReport:
    """All violations in a file whose methods have been read."""
    record = read_record(file)
    names: list[str] = []
    violations: list[Violation] = []
    for steps in methods:
        name = steps.plan.name or ""
        names.append(name)
        temp = recorded_temp(file, steps.plan)
        region = None if temp is None else temp_uses(file, steps, temp)
        trace = trace_method(steps, clobbers=region.clobbers if region else None)
        entry = record.methods.get(name) if record else None
        violations += verify_method(steps, trace, entry.joined if entry else ())
        if region is not None:
            violations += (*region.violations, *operand_faults(steps, trace, region))
        if entry is not None:
            violations += _against_record(steps, trace, entry)
        if record is not None and record.memory_map is not None:
            violations += verify_regions(steps.plan, record.memory_map)
    violations += foreign_state_faults(file)
    notes = (f"optimized by onearena {record.tool_version}",) if record else ()
    return VerifyReport(file.path, tuple(names), tuple(violations), notes)


def _against_record(method: MethodSteps, trace: Trace, record: MethodRecord) -> Iterable[Violation]:
    name = method.plan.name or ""
    extents = extents_of(method)
    for first, second, distance in record.aliases:
        a, b = extents.get(first), extents.get(second)
        if a is None or b is None:
            yield Violation("alias", name, f"values {first} and {second} are no longer planned")
        elif a.arena != b.arena or b.start - a.start != distance:
            yield Violation(
                "alias",
                name,
                f"value {second} must lie {distance} bytes after value {first}, its memory; it "
                f"lies {b.start - a.start} bytes after it",
            )
    for value, whole, distance in record.pieces:
        a, b = extents.get(whole), extents.get(value)
        fits = a is not None and b is not None and a.arena == b.arena and b.end <= a.end
        if a is None or b is None or not fits or b.start - a.start != distance:
            found = f"value {value} must lie {distance} bytes inside value {whole}, its part"
            yield Violation("alias", name, found)
    # a handle's own memory is nobody's: only what its names stand for counts
    parts = {value for value, whole, _ in record.pieces if whole in record.state}
    touched = {target for targets in trace.targets.values() for target in targets} - parts
    for value in record.state:
        place = extents.get(value)
        for other in sorted(touched & extents.keys()):
            extent = extents[other]
            if place is None or other in record.state or extent.arena != place.arena:
                continue
            if extent.start < place.end and place.start < extent.end:
                yield Violation(
                    "state", name, f"value {other} shares bytes with the state in value {value}"
                )
