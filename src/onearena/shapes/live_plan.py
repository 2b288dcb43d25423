"""How much memory a method would need if it were planned for certain input shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from onearena.apply import XNNPACK_TAIL_BYTES, place_values
from onearena.delegates.xnnpack.call import XnnpackCall, understand_call
from onearena.delegates.xnnpack.graph import index_graph, tensor_of
from onearena.delegates.xnnpack.schema import XNNGraph, XNNQuantizedTensorValue, XValue
from onearena.delegates.xnnpack.workspace import predict_workspace, program_workspace
from onearena.errors import VerificationError
from onearena.joint import called_graphs
from onearena.payloads import delegate_calls
from onearena.planners.native import DEFAULT_TIME_LIMIT_S, plan
from onearena.program import AnalysedMethod, arena_bytes, boundaries
from onearena.pte.schema import EValue, ExecutionPlan, Tensor
from onearena.pte.tensors import Dynamism
from onearena.results import Footprint
from onearena.shapes.live import LiveShapes, live_sizes, with_recorded
from onearena.shapes.rules.call import Cause, Dims
from onearena.timeline.build import Timeline, build_timeline
from onearena.timeline.steps import method_steps
from onearena.timeline.storage import Storage
from onearena.verification.plan import verify_plan


@dataclass(frozen=True)
class PlannedAt:
    """A method planned for exactly one set of input shapes.

    Attributes:
        live: the shapes.
        timeline: what lives when, at these sizes.
        footprint: arena and predicted workspace.
        optimal: whether the arena is proven to be the smallest for this order of execution.
        notes: what the numbers rest on, where that is not certain.
    """

    live: LiveShapes
    timeline: Timeline
    footprint: Footprint
    optimal: bool
    notes: tuple[str, ...]


def file_footprint(method: AnalysedMethod) -> Footprint:
    """What the method needs as it stands in the file."""
    return Footprint(arena_bytes(method.plan), method.workspace_bytes)


def bound_footprint(
    method: AnalysedMethod, time_limit_s: float = DEFAULT_TIME_LIMIT_S
) -> Footprint:
    """What one plan needs that serves every shape up to the bound, made by the same planner.

    Raises:
        PlanError: the method cannot be planned.
    """
    return Footprint(_arena(method.timeline, time_limit_s)[0], method.workspace_bytes)


def plan_at(
    method: AnalysedMethod,
    shapes: Mapping[int, Dims],
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
) -> PlannedAt:
    """Plans the method as if it had been exported for these shapes, as static ones.

    What shares memory in the file does so here, at the same distances, and what is pinned
    keeps its offset. A tensor of unknown shape counts with its bound.

    Args:
        shapes: by position among the method's inputs; inputs left out are at their bounds.

    Raises:
        UsageError: the program was not exported for these shapes, or refuses them.
        PlanError: the method cannot be planned.
    """
    live = with_recorded(method, live_sizes(method, shapes))
    timeline = _timeline(method, live)
    arena, optimal = _arena(timeline, time_limit_s)
    graphs = graphs_at(method, live)
    workspace = program_workspace(predict_workspace(graph) for _, graph in graphs)
    notes = tuple(_notes(method, live))
    return PlannedAt(live, timeline, Footprint(arena, workspace), optimal, notes)


def graphs_at(method: AnalysedMethod, live: LiveShapes) -> list[tuple[int, XNNGraph]]:
    """By instruction, the payloads that it calls, as if they had been exported for these shapes."""
    return [
        (position, _graph_at(source, live.inner.get(position, {})))
        for position, source in called_graphs(method)
    ]


def _arena(timeline: Timeline, time_limit_s: float) -> tuple[int, bool]:
    """The arenas' bytes in a file with the best plan found, and whether that plan is optimal."""
    found = plan(timeline.problem, time_limit_s=time_limit_s)
    violations = verify_plan(timeline.problem, found)
    if violations:
        raise VerificationError(f"{timeline.method.what}: {violations[0]}")
    method = timeline.method.plan
    tail = XNNPACK_TAIL_BYTES if method.delegates else 0
    return arena_bytes(place_values(method, timeline, found, tail)), found.optimal


