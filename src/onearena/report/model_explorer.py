"""Bytes in use, for Model Explorer to show on its graph of a program.

Model Explorer (https://github.com/google-ai-edge/model-explorer) reads node data as a JSON object
with an entry per graph: `results` holds a value per node, `gradient` says how values become
colours (`node_data_builder.py` there). A `.pte` becomes a graph with Arm's adapter
(https://github.com/arm/pte-adapter-model-explorer, `builder/builder.py`), which names things so:

* a graph is called like its method, or ExecutionPlan_<number> without a name;
* an instruction is the node <graph>_<chain>_<instruction>; only chain 0 ever runs;
* inputs and outputs are the nodes GraphInputs and GraphOutputs.
"""

from __future__ import annotations

import json
from typing import Any

from onearena.summary.model import MethodSummary, ProgramSummary, StepKind

_INPUTS_NODE, _OUTPUTS_NODE = "GraphInputs", "GraphOutputs"
_CHAIN = 0
_NAME = "bytes in use (arenas and running delegate)"
_GRADIENT = ({"stop": 0, "bgColor": "#ffffff"}, {"stop": 1, "bgColor": "#d55e00"})


def node_data_json(summary: ProgramSummary) -> str:
    """The node data of all methods.

    The value of a node is what is alive in all arenas while it runs, plus the workspace of the
    delegate that it calls; for a call that has several steps, that of the largest one. A node for
    which this is not known has no value.
    """
    content = {
        graph_id(method, number): _graph(method, graph_id(method, number))
        for number, method in enumerate(summary.methods)
    }
    return json.dumps(content, indent=2) + "\n"


def graph_id(method: MethodSummary, number: int) -> str:
    """What Arm's adapter calls the graph of a program's `number`-th method."""
    return method.name or f"ExecutionPlan_{number}"


def _graph(method: MethodSummary, graph: str) -> dict[str, Any]:
    results: dict[str, int] = {}
    unknown: set[str] = set()
    for step in method.steps:
        node = f"{graph}_{_CHAIN}_{step.instruction}"
        if step.kind is StepKind.ENTRY:
            node = _INPUTS_NODE
        elif step.kind is StepKind.EXIT:
            node = _OUTPUTS_NODE
        workspace = method.workspace_by_step[step.number]
        if workspace is None:
            unknown.add(node)
            continue
        live = sum(arena.live_bytes[step.number] for arena in method.arenas)
        results[node] = max(results.get(node, 0), live + workspace)
    known = {node: {"value": value} for node, value in results.items() if node not in unknown}
    return {"name": _NAME, "results": known, "gradient": list(_GRADIENT)}
