"""Tensors and the memory of delegates together: what no plan for them can be below."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from onearena.delegates.xnnpack.schema import XNNGraph
from onearena.delegates.xnnpack.workspace import predict_workspace
from onearena.payloads import delegate_calls
from onearena.program import AnalysedMethod
from onearena.timeline.build import Timeline


def joint_bound(timeline: Timeline, workspace_bytes: Mapping[int, int]) -> int:
    """The most bytes alive at a step: buffers, and the workspace of the call that it belongs to.

    Args:
        workspace_bytes: by instruction, what its delegate needs during the call.
    """
    alive = [0] * len(timeline.method.steps)
    for buffer in timeline.problem.buffers:
        for interval in buffer.lifetime:
            for step in range(interval.start, interval.end):
                alive[step] += buffer.size_bytes
    first = timeline.method.first_step
    for instruction, size in workspace_bytes.items():
        for step in range(first[instruction], first[instruction + 1]):
            alive[step] += size
    return max(alive, default=0)


def workspaces(graphs: Iterable[tuple[int, XNNGraph]]) -> dict[int, int]:
    """By instruction, the predicted workspace of the payload that it calls, in bytes."""
    return {instruction: predict_workspace(graph).total_bytes for instruction, graph in graphs}


def called_graphs(method: AnalysedMethod) -> Iterable[tuple[int, XNNGraph]]:
    """The instructions that call XNNPACK, with the payloads that are readable."""
    for instruction, call in delegate_calls(method.plan):
        payload = method.payloads.get(call.delegate_index)
        if payload is not None and payload.graph is not None:
            yield instruction, payload.graph.source
