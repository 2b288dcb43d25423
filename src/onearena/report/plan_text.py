"""The report of `onearena plan`, as JSON and as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from onearena.errors import InfeasibleError
from onearena.problem import Memory, Plan, Problem
from onearena.report.text import table

_MAX_NAMES = 20


@dataclass(frozen=True)
class PlanReport:
    """What came of planning a problem.

    Attributes:
        path: the file read.
        problem, memories: what it says, and what the command line added.
        plan: None without one.
        infeasible: why there can be none, or None.
        seconds: spent on planning; with a time limit of `time_limit_s`.
        written: the files written.
    """

    path: str
    problem: Problem
    memories: tuple[Memory, ...]
    plan: Plan | None
    infeasible: InfeasibleError | None
    seconds: float
    time_limit_s: float
    written: tuple[str, ...] = ()

    @property
    def status(self) -> str:
        """One of optimal, feasible, infeasible, timeout."""
        if self.plan is not None:
            return "optimal" if self.plan.optimal else "feasible"
        return "infeasible" if self.infeasible is not None else "timeout"

    @property
    def conflict(self) -> list[str]:
        """The buffers that cannot be placed together, by name; `buffers[3]` when it has none."""
        ids = self.infeasible.buffers if self.infeasible is not None else ()
        return [self.problem.buffers[k].name or f"buffers[{k}]" for k in ids]

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON; null where there is no plan."""
        plan = self.plan
        result: dict[str, Any] = {
            "path": self.path,
            "status": self.status,
            "optimal": plan is not None and plan.optimal,
            "height_bytes": plan.total_bytes if plan else None,
            "lower_bound_bytes": plan.total_bound_bytes if plan else None,
            "gap": plan.gap if plan else None,
            "method": plan.method if plan else None,
            "buffers": len(self.problem.buffers),
            "seconds": round(self.seconds, 6),
            "conflict": self.conflict,
            "written": list(self.written),
        }
        if plan is not None and len(plan.height_bytes) > 1:
            result["arenas"] = [
                self._arena_json(plan, arena) for arena in sorted(plan.height_bytes)
            ]
        return result

    def _arena_json(self, plan: Plan, arena: int) -> dict[str, Any]:
        return {
            "arena": arena,
            "height_bytes": plan.height_bytes[arena],
            "lower_bound_bytes": plan.lower_bound_bytes[arena],
            "capacity_bytes": self._capacity(arena),
        }

    def _capacity(self, arena: int) -> int | None:
        return next((m.capacity_bytes for m in self.memories if m.arena == arena), None)

    def arena_rows(self) -> Iterable[list[str]]:
        """A row of text for every arena."""
        assert self.plan is not None
        for arena in sorted(self.plan.height_bytes):
            capacity = self._capacity(arena)
            yield [
                f"arena {arena}",
                f"{self.plan.height_bytes[arena]:,}",
                f"{self.plan.lower_bound_bytes[arena]:,}",
                "-" if capacity is None else f"{capacity:,}",
            ]


def plan_text(report: PlanReport) -> str:
    """The report as lines for people."""
    count = len(report.problem.buffers)
    lines = [f"{report.path}  {count:,} buffer{'' if count == 1 else 's'}"]
    if report.plan is not None:
        lines += _indent(_plan_lines(report, report.plan))
    elif report.infeasible is not None:
        lines.append("NO PLAN is possible")
        if report.conflict:
            lines.append(f"these alone cannot all be placed: {_names(report.conflict)}")
    else:
        lines.append(f"NO PLAN was found in {report.time_limit_s:g} s; there may be one")
    lines += [f"written: {path}" for path in report.written]
    return "\n".join(lines)


def _plan_lines(report: PlanReport, plan: Plan) -> list[str]:
    lines = []
    if len(plan.height_bytes) > 1:
        head = ["bytes", "height", "lower bound", "capacity"]
        lines += table([head, *report.arena_rows()]).splitlines()
    proof = f"gap {plan.gap:.2%}{', no plan is better' if plan.optimal else ''}"
    rows = [
        ("height", f"{plan.total_bytes:,} B"),
        ("lower bound", f"{plan.total_bound_bytes:,} B  ({proof})"),
        ("method", plan.method),
        ("time", f"{report.seconds:.2f} s"),
    ]
    return [*lines, *(f"{name:11}  {text}" for name, text in rows)]


def _indent(lines: Iterable[str]) -> list[str]:
    return [f"  {line}" for line in lines]


def _names(names: Sequence[str]) -> str:
    first = [name if name.isprintable() else ascii(name) for name in names[:_MAX_NAMES]]
    more = len(names) - len(first)
    return ", ".join(first) + (f" and {more} more" if more else "")
