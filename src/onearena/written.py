"""Checks a program that was written, alone and against the original."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from onearena.delegates.xnnpack.opening import prepare
from onearena.delegates.xnnpack.simplify_switches import Simplifications
from onearena.drafts import simplifications
from onearena.errors import VerificationError
from onearena.memory_map.check import verify_regions
from onearena.options import Options
from onearena.payloads import called_delegates
from onearena.program import AnalysedMethod, analyse_steps
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.record import read_record
from onearena.timeline.steps import MethodSteps
from onearena.verification.program import verify_methods
from onearena.verification.rewrite import verify_rewrite
from onearena.verification.strips import strip_fault
from onearena.verification.violation import Violation


def verify_written(
    original: PteFile,
    analysed: Mapping[int, AnalysedMethod],
    written: Path,
    options: Options,
    known: list[Violation],
) -> None:
    """Reads the new file back and checks it alone and against the original.

    Args:
        known: gets what is wrong with both.

    Raises:
        VerificationError: with the first violation.
    """
    memory_map = options.memory_map
    with open_pte(written) as file:
        methods = [analyse_steps(file, plan)[1] for plan in file.program.execution_plan or ()]
        found = verify_methods(file, methods).violations
        if found:
            # what the exporter put there on purpose, or by mistake, is not ours to refuse
            old_steps = [method.steps for method in analysed.values()]
            before = {str(v) for v in verify_methods(original, old_steps).violations}
            _refuse(original, [v for v in found if str(v) not in before])
            known += found
        record = read_record(file)
        for old, new in zip(analysed.values(), methods, strict=True):
            entry = record.methods.get(old.plan.name or "") if record else None
            order, views = entry.order if entry else (), old.timeline.storage.views
            arenas = memory_map.memory_ids if memory_map else ()
            _refuse(original, verify_rewrite(old.steps, new, order, views, arenas))
            _refuse(original, tuple(_strip_faults(old, new, simplifications(options))))
            if memory_map is not None:
                _refuse(original, verify_regions(new.plan, memory_map))


def _strip_faults(
    old: AnalysedMethod, new: MethodSteps, switches: Simplifications
) -> Iterable[Violation]:
    """What delegates compute in strips is what they computed."""
    delegates, called = called_delegates(new.plan), called_delegates(old.plan)
    # a delegate with pieces is called once
    known = {called[k]: call.pieces for k, call in old.steps.calls.items()}
    for instruction, call in new.calls.items():
        payload = old.payloads.get(delegates[instruction]) if call.pieces else None
        if payload is None or payload.graph is None:
            continue
        before, _ = prepare(payload.graph, old.steps.what, switches, payload.is_static)
        pieces = known.get(delegates[instruction], {})
        fault = strip_fault(before, call.graph, call.pieces, pieces)
        if fault is not None:
            message = f"strips of instruction {instruction}: {fault}"
            yield Violation("order", old.plan.name or "", message)


def _refuse(original: PteFile, violations: Sequence[Violation]) -> None:
    if violations:
        raise VerificationError(f"{original.path}: the result is not safe: {violations[0]}")
