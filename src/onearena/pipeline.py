"""Joins the steps: read, open, plan, verify, write. Every file written was verified from disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from onearena import __version__
from onearena.apply import NewMethod, rewrite_file
from onearena.candidates import Candidate
from onearena.choices import choose, choose_measured
from onearena.cortex_m.check import check_target
from onearena.delegates.ethosu.calls import read_delegates
from onearena.errors import AnalysisError, UsageError, VerificationError
from onearena.export_record import read_export, with_moved_export
from onearena.latency import Measurer
from onearena.method_report import inspect_method, planned_report
from onearena.options import Options, check_options
from onearena.program import AnalysedMethod, analyse_method, recorded_temp
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.writer import output_path, refuse_input, write_pte
from onearena.record import MethodRecord, Record, encode_record, read_record
from onearena.results import MethodReport, ProgramReport, VerifyReport
from onearena.sizes.targets import TARGETS, find_target
from onearena.temp_memory.demand import find_demand, target_isa
from onearena.temp_planning import planned_region
from onearena.verification.memory_state import Extent, extents_in
from onearena.verification.program import verify_methods, verify_program
from onearena.verification.violation import Violation
from onearena.written import verify_written

PathLike = str | os.PathLike[str]
Progress = Callable[[str], None]


def inspect(path: PathLike, measure: bool = False) -> ProgramReport:
    """What lives where in a program, per method; nothing is written.

    Args:
        measure: run every method once on the installed ExecuTorch, with random inputs, and add
            the XNNPACK workspace that it really allocates (Linux).

    Raises:
        RuntimeUnavailableError, ExecutionError: with `measure`.
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself.
    """
    with open_pte(path) as file:
        methods = tuple(
            inspect_method(analyse_method(file, plan), read_record(file))
            for plan in file.program.execution_plan or ()
        )
        size = file.source.size_bytes
    if measure:
        methods = tuple(_measured(path, method) for method in methods)
    return ProgramReport(os.fspath(path), None, methods, size, None, False)


def _measured(path: PathLike, report: MethodReport) -> MethodReport:
    # only those who measure need what runs programs
    from onearena.runtime.workspace import measure_workspace

    found = measure_workspace(path, method=report.name)
    if found.bytes is None:
        note = f"the workspace could not be measured: {found.reason}"
        return replace(report, notes=(*report.notes, note))
    before = replace(report.before, workspace_measured_bytes=found.bytes)
    return replace(report, before=before)


def verify(path: PathLike) -> VerifyReport:
    """Checks the plan in a file, as it stands.

    Raises:
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself.
    """
    with open_pte(path) as file:
        return verify_program(file)


def optimize(
    path: PathLike,
    output: PathLike,
    options: Options | None = None,
    progress: Progress | None = None,
    measurer: Measurer | None = None,
) -> ProgramReport:
    """Plans a program and all of its XNNPACK delegates in one arena, and writes the result.

    The output is verified, read back from disk, before it appears under its name. A method
    whose total would not become smaller keeps its plan; if none becomes smaller the output is
    a copy of the input.

    Args:
        measurer: with `options.measure_latency`, what runs programs (default: the installed
            ExecuTorch).

    Raises:
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself, or (`TargetMismatchError`) was exported for
            another core than `options.target`.
        UsageError: the output cannot be written, or is the input; there is no such target; an
            option makes no sense.
        RuntimeUnavailableError, ExecutionError: with `options.measure_latency`: the original
            cannot be run here.
        VerificationError: the result is not safe; nothing was written.
    """
    options = options or Options()
    check_options(options)
    if not options.measure_latency:
        measurer = None
    elif measurer is None:
        # only those who measure need what runs programs
        from onearena.runtime.pace import StockMeasurer

        measurer = StockMeasurer(progress)
    tell = progress or (lambda _: None)
    with open_pte(path) as file:
        tell("reading")
        refuse_input(output_path(output), file.path)
        wanted = options.target or _noted_target(file)
        if wanted is not None:
            target = find_target(wanted).name
            options = replace(options, target=target)
            check_target(file, target)
        record = read_record(file)
        if record is not None and record.tool_version == __version__ and _is_done(file, options):
            methods = [analyse_method(file, plan) for plan in file.program.execution_plan or ()]
            reports = [_unchanged(inspect_method(method, record)) for method in methods]
            note = "already optimized by this version; copied as it is"
            return _copy(file, output, methods, reports, note)
        fault: VerificationError | None = None
        for what, tried in _more_careful(options):
            try:
                report = _optimize(file, output, tried, record, tell, measurer)
            except VerificationError as error:
                # a fault of ours, and no reason to leave the user without a plan
                fault = fault or error
            else:
                notes = (f"without {what}: {fault}",) if fault is not None else ()
                return replace(report, notes=(*report.notes, *notes))
        assert fault is not None
        raise fault


def _more_careful(options: Options) -> Iterator[tuple[str, Options]]:
    """The options, and what to try when the result turns out not to be safe."""
    yield "", options
    if options.rematerialise:
        options = replace(options, rematerialise=False)
        yield "rematerialising", options
    if options.join_in_place:
        options = replace(options, join_in_place=False)
        yield "joining in place", options
    if options.strips:
        yield "strips", replace(options, strips=False)


def _optimize(
    file: PteFile,
    output: PathLike,
    options: Options,
    record: Record | None,
    tell: Progress,
    measurer: Measurer | None,
) -> ProgramReport:
    plans = file.program.execution_plan or ()
    analysed = {k: analyse_method(file, plan) for k, plan in enumerate(plans)}

    def write(candidates: Mapping[int, Candidate], to: PathLike) -> tuple[int, Sequence[Violation]]:
        return write_planned(file, to, analysed, candidates, options)

    if measurer is None:
        choices = choose(file, analysed, options, tell)
    else:
        target = output_path(output)
        choices = choose_measured(file, analysed, options, measurer, write, target, tell)
    reports = [
        planned_report(analysed[position], choice, record, options.target)
        for position, choice in choices.items()
    ]
    chosen = {k: choice.candidate for k, choice in choices.items() if choice.candidate is not None}
    if not chosen:
        is_undone = any(choice.is_undone for choice in choices.values())
        what = "no plan is left that is smaller" if is_undone else "no plan is smaller"
        note = f"{what}; copied as it is"
        return _copy(file, output, analysed.values(), reports, note)
    tell("writing and verifying")
    size, known = write(chosen, output)
    before, notes = file.source.size_bytes, _unsafe_notes(known)
    return ProgramReport(file.path, os.fspath(output), tuple(reports), before, size, True, notes)


def write_planned(
    file: PteFile,
    output: PathLike,
    analysed: Mapping[int, AnalysedMethod],
    chosen: Mapping[int, Candidate],
    options: Options,
) -> tuple[int, Sequence[Violation]]:
    """Writes a program with some of its methods planned anew, verified from disk.

    Args:
        analysed, chosen: by position in the program; all methods, and the new ones.

    Returns:
        The size in bytes, and what was not safe before and is not now.

    Raises:
        UsageError: the output cannot be written.
        VerificationError: the result is not safe; nothing was written.
    """
    record = read_record(file)
    records: dict[str, MethodRecord] = dict(record.methods) if record else {}
    changed: dict[int, NewMethod] = {}
    for position, best in chosen.items():
        method = analysed[position]
        changed[position] = NewMethod(best.plan, best.draft.opened, method.payloads)
        name = method.plan.name or ""
        records[name] = _method_record(method, best, records.get(name), options.target)
    earlier_map = record.memory_map if record else None
    content = encode_record(Record(__version__, records, options.memory_map or earlier_map))
    orders = {analysed[k].plan.name or "": best.draft.order for k, best in chosen.items()}
    rewritten = with_moved_export(rewrite_file(file, changed, content), orders)
    known: list[Violation] = []
    size = write_pte(
        rewritten,
        output,
        lambda written: verify_written(file, analysed, written, options, known),
    )
    return size, known


def _is_done(file: PteFile, options: Options) -> bool:
    """False when the target decides on temp memory that was planned for none, or for another, and
    when there is a memory map."""
    if options.memory_map is not None:
        return False
    for plan in (file.program.execution_plan or ()) if options.target else ():
        record = recorded_temp(file, plan)
        isa, delegates = target_isa(options.target), read_delegates(file, plan)
        wanted = find_demand(plan, delegates, isa).region
        if wanted is not None and (record is None or record.size_bytes < wanted.size_bytes):
            return False
    return True


def _noted_target(file: PteFile) -> str | None:
    """What the exporter says that the program is for, where we know such a thing."""
    record = read_export(file)
    return record.target if record is not None and record.target in TARGETS else None


def _copy(
    file: PteFile,
    output: PathLike,
    methods: Iterable[AnalysedMethod],
    reports: Iterable[MethodReport],
    note: str,
) -> ProgramReport:
    """Copies the input byte for byte, through a temporary file."""
    target = output_path(output)
    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        shutil.copyfile(file.path, temporary)
        temporary.replace(target)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise UsageError(f"{target}: cannot be written ({error.strerror})") from error
    size = file.source.size_bytes
    violations = verify_methods(file, [method.steps for method in methods]).violations
    notes = (note, *_unsafe_notes(violations))
    return ProgramReport(file.path, os.fspath(output), tuple(reports), size, size, False, notes)


def _unsafe_notes(violations: Sequence[Violation]) -> tuple[str, ...]:
    """What was wrong before is not ours to refuse; it must not go without saying."""
    if not violations:
        return ()
    count = f"{len(violations)} violation{'s' if len(violations) > 1 else ''}"
    return (
        f"NOT SAFE as it was exported, and not now ({count}; `verify` names all): {violations[0]}",
    )


def _unchanged(report: MethodReport) -> MethodReport:
    return replace(report, after=report.before)


# -- what the record of the file says -------------------------------------------------------


def _lies_inside(places: Mapping[int, Extent], inner: int, outer: int, distance: int) -> bool:
    a, b = places.get(outer), places.get(inner)
    if a is None or b is None or a.arena != b.arena:
        return False
    return b.start - a.start == distance and b.end <= a.end


def _method_record(
    method: AnalysedMethod, best: Candidate, earlier: MethodRecord | None, target: str | None
) -> MethodRecord:
    storage = best.draft.timeline.storage
    aliases = tuple(
        (group[0], value, storage.memories[value].start - storage.memories[group[0]].start)
        for group in storage.groups
        for value in group[1:]
        if not storage.pinned.keys() & {group[0], value}
    )
    count = len(method.plan.values or ())
    old_pieces = earlier.pieces if earlier else ()
    pieces = tuple((v, *where) for v, where in sorted(best.draft.opened.pieces.items()))
    joined = tuple((p.inner, p.outer, p.distance) for p in best.draft.parts)
    # what nobody reads any more may have gone elsewhere
    kept, places = earlier.joined if earlier else (), extents_in(best.plan)
    # what an earlier run opened stays open
    first = earlier.opened[0] if earlier and earlier.opened[1] == count else count
    return MethodRecord(
        earlier.arena_bytes_before if earlier else method.plan.non_const_buffer_sizes or (),
        earlier.workspace_bytes_before if earlier else method.workspace_bytes,
        aliases,
        tuple(sorted(storage.state)),
        (first, count + len(best.draft.opened.added)),
        best.draft.order,
        planned_region(method, best.draft.timeline, best.solution, target),
        (*old_pieces, *pieces),
        (*(part for part in kept if _lies_inside(places, *part)), *joined),
        tuple(sorted(best.solution.lead_bytes.items())),
    )


__all__ = ["AnalysisError", "Options", "inspect", "optimize", "verify"]
