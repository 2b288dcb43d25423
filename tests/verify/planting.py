"""Optimizes programs and plants faults in what was written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from onearena.pipeline import Options, optimize
from onearena.program import analyse_steps
from onearena.pte.container import PteFile
from onearena.pte.schema import AllocationDetails, EValue, ExecutionPlan, Tensor
from onearena.record import read_record
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import analyse_storage
from onearena.verification.program import verify_program
from onearena.verification.rewrite import verify_rewrite
from onearena.verification.violation import Violation
from tests.pte.build import file_bytes, read_bytes
from tests.verify.oracle import places

Offsets = Mapping[int, int]
"""New offsets by value."""


@dataclass(frozen=True)
class Optimized:
    """A program before and after."""

    original: PteFile
    result: PteFile

    @property
    def state(self) -> frozenset[int]:
        """The values that survive from run to run in the first method, by the record."""
        record = read_record(self.result)
        if record is None:
            return frozenset()
        name = first_plan(self.result).name or ""
        return frozenset(record.methods[name].state if name in record.methods else ())


def optimized(source: PteFile | Path, folder: Path, options: Options | None = None) -> Optimized:
    """Optimizes a program; both files are kept in memory."""
    before, after = folder / "before.pte", folder / "after.pte"
    data = source.read_bytes() if isinstance(source, Path) else file_bytes(source)
    before.write_bytes(data)
    optimize(before, after, options or Options(time_limit_s=0.02))
    return Optimized(read_bytes(data, "before.pte"), read_bytes(after.read_bytes(), "after.pte"))


def first_plan(file: PteFile, method: int = 0) -> ExecutionPlan:
    return (file.program.execution_plan or ())[method]


def steps_in(file: PteFile, method: int = 0) -> MethodSteps:
    return analyse_steps(file, first_plan(file, method))[1]


def with_plan(file: PteFile, plan: ExecutionPlan, method: int = 0) -> PteFile:
    """The file with another method, encoded and decoded again."""
    plans = list(file.program.execution_plan or ())
    plans[method] = plan
    program = replace(file.program, execution_plan=tuple(plans))
    return read_bytes(file_bytes(file.with_program(program, file.segments)), "changed.pte")


def with_offsets(file: PteFile, offsets: Offsets, method: int = 0) -> PteFile:
    """The file with some values elsewhere."""
    plan = first_plan(file, method)
    values = list(plan.values or ())
    for value, offset in offsets.items():
        tensor = values[value].val
        assert isinstance(tensor, Tensor)
        assert tensor.allocation_info is not None
        place = AllocationDetails.at(tensor.allocation_info.memory_id, offset)
        values[value] = EValue(replace(tensor, allocation_info=place))
    return with_plan(file, replace(plan, values=tuple(values)), method)


def with_sizes(file: PteFile, sizes: tuple[int, ...], method: int = 0) -> PteFile:
    """The file with other arena sizes."""
    plan = replace(first_plan(file, method), non_const_buffer_sizes=sizes)
    return with_plan(file, plan, method)


def violations(original: PteFile, changed: PteFile) -> list[Violation]:
    """Everything that verification has to say, without and with the original."""
    found = list(verify_program(changed).violations)
    record = read_record(changed)
    for number, plan in enumerate(changed.program.execution_plan or ()):
        entry = record.methods.get(plan.name or "") if record else None
        order = entry.order if entry else ()
        before, after = steps_in(original, number), steps_in(changed, number)
        views = analyse_storage(before, frozenset()).views
        found += verify_rewrite(before, after, order, views)
    return found


def shifts(file: PteFile, method: int = 0) -> Iterator[Offsets]:
    """Faults to try: every value a little off, on the place of every other one, and swapped."""
    found = places(steps_in(file, method))
    for value, (arena, start, end) in found.items():
        for delta in (-64, -16, -4, 4, 16, 64, end - start):
            if start + delta >= 0:
                yield {value: start + delta}
        for other, (there, at, _) in found.items():
            if other != value and there == arena and at != start:
                yield {value: at}
                if other > value:
                    yield {value: at, other: start}
