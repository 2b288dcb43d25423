"""A simulation as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.report.plain import plain
from onearena.simulator.results import MethodSimulation, SimulationReport


def simulation_text(report: SimulationReport) -> str:
    """The report of `simulate`; methods without instructions need no line."""
    lines = [plain(report.path)]
    for method in report.methods:
        if method.executed or method.clobbers:
            lines += _method_lines(method)
    lines += [f"note: {plain(note)}" for note in report.notes]
    found = sum(len(method.clobbers) for method in report.methods)
    if found:
        lines.append(f"WRONG: {found} clobber{'' if found == 1 else 's'}")
    else:
        lines.append("right: every read found what it should")
    return "\n".join(lines)


def _method_lines(method: MethodSimulation) -> Iterable[str]:
    inputs = f"{method.inputs} input{'' if method.inputs == 1 else 's'}"
    yield f"method {plain(method.name)}: {inputs}, {method.executed:,} instructions executed"
    arenas = [
        f"arena {number} of {size:,} B" for number, size in enumerate(method.arena_bytes, 1) if size
    ]
    if arenas:
        yield f"  {', '.join(arenas)}"
    if method.scratch_calls:
        yield f"  {method.scratch_calls:,} calls of operators with scratch"
    for clobber in method.clobbers:
        run = f"input {clobber.input}: " if clobber.input >= 0 else ""
        yield f"  {clobber.kind}: {run}{plain(clobber.text)}"