def _timeline(method: AnalysedMethod, live: LiveShapes) -> Timeline:
    """The timeline at live sizes; which memory is shared was found in the file as it stands."""
    steps, storage = method.steps, method.timeline.storage
    calls: dict[int, XnnpackCall] = {}
    for position, call in steps.calls.items():
        shapes = live.inner.get(position, {})
        graph = index_graph(_graph_at(call.graph.source, shapes), steps.what)
        is_vague = any(isinstance(dims, Cause) for dims in shapes.values())
        calls[position] = understand_call(graph, call.args, call.is_dynamic and is_vague)
    edges = boundaries(method.plan, method.payloads)
    static = method_steps(_plan_at(method.plan, live), calls, steps.what, edges)
    return build_timeline(static, storage=_storage_at(storage, live))


def _storage_at(storage: Storage, live: LiveShapes) -> Storage:
    memories = {
        value: replace(memory, size_bytes=live.size_bytes.get(value, memory.size_bytes))
        for value, memory in storage.memories.items()
    }
    return replace(storage, memories=memories)


def _plan_at(plan: ExecutionPlan, live: LiveShapes) -> ExecutionPlan:
    values: list[EValue] = []
    for index, entry in enumerate(plan.values or ()):
        tensor, dims = entry.val, live.dims.get(index)
        if isinstance(tensor, Tensor) and dims is not None:
            tensor = replace(tensor, sizes=dims, shape_dynamism=Dynamism.STATIC)
            entry = EValue(tensor)
        values.append(entry)
    return replace(plan, values=tuple(values))


def _graph_at(source: XNNGraph, shapes: Mapping[int, Dims | Cause]) -> XNNGraph:
    """The payload with the shapes that its values have; unknown ones stay as declared."""
    return replace(source, xvalues=tuple(_value_at(v, shapes) for v in source.xvalues or ()))


def _value_at(xvalue: XValue, shapes: Mapping[int, Dims | Cause]) -> XValue:
    tensor, union = tensor_of(xvalue), xvalue.xvalue_union
    dims = shapes.get(tensor.id_out) if tensor is not None else None
    if tensor is None or not isinstance(dims, tuple) or dims == tensor.dims:
        return xvalue
    # a number may be declared as a vector of one; passes that look at ranks go by that
    if not dims and tensor.dims == (1,):
        return xvalue
    tensor = replace(tensor, dims=dims, num_dims=len(dims))
    if isinstance(union, XNNQuantizedTensorValue):
        return XValue(replace(union, tensor_value=tensor))
    return XValue(tensor)


def _notes(method: AnalysedMethod, live: LiveShapes) -> Iterable[str]:
    storage = method.timeline.storage
    vague = [value for value in live.unknown if value in storage.memories]
    if vague:
        cause = live.unknown[vague[0]]
        yield f"tensors of unknown shape that count with their bounds: {len(vague)} ({cause})"
    inner = [c for shapes in live.inner.values() for c in shapes.values() if isinstance(c, Cause)]
    if inner:
        count = f"{len(inner)} ({inner[0]})"
        yield f"tensors inside XNNPACK calls that count with their bounds: {count}"
    unread = [p for p, call in delegate_calls(method.plan) if p not in live.inner]
    if unread:
        yield (
            f"delegate calls that are not understood, whose workspace is not counted: "
            f"{len(unread)} (instruction {unread[0]})"
        )
    distant = [group for group in storage.groups if _is_stretched(storage, live, group)]
    if distant:
        values = ", ".join(str(value) for value in distant[0][:4])
        yield (
            f"groups of tensors inside each other that keep the distances of the bound: "
            f"{len(distant)} (values {values})"
        )
    pinned = [v for v in storage.pinned if v in storage.memories]
    if pinned:
        yield f"tensors that keep their offsets: {len(pinned)} ({storage.pinned[pinned[0]]})"


def _is_stretched(storage: Storage, live: LiveShapes, group: Sequence[int]) -> bool:
    """True when members at different offsets have sizes that are not the file's."""
    memories = [storage.memories[value] for value in group]
    if len({memory.offset for memory in memories}) == 1:
        return False
    return any(live.size_bytes.get(m.value, m.size_bytes) != m.size_bytes for m in memories)
