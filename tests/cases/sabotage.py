"""Optimizers that are wrong on purpose, to see that tests on random programs notice."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any
from unittest import mock

from onearena import candidates, pipeline, pointers
from onearena.delegates.xnnpack import indirection, opening
from onearena.delegates.xnnpack.graph import Graph, index_graph
from onearena.delegates.xnnpack.schema import OutputMinMax
from onearena.planners import plan as right_plan
from onearena.problem import Plan, Problem
from onearena.pte.container import PteFile
from onearena.results import VerifyReport
from onearena.timeline.steps import MethodSteps
from onearena.verification import program


def wrong_arithmetic() -> None:
    """With `transient_indirection`, convolutions with pointers get bounds that they had not: only
    the bits of the outputs can tell."""
    right = indirection.with_transient_indirection

    def wrong(graph: Graph, what: str, only: frozenset[int] | None = None) -> tuple[Graph, int]:
        flagged, count = right(graph, what, only)
        nodes = tuple(
            new if new is old.xnode else replace(new, output_min_max=OutputMinMax(-0.25, 0.25))
            for old, new in zip(graph.nodes, flagged.source.xnodes or (), strict=True)
        )
        return index_graph(replace(flagged.source, xnodes=nodes), what), count

    _replace(opening, "with_transient_indirection", wrong)
    _replace(pointers, "with_transient_indirection", wrong)


def wrong_plans() -> None:
    """The planner puts the last of its buffers where the first one is, and nobody checks its plan:
    the trace of the written program must."""

    def wrong(problem: Problem, **settings: Any) -> Plan:
        plan = right_plan(problem, **settings)
        offsets = list(plan.offsets)
        if len(offsets) > 1:
            offsets[-1] = offsets[0]
        return replace(plan, offsets=tuple(offsets))

    _replace(candidates, "plan_problem", wrong)
    _replace(candidates, "verify_plan", lambda problem, plan: ())


def blind_verifier() -> None:
    """`verify` finds nothing wrong with any plan: planted faults must show in the outputs."""

    def blind(file: PteFile, methods: Iterable[MethodSteps]) -> VerifyReport:
        return VerifyReport(file.path, tuple(steps.plan.name or "" for steps in methods), ())

    _replace(program, "verify_methods", blind)
    _replace(pipeline, "verify_methods", blind)


def _replace(module: Any, name: str, other: Any) -> None:
    """For the life of this process and its children."""
    mock.patch.object(module, name, other).start()


SABOTAGES: Mapping[str, Callable[[], None]] = {
    "arithmetic": wrong_arithmetic,
    "plans": wrong_plans,
    "verifier": blind_verifier,
}
