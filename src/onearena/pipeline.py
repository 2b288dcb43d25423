"""Joins the steps: read, open, plan, verify, write. Every file written was verified from disk."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from onearena import __version__
from onearena.apply import XNNPACK_TAIL_BYTES, NewMethod, place_values, rewrite_file
from onearena.errors import AnalysisError, PlanError, UsageError, VerificationError
from onearena.opening import OpenedMethod, delegate_calls, open_method
from onearena.planners import lower_bound_bytes
from onearena.planners import plan as plan_problem
from onearena.problem import Plan
from onearena.program import (
    AnalysedMethod,
    analyse_method,
    analyse_steps,
    arena_bytes,
    boundaries,
    foreign_state,
    method_label,
    misplaced_values,
    unknown_sizes,
    workspace_of,
)
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.schema import ExecutionPlan
from onearena.pte.writer import output_path, write_pte
from onearena.record import MethodRecord, Record, encode_record, read_record
from onearena.report.peak import find_peak
from onearena.results import Footprint, MethodReport, ProgramReport, VerifyReport
from onearena.schedule import rescheduled
from onearena.timeline.build import Timeline, build_timeline
from onearena.timeline.steps import MethodSteps, method_steps
from onearena.timeline.storage import Storage
from onearena.verification.plan import verify_plan
from onearena.verification.program import verify_methods, verify_program
from onearena.verification.rewrite import verify_rewrite
from onearena.verification.violation import Violation

PathLike = str | os.PathLike[str]
Progress = Callable[[str], None]


@dataclass(frozen=True)
class Options:
    """Switches of `optimize`.

    Attributes:
        open_delegates: plan what lives inside XNNPACK calls; without it only the arenas.
        reorder: move kernels, and nodes inside opened calls, to where less is alive.
        time_limit_s: for the search of each plan that does not reach its lower bound.
    """

    open_delegates: bool = True
    reorder: bool = True
    time_limit_s: float = 0.5


@dataclass(frozen=True)
class _Draft:
    """A method that may be planned; `order[new] = old` instruction, empty when none moved."""

    opened: OpenedMethod
    order: tuple[int, ...]
    timeline: Timeline
    bound_bytes: int
    workspace_bytes: int


@dataclass(frozen=True)
class _Candidate:
    """A planned method that may replace the original."""

    draft: _Draft
    plan: ExecutionPlan
    solution: Plan
    footprint: Footprint


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
            _inspect_method(analyse_method(file, plan), _record_notes(file))
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
) -> ProgramReport:
    """Plans a program and all of its XNNPACK delegates in one arena, and writes the result.

    The output is verified, read back from disk, before it appears under its name. A method
    whose total would not become smaller keeps its plan; if none becomes smaller the output is
    a copy of the input.

    Raises:
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself.
        UsageError: the output cannot be written, or is the input.
        VerificationError: the result is not safe; nothing was written.
    """
    options = options or Options()
    tell = progress or (lambda _: None)
    with open_pte(path) as file:
        tell("reading")
        _refuse_same_file(file, output)
        record = read_record(file)
        if record is not None and record.tool_version == __version__:
            return _copy(file, output, "already optimized by this version; copied as it is")
        return _optimize(file, output, options, record, tell)


def _optimize(
    file: PteFile, output: PathLike, options: Options, record: Record | None, tell: Progress
) -> ProgramReport:
    plans = file.program.execution_plan or ()
    analysed = {k: analyse_method(file, plan) for k, plan in enumerate(plans)}
    reports: list[MethodReport] = []
    changed: dict[int, NewMethod] = {}
    records: dict[str, MethodRecord] = dict(record.methods) if record else {}
    for position, method in analysed.items():
        tell(f"planning {method.plan.name}")
        best, notes = _plan_method(file, analysed, position, options)
        reports.append(_report(method, best, notes))
        if best is not None:
            changed[position] = NewMethod(best.plan, best.draft.opened, method.payloads)
            name = method.plan.name or ""
            records[name] = _method_record(method, best, records.get(name))
    if not changed:
        copied = _copy(file, output, "no plan is smaller; copied as it is")
        return replace(copied, methods=tuple(reports))
    content = encode_record(Record(__version__, records))
    rewritten = rewrite_file(file, changed, content)
    tell("writing and verifying")
    size = write_pte(rewritten, output, lambda written: _verify_written(file, analysed, written))
    return ProgramReport(
        file.path, os.fspath(output), tuple(reports), file.source.size_bytes, size, True
    )


def _refuse_same_file(file: PteFile, output: PathLike) -> None:
    target = output_path(output)
    if target.exists() and target.samefile(file.path):
        raise UsageError(f"{target}: output would overwrite its own input")


def _copy(file: PteFile, output: PathLike, note: str) -> ProgramReport:
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
    methods = tuple(
        _unchanged(_inspect_method(analyse_method(file, plan), _record_notes(file)))
        for plan in file.program.execution_plan or ()
    )
    return ProgramReport(file.path, os.fspath(output), methods, size, size, False, (note,))


def _unchanged(report: MethodReport) -> MethodReport:
    return replace(report, after=report.before)


# -- planning one method ------------------------------------------------------------------


def _plan_method(
    file: PteFile, analysed: Mapping[int, AnalysedMethod], position: int, options: Options
) -> tuple[_Candidate | None, tuple[str, ...]]:
    """The best candidate that is smaller than the original, and what to say."""
    method = analysed[position]
    before = Footprint(arena_bytes(method.plan), method.workspace_bytes)
    unknown, misplaced = unknown_sizes(method.plan), misplaced_values(method.plan)
    if unknown:
        return None, (f"left as it was: the size of value {unknown[0]} is not known",)
    if misplaced:
        return None, (f"left as it was: value {misplaced[0]} lies outside its arena",)
    best: _Candidate | None = None
    drafts = _drafts(file, analysed, position, options)
    # what stays closed is said whichever draft wins
    notes = _closed_notes(max(drafts, key=lambda draft: len(draft.opened.closed)).opened)
    for draft in drafts:
        if (
            best is not None
            and draft.bound_bytes + draft.workspace_bytes >= best.footprint.total_bytes
        ):
            continue
        try:
            candidate = _solve(method, draft, options)
        except PlanError as error:
            notes.append(f"no plan: {error}")
            continue
        if best is None or candidate.footprint.total_bytes < best.footprint.total_bytes:
            best = candidate
    notes += _pinned_notes((best.draft if best else drafts[0]).timeline)
    if best is None or best.footprint.total_bytes >= before.total_bytes:
        notes.append("keeps its plan: no smaller one was found")
        return None, tuple(notes)
    return best, tuple(notes)


def _drafts(
    file: PteFile, analysed: Mapping[int, AnalysedMethod], position: int, options: Options
) -> list[_Draft]:
    """What could be planned instead, the most promising first."""
    method = analysed[position]
    shared = len(analysed) > 1
    reserved = foreign_state(analysed, position) if shared else ()
    label = method_label(file, method.plan)
    edges = boundaries(method.plan, method.payloads)

    def draft(
        opened: OpenedMethod,
        order: tuple[int, ...],
        steps: MethodSteps,
        storage: Storage | None = None,
    ) -> _Draft:
        if steps is method.steps and not shared:
            timeline = method.timeline
        else:
            timeline = build_timeline(steps, opened.added, reserved, shared, storage)
        bound = sum(lower_bound_bytes(timeline.problem, a) for a in timeline.problem.arenas)
        graphs = {k: p.graph.source for k, p in method.payloads.items() if p.graph is not None}
        graphs.update((k, p.graph.source) for k, p in opened.payloads.items())
        return _Draft(opened, order, timeline, bound, workspace_of(opened.plan, graphs))

    closed = OpenedMethod(method.plan, method.steps.calls, frozenset(), {}, 0, ())
    drafts = [draft(closed, (), method.steps)]
    if options.open_delegates:
        opened = open_method(method.plan, method.payloads, label)
        steps = method_steps(opened.plan, opened.calls, label, edges)
        plain = draft(opened, (), steps)
        drafts.append(plain)
        if options.reorder:
            moved, order = rescheduled(opened, steps, plain.timeline.storage, label)
            if moved is not opened:
                shifted = {k: edges[old] for k, old in enumerate(order) if old in edges}
                steps = method_steps(moved.plan, moved.calls, label, shifted if order else edges)
                drafts.append(draft(moved, order, steps, plain.timeline.storage))
    return sorted(drafts, key=lambda d: d.bound_bytes + d.workspace_bytes)


def _solve(method: AnalysedMethod, draft: _Draft, options: Options) -> _Candidate:
    timeline = draft.timeline
    solution = plan_problem(timeline.problem, time_limit_s=options.time_limit_s)
    faults = verify_plan(timeline.problem, solution)
    if faults:
        raise VerificationError(f"{timeline.method.what}: the plan is not valid: {faults[0]}")
    # a backend that is not known may want the same
    tail = XNNPACK_TAIL_BYTES if method.plan.delegates else 0
    plan = place_values(draft.opened.plan, timeline, solution, tail)
    return _Candidate(draft, plan, solution, Footprint(arena_bytes(plan), draft.workspace_bytes))


def _closed_notes(opened: OpenedMethod) -> list[str]:
    reasons: dict[str, list[int]] = {}
    for instruction, reason in opened.closed:
        reasons.setdefault(reason, []).append(instruction)
    return [
        f"{len(where)} call{'s' if len(where) > 1 else ''} stay{'s' if len(where) == 1 else ''} "
        f"closed (first: instruction {where[0]}): {reason}"
        for reason, where in reasons.items()
    ]


def _pinned_notes(timeline: Timeline) -> list[str]:
    reasons: dict[str, list[int]] = {}
    for value, reason in timeline.storage.pinned.items():
        reasons.setdefault(reason, []).append(value)
    return [
        f"{len(values)} value{'s' if len(values) > 1 else ''} pinned (first: value {min(values)}): "
        f"{reason}"
        for reason, values in reasons.items()
    ]


def _method_record(
    method: AnalysedMethod, best: _Candidate, earlier: MethodRecord | None
) -> MethodRecord:
    storage = best.draft.timeline.storage
    aliases = tuple(
        (group[0], value, storage.memories[value].start - storage.memories[group[0]].start)
        for group in storage.groups
        for value in group[1:]
        if not storage.pinned.keys() & {group[0], value}
    )
    count = len(method.plan.values or ())
    return MethodRecord(
        earlier.arena_bytes_before if earlier else method.plan.non_const_buffer_sizes or (),
        earlier.workspace_bytes_before if earlier else method.workspace_bytes,
        aliases,
        tuple(sorted(storage.state)),
        (count, count + len(best.draft.opened.added)),
        best.draft.order,
    )


# -- verifying what was written -----------------------------------------------------------


def _verify_written(
    original: PteFile, analysed: Mapping[int, AnalysedMethod], written: Path
) -> None:
    """Reads the new file back and checks it alone and against the original.

    Raises:
        VerificationError: with the first violation.
    """
    with open_pte(written) as file:
        methods = [analyse_steps(file, plan)[1] for plan in file.program.execution_plan or ()]
        found = verify_methods(file, methods).violations
        if found:
            # what the exporter put there on purpose, or by mistake, is not ours to refuse
            old_steps = [method.steps for method in analysed.values()]
            known = {str(v) for v in verify_methods(original, old_steps).violations}
            _refuse(original, [v for v in found if str(v) not in known])
        record = read_record(file)
        for old, new in zip(analysed.values(), methods, strict=True):
            entry = record.methods.get(old.plan.name or "") if record else None
            order, views = entry.order if entry else (), old.timeline.storage.views
            _refuse(original, verify_rewrite(old.steps, new, order, views))


def _refuse(original: PteFile, violations: Sequence[Violation]) -> None:
    if violations:
        raise VerificationError(f"{original.path}: the result is not safe: {violations[0]}")


# -- reports ------------------------------------------------------------------------------


def _inspect_method(method: AnalysedMethod, notes: tuple[str, ...]) -> MethodReport:
    timeline = method.timeline
    bound = sum(lower_bound_bytes(timeline.problem, a) for a in timeline.problem.arenas)
    arena = arena_bytes(method.plan)
    calls = delegate_calls(method.plan)
    opened = [position for position, _ in calls if _has_opened_values(method, position)]
    return MethodReport(
        name=method.plan.name or "",
        before=Footprint(arena, method.workspace_bytes),
        after=None,
        lower_bound_bytes=bound,
        gap=(arena - bound) / bound if bound else 0.0,
        delegate_calls=len(calls),
        opened_calls=len(opened),
        pinned_values=len(timeline.storage.pinned),
        state_bytes=_state_bytes(timeline),
        optimal=arena <= bound,
        planner="as in the file",
        peak=find_peak(timeline),
        notes=(*notes, *_pinned_notes(timeline)),
    )


def _has_opened_values(method: AnalysedMethod, instruction: int) -> bool:
    """True when some output of the call is read by the call itself."""
    steps = [s for s in method.steps.steps if s.instruction == instruction and s.call]
    written = {v for step in steps for v in step.roles.writes}
    return any(v in written for step in steps for v in step.roles.reads)


def _state_bytes(timeline: Timeline) -> int:
    memories = timeline.storage.memories
    spans = {
        (memories[v].arena, memories[v].offset, memories[v].size_bytes)
        for v in timeline.storage.state
    }
    return sum(size for _, _, size in spans)


def _report(
    method: AnalysedMethod, best: _Candidate | None, notes: tuple[str, ...]
) -> MethodReport:
    before = _inspect_method(method, ())
    if best is None:
        return replace(before, after=before.before, notes=notes)
    return replace(
        before,
        after=best.footprint,
        lower_bound_bytes=best.solution.total_bound_bytes,
        gap=best.solution.gap,
        opened_calls=max(best.draft.opened.opened_calls, before.opened_calls),
        pinned_values=len(best.draft.timeline.storage.pinned),
        optimal=best.solution.optimal,
        planner=best.solution.method,
        peak=find_peak(best.draft.timeline),
        notes=notes,
    )


def _record_notes(file: PteFile) -> tuple[str, ...]:
    record = read_record(file)
    return (f"optimized by onearena {record.tool_version}",) if record else ()


__all__ = ["AnalysisError", "Options", "inspect", "optimize", "verify"]
