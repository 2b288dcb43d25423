"""Advice on operators that XNNPACK does not take, between calls that it does.

Around such a graph break the activations that cross it lie in the arena, and those inside the
calls in the workspace; neither sees the other's free bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

from onearena.advice.edit import changed, group_members
from onearena.advice.model import Advice, AdviceKind, Basis
from onearena.delegates.xnnpack.merged import Operator, Payload, Tensor, merged_workspace_bytes
from onearena.delegates.xnnpack.schema import Datatype
from onearena.errors import FormatError, PlanError
from onearena.lifetime import Interval, merge
from onearena.payloads import argument_problem
from onearena.planners import plan as plan_problem
from onearena.problem import Problem
from onearena.program import AnalysedMethod, arena_bytes, inner_values
from onearena.pte.schema import DelegateCall, KernelCall
from onearena.pte.tensors import ScalarType
from onearena.timeline.roles import kernel_roles, operator_name

_TYPES: Mapping[int, Datatype] = {
    ScalarType.FLOAT: Datatype.FP32,
    ScalarType.HALF: Datatype.FP16,
    ScalarType.CHAR: Datatype.QINT8,
    ScalarType.BYTE: Datatype.QUINT8,
}
_MAX_OPERATORS = 5
"""So many kinds of operators are tried, those that break the graph most often."""
_NEVER = ("executorch_prim::", "aten::sym_")


@dataclass(frozen=True)
class _Region:
    """Consecutive instructions that would be one payload."""

    start: int
    end: int
    pieces: tuple[Payload | Operator, ...]


def break_advice(method: AnalysedMethod, time_limit_s: float) -> Iterable[Advice]:
    """One advice per kind of operator, as if XNNPACK took it wherever it stands. None for methods
    whose calls are opened."""
    if not inner_values(method.steps, None).isdisjoint(method.timeline.storage.memories):
        return  # opened calls do not pay for a break any more
    before = arena_bytes(method.plan) + method.workspace_bytes
    try:
        height = _height(_coarse(method, ()), time_limit_s)
    except PlanError:
        return
    for name, count in _breaking_operators(method):
        regions = _regions(method, name)
        try:
            after = _after(method, regions, time_limit_s, height)
        except (FormatError, PlanError):
            continue
        yield Advice(
            AdviceKind.GRAPH_BREAK,
            method.plan.name,
            f"{name} breaks the graph at {count} place{'s' if count > 1 else ''}",
            "use an operator that XNNPACK takes instead; or run `onearena optimize`, which plans "
            "both sides of a break together",
            Basis.AS_IS,
            before,
            after,
            tuple(
                f"instructions {region.start} to {region.end - 1} become one call"
                for region in regions
                if sum(isinstance(piece, Payload) for piece in region.pieces) > 1
            )[:3],
            ("predicted from XNNPACK's own packing of the joined payloads",),
        )


def _coarse(method: AnalysedMethod, regions: Sequence[_Region]) -> Problem:
    """The planning problem as ExecuTorch sees it: a call, or a region that would be one, is one
    instant, with all of its arguments alive."""
    first = method.steps.first_step
    spans = [(0, first[0]), *pairwise((*first, len(method.steps.steps)))]
    spans += [(first[region.start], first[region.end]) for region in regions]
    covering = {step: span for span in spans for step in range(*span)}
    problem = method.timeline.problem
    wide = {
        buffer.id: replace(
            buffer,
            lifetime=merge(
                Interval(covering[i.start][0], covering[i.end - 1][1]) for i in buffer.lifetime
            ),
        )
        for buffer in problem.buffers
    }
    return changed(problem, wide)


def _height(problem: Problem, time_limit_s: float) -> int:
    return plan_problem(problem, time_limit_s=time_limit_s).total_bytes


def _breaking_operators(method: AnalysedMethod) -> list[tuple[str, int]]:
    """Operators that stand directly beside a call on both sides, possibly with others of their
    kind between; the most frequent first."""
    found: dict[str, int] = {}
    names = [_name(method, position) for position in range(len(method.steps.instructions))]
    for name in dict.fromkeys(names):
        if not name or name.startswith(_NEVER):
            continue
        for region in _regions(method, name):
            if sum(isinstance(piece, Payload) for piece in region.pieces) > 1:
                count = sum(isinstance(piece, Operator) for piece in region.pieces)
                found[name] = found.get(name, 0) + count
    return sorted(found.items(), key=lambda item: -item[1])[:_MAX_OPERATORS]


def _name(method: AnalysedMethod, position: int) -> str:
    call = method.steps.instructions[position]
    if not isinstance(call, KernelCall):
        return ""
    return operator_name((method.plan.operators or ())[call.op_index])


def _regions(method: AnalysedMethod, name: str) -> list[_Region]:
    """Maximal runs of calls that are understood and kernels of this name, with a call in each."""
    regions: list[_Region] = []
    pieces: list[Payload | Operator] = []
    count = len(method.steps.instructions)
    for position in range(count + 1):
        piece = _piece(method, position, name) if position < count else None
        if piece is not None:
            pieces.append(piece)
            continue
        if any(isinstance(found, Payload) for found in pieces):
            regions.append(_Region(position - len(pieces), position, tuple(pieces)))
        pieces = []
    return regions


def _piece(method: AnalysedMethod, position: int, name: str) -> Payload | Operator | None:
    call = method.steps.instructions[position]
    if isinstance(call, DelegateCall):
        payload = method.payloads.get(call.delegate_index)
        args = call.args or ()
        if payload is None or payload.graph is None:
            return None
        if argument_problem(method.plan, args, payload.graph) is not None:
            return None
        return Payload(payload.graph.source, args)
    if not isinstance(call, KernelCall) or _name(method, position) != name:
        return None
    roles = kernel_roles(method.plan, call)
    values = (*roles.reads, *roles.writes)
    if not roles.understood or roles.aliases or roles.in_place:
        return None
    if any(method.steps.tensor(v).scalar_type not in _TYPES for v in values):
        return None
    return Operator(roles.reads, roles.writes)


def _after(
    method: AnalysedMethod, regions: Sequence[_Region], time_limit_s: float, height: int
) -> int:
    """Arenas and workspace with these regions as one call each.

    The arenas are counted as far above their best plan as they are now.
    """
    timeline = method.timeline
    removed: set[int] = set()
    workspace = _workspace_outside(method, regions)
    for region in regions:
        internal = frozenset(_internal_values(method, region))
        tensors = {
            value: _tensor(method, value)
            for piece in region.pieces
            if isinstance(piece, Operator)
            for value in (*piece.inputs, *piece.outputs)
        }
        workspace = max(workspace, merged_workspace_bytes(region.pieces, tensors, internal))
        removed.update(b for value in internal for b in group_members(timeline, value))
    left = _height(changed(_coarse(method, regions), removed=removed), time_limit_s)
    return arena_bytes(method.plan) - height + left + workspace


def _tensor(method: AnalysedMethod, value: int) -> Tensor:
    tensor = method.steps.tensor(value)
    sizes, order = tensor.sizes or (), tensor.dim_order or ()
    is_valid = sorted(order) == list(range(len(sizes)))
    dims = tuple(sizes[axis] for axis in order) if is_valid else tuple(sizes)
    return Tensor(_TYPES[tensor.scalar_type], dims)


def _internal_values(method: AnalysedMethod, region: _Region) -> Iterator[int]:
    """Values that nothing outside the region touches, in groups that do not reach outside."""
    timeline = method.timeline
    inside: set[int] = set()
    outside: set[int] = {*method.steps.inputs, *method.steps.outputs, *timeline.storage.state}
    for step in method.steps.steps:
        target = inside if region.start <= step.instruction < region.end else outside
        target.update((*step.roles.reads, *step.roles.writes))
        target.update(value for pair in step.roles.aliases for value in pair)
    value_of = timeline.values
    for value in sorted(inside - outside):
        tied = group_members(timeline, value)
        if tied and all(value_of[buffer] not in outside for buffer in tied):
            yield value


def _workspace_outside(method: AnalysedMethod, regions: Sequence[_Region]) -> int:
    """Of calls that are in no region."""
    largest = 0
    for position, call in enumerate(method.steps.instructions):
        if not isinstance(call, DelegateCall):
            continue
        if any(region.start <= position < region.end for region in regions):
            continue
        payload = method.payloads.get(call.delegate_index)
        if payload is not None and payload.workspace is not None:
            largest = max(largest, payload.workspace.total_bytes)
    return largest
