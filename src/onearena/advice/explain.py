"""A program file → what sets its memory, and what would lower it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain

from onearena.advice.arenas import shared_arena_advice
from onearena.advice.boundaries import boundary_advice
from onearena.advice.breaks import break_advice
from onearena.advice.concat import concat_advice
from onearena.advice.dynamic import at_shape, dynamic_advice
from onearena.advice.ground import Ground, find_ground
from onearena.advice.last_token import last_token_advice
from onearena.advice.model import (
    Advice,
    AdviceKind,
    ArenaPeak,
    Basis,
    Explanation,
    LargestCall,
    MethodExplanation,
)
from onearena.errors import UsageError
from onearena.options import Options
from onearena.program import AnalysedMethod, analyse_method
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.record import read_record
from onearena.shapes.effects import LiveFootprint
from onearena.summary.build import PathLike, summarize_file
from onearena.summary.model import MethodSummary

Progress = Callable[[str], None]


def explain(
    path: PathLike,
    options: Options | None = None,
    progress: Progress | None = None,
    *,
    method: str | None = None,
    shapes: str | Sequence[str] = (),
) -> Explanation:
    """Explains what sets the peak of every method, and what would lower it.

    Args:
        options: of the plans that savings are computed with.
        progress: is told what is being looked at.
        method: explain this one only.
        shapes: of inputs that are dynamic, one or several, like "x=1x3x64x64": says what the
            bound costs there. Needs a program with one method, or `method`.

    Raises:
        UsageError: no such method, or shapes that its inputs cannot have.
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself.
        VerificationError: a plan is not valid.
    """
    tell = progress or (lambda _: None)
    shapes = (shapes,) if isinstance(shapes, str) else shapes
    with open_pte(path) as file:
        tell("reading")
        plans = file.program.execution_plan or ()
        analysed = {k: analyse_method(file, plan) for k, plan in enumerate(plans)}
        summary = summarize_file(file, analysed.values())
        chosen = _choose(file, analysed, method, shapes)
        methods = []
        for position in chosen:
            tell(f"planning {analysed[position].plan.name}")
            found = find_ground(file, analysed, position, options or Options())
            live = at_shape(analysed[position], shapes, (options or Options()).time_limit_s)
            methods.append(
                _explain_method(file, analysed[position], summary.methods[position], found, live)
            )
    return Explanation(summary, tuple(methods), _worthwhile(shared_arena_advice(summary.methods)))


def _choose(
    file: PteFile,
    analysed: Mapping[int, AnalysedMethod],
    name: str | None,
    shapes: Sequence[str],
) -> tuple[int, ...]:
    """The positions of the methods to explain."""
    chosen = tuple(k for k, m in analysed.items() if name is None or m.plan.name == name)
    names = ", ".join(repr(m.plan.name) for m in analysed.values()) or "none"
    if name is not None and not chosen:
        raise UsageError(f"{file.path}: has no method {name!r}; it has {names}")
    if shapes and len(chosen) != 1:
        raise UsageError(f"{file.path}: a shape needs a method where there are several: {names}")
    return chosen


def _explain_method(
    file: PteFile,
    method: AnalysedMethod,
    summary: MethodSummary,
    found: Ground | str,
    live: LiveFootprint | None,
) -> MethodExplanation:
    notes = list(summary.notes)
    advice: tuple[Advice, ...] = ()
    if isinstance(found, str):
        notes.append(f"nothing was tried: {found}")
    else:
        advice = _worthwhile(
            chain(
                _optimize_advice(file, found),
                break_advice(method, found.options.time_limit_s),
                boundary_advice(found),
                last_token_advice(found),
                concat_advice(found),
                dynamic_advice(method, live),
            )
        )
    return MethodExplanation(
        name=summary.name,
        total_bytes=summary.total_bytes,
        arena_bytes=summary.arena_bytes,
        workspace_bytes=summary.workspace.global_bytes,
        optimized_bytes=None if isinstance(found, str) else found.optimized_bytes,
        peaks=_peaks(summary),
        largest_call=_largest_call(summary),
        advice=advice,
        notes=tuple(notes),
        live=live,
    )


def _worthwhile(advice: Iterable[Advice]) -> tuple[Advice, ...]:
    """What saves something, the most first."""
    return tuple(sorted((a for a in advice if a.saved_bytes > 0), key=lambda a: -a.saved_bytes))


def _optimize_advice(file: PteFile, ground: Ground) -> Iterable[Advice]:
    record = read_record(file)
    name = ground.method.plan.name or ""
    if record is not None and name in record.methods:
        return
    opened, closed = ground.draft.opened.opened_calls, len(ground.draft.opened.closed)
    where = [f"{opened} delegate call{'s' if opened != 1 else ''} would be opened"]
    if closed and opened:
        where.append(f"{closed} would stay closed")
    yield Advice(
        AdviceKind.OPTIMIZE,
        name,
        "plan the arena and the delegates' activations together",
        "onearena optimize",
        Basis.AS_IS,
        ground.before.total_bytes,
        ground.optimized_bytes,
        tuple(where) if opened else (),
    )


def _peaks(summary: MethodSummary) -> tuple[ArenaPeak, ...]:
    found = []
    for arena in summary.arenas:
        if arena.peak_step is not None:
            found.append(
                ArenaPeak(
                    arena.memory_id,
                    arena.size_bytes,
                    arena.peak_bytes,
                    summary.steps[arena.peak_step],
                    summary.alive_at(arena.peak_step, arena.memory_id),
                )
            )
    return tuple(sorted(found, key=lambda peak: -peak.live_bytes))


def _largest_call(summary: MethodSummary) -> LargestCall | None:
    sizes = [
        (delegate.workspace_bytes, delegate)
        for delegate in summary.delegates
        if delegate.workspace_bytes and delegate.calls
    ]
    if not sizes:
        return None
    size, delegate = max(sizes, key=lambda item: item[0])
    return LargestCall(delegate.calls[0], delegate.backend, size)
