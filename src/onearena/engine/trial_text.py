"""A trial as lines for people; the pools in the manner of the runners for microcontrollers."""

from __future__ import annotations

from collections.abc import Sequence

from onearena.engine.memory import MethodMemory
from onearena.engine.trial import OutputSummary, Trial
from onearena.report.plain import plain


def trial_lines(trial: Trial, *, memory: bool) -> list[str]:
    """The lines that `onearena run` prints."""
    runs = len(trial.times_s)
    rows = [("method", plain(trial.method))]
    rows += [(f"output {k}", _output(output)) for k, output in enumerate(trial.outputs)]
    rows.append(("loaded in", f"{trial.load_s * 1e3:.1f} ms"))
    rows.append(
        ("run in", f"{trial.median_s * 1e3:.3f} ms" + (f" (median of {runs})" * (runs > 1)))
    )
    lines = _aligned(rows)
    if memory:
        lines += ["", "bytes", *_aligned(_pools(trial.memory), right=True)]
        lines += ["", *_aligned(_plans(trial.memory))]
    return lines


def _pools(memory: MethodMemory) -> list[tuple[str, str]]:
    rows = [
        ("program", memory.program_bytes, "the file, mapped"),
        ("method allocator", memory.method_allocator_bytes, "used by delegates"),
        ("loaded", memory.loaded_bytes, "values"),
        ("executor", memory.executor_bytes, "instructions"),
        ("planned", memory.planned_bytes, "as the file declares"),
        ("input", memory.input_bytes, "of the planned, copies of inputs"),
        ("arena", memory.arena_bytes, "of the shared arena"),
        ("arena resident", memory.arena_resident_bytes, "given by the operating system"),
        ("private", memory.private_bytes, "planned, not shared"),
        ("state", memory.state_bytes, "kept from run to run"),
        ("delegates", memory.delegate_bytes, "of the arena, most of one delegate for itself"),
        ("temp", memory.temp_bytes, "most that one instruction asked for"),
        ("temp elsewhere", memory.temp_elsewhere_bytes, "of that, not in the arena"),
        ("persistent", memory.persistent_bytes, "kept by delegates that say so"),
        ("workspace", memory.workspace_bytes, "XNNPACK's own, not in the arena"),
    ]
    width = max(len(f"{size:,}") for _, size, _ in rows)
    return [(name, f"{size:>{width},}  {meaning}") for name, size, meaning in rows]


def _plans(memory: MethodMemory) -> list[tuple[str, str]]:
    rows = [("planning", memory.planning)]
    if memory.planning != "static":
        rows.append(("plans", f"{memory.plans} made, {memory.cached_plans} kept"))
        rows.append(("runs without a plan", f"{memory.lazy_runs} of {memory.runs}"))
        rows.append(("last plan, binding", f"{memory.plan_us:.1f} us, {memory.bind_us:.1f} us"))
    return rows


def _output(output: OutputSummary) -> str:
    if output.dtype is None:
        return plain(repr(output.value))
    text = f"{output.dtype} {list(output.sizes)}"
    if output.low is not None:
        text += f", {output.low:.6g} to {output.high:.6g}, mean {output.mean:.6g}"
    return text + (f", {output.other} not finite" if output.other else "")


def _aligned(rows: Sequence[tuple[str, str]], *, right: bool = False) -> list[str]:
    width = max(len(name) for name, _ in rows)
    indent = "  " if right else ""
    return [f"{indent}{name:{width}}  {text}" for name, text in rows]
