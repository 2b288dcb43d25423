"""The answers of `explain` in plain words."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.advice.dynamic import effect_text
from onearena.advice.model import Advice, ArenaPeak, Explanation, MethodExplanation
from onearena.report.plain import clipped, plain
from onearena.report.text import both_units, size_text, table
from onearena.shapes.effects import LiveFootprint

_MAX_TENSORS = 8
_NAME_WIDTH = 40


def explain_text(explanation: Explanation) -> str:
    """All methods, one after the other."""
    summary = explanation.summary
    parts = [f"{plain(summary.path)}  {size_text(summary.file_bytes)}"]
    parts += ["\n".join(_method_lines(method)) for method in explanation.methods]
    if explanation.advice:
        parts.append("\n".join(_advice_lines("for the program as a whole", explanation.advice)))
    if not explanation.methods:
        parts.append("it has no methods")
    return "\n\n".join(parts)


def _method_lines(method: MethodExplanation) -> Iterable[str]:
    yield f"method {plain(method.name)}: {_total(method)}"
    for peak in method.peaks:
        yield ""
        yield from _peak_lines(peak)
    if not method.peaks:
        yield "  it plans no memory"
    call = method.largest_call
    if call is not None:
        yield ""
        yield (
            f"  The workspace has the size that instruction {call.instruction} "
            f"({plain(call.backend)}) needs: {both_units(call.workspace_bytes)}"
        )
    if method.live is not None:
        yield ""
        yield from _live_lines(method.live)
    yield ""
    yield from _advice_lines("What would lower it", method.advice, "  ")
    for note in method.notes:
        yield f"  note: {plain(note)}"


def _total(method: MethodExplanation) -> str:
    arena = f"arena {size_text(method.arena_bytes)}"
    if method.total_bytes is None or method.workspace_bytes is None:
        return f"{arena}; what its delegates allocate is unknown"
    workspace = f"delegate workspace {size_text(method.workspace_bytes)}"
    return f"{both_units(method.total_bytes)}: {arena}, {workspace}"


def _peak_lines(peak: ArenaPeak) -> Iterable[str]:
    yield (
        f"  Arena {peak.memory_id} peaks while {plain(peak.step.where)} runs: "
        f"{both_units(peak.live_bytes)} alive"
    )
    source = peak.step.source
    if source is not None:
        function = f" in {plain(source.function)}" if source.function else ""
        text = f": {clipped(source.text, 80)}" if source.text else ""
        yield f"    from {plain(str(source))}{function}{text}"
    shown = peak.tensors[:_MAX_TENSORS]
    if shown:
        rows = [
            [
                f"    {clipped(tensor.name, _NAME_WIDTH)}",
                f"{tensor.size_bytes:,} B",
                f"{tensor.size_bytes / peak.live_bytes:.0%}",
            ]
            for tensor in shown
        ]
        for line, tensor in zip(table(rows).splitlines(), shown, strict=True):
            yield f"{line}  {tensor.description}"
    rest = peak.tensors[_MAX_TENSORS:]
    if rest:
        yield f"    and {len(rest)} more, {sum(t.size_bytes for t in rest):,} B"


def _live_lines(live: LiveFootprint) -> Iterable[str]:
    inputs = {spec.position: spec for spec in live.planned.live.inputs}
    shapes = (
        f"{plain(inputs[k].name)}={'x'.join(map(str, dims))}"
        for k, dims in live.planned.live.shapes.items()
        if inputs[k].is_dynamic
    )
    yield f"  At {', '.join(shapes)}"
    rows = [["    bytes", "arena", "workspace", "total"]]
    for label, found in (
        ("the file, at any shape", live.in_file),
        ("planned anew, for the bound", live.bound_exactly),
        ("planned for this shape", live.live),
    ):
        sizes = (found.arena_bytes, found.workspace_bytes, found.total_bytes)
        rows.append([f"    {label}", *(f"{size:,}" for size in sizes)])
    yield from table(rows).splitlines()
    for effect in live.by_dimension:
        saved = effect.saved_bytes
        what = "unknown: the program refuses it" if saved is None else f"saves {both_units(saved)}"
        yield f"    {plain(effect_text(effect))} alone: {what}"
    for note in live.notes:
        yield f"    note: {plain(note)}"


def _advice_lines(title: str, advice: tuple[Advice, ...], indent: str = "") -> Iterable[str]:
    if not advice:
        yield f"{indent}{title}: nothing that was tried"
        return
    yield f"{indent}{title}:"
    for number, found in enumerate(advice, 1):
        yield f"{indent}{number:>3}. saves {both_units(found.saved_bytes)}: {plain(found.title)}"
        now = f"{found.before_bytes:,} B {found.basis.value}"
        yield f"{indent}     {now} -> {found.after_bytes:,} B"
        for line in (found.how, *found.where, *found.notes):
            yield f"{indent}     {plain(line)}"
