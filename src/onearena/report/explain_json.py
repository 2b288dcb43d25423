"""The answers of `explain` as JSON, with stable keys."""

from __future__ import annotations

from typing import Any

from onearena.advice.model import Advice, ArenaPeak, Explanation, MethodExplanation
from onearena.report.summary_json import step_json, tensor_json
from onearena.shapes.effects import LiveFootprint


def explain_json(explanation: Explanation) -> dict[str, Any]:
    """All methods; sizes in bytes, null where not known."""
    return {
        "path": explanation.summary.path,
        "file_bytes": explanation.summary.file_bytes,
        "methods": [_method(method) for method in explanation.methods],
        "advice": [_advice(advice) for advice in explanation.advice],
    }


def _method(method: MethodExplanation) -> dict[str, Any]:
    call = method.largest_call
    return {
        "name": method.name,
        "total_bytes": method.total_bytes,
        "arena_bytes": method.arena_bytes,
        "workspace_bytes": method.workspace_bytes,
        "optimized_bytes": method.optimized_bytes,
        "peaks": [_peak(peak) for peak in method.peaks],
        "largest_call": None
        if call is None
        else {
            "instruction": call.instruction,
            "backend": call.backend,
            "workspace_bytes": call.workspace_bytes,
        },
        "advice": [_advice(advice) for advice in method.advice],
        "notes": list(method.notes),
        "live": None if method.live is None else _live(method.live),
    }


def _live(live: LiveFootprint) -> dict[str, Any]:
    return {
        "in_file": live.in_file.to_json(),
        "bound": live.bound_exactly.to_json(),
        "live": live.live.to_json(),
        "shapes": {str(k): list(dims) for k, dims in live.planned.live.shapes.items()},
        "dimensions": [
            {
                "dimensions": [
                    {
                        "input": d.input,
                        "name": d.name,
                        "dimension": d.dim,
                        "bound": d.bound,
                        "live": d.live,
                    }
                    for d in effect.dimensions
                ],
                "saved_bytes": effect.saved_bytes,
            }
            for effect in live.by_dimension
        ],
        "unknown_values": sorted(live.unknown),
        "notes": list(live.notes),
    }


def _peak(peak: ArenaPeak) -> dict[str, Any]:
    return {
        "memory_id": peak.memory_id,
        "arena_bytes": peak.size_bytes,
        "live_bytes": peak.live_bytes,
        "step": peak.step.number,
        **step_json(peak.step),
        "tensors": [tensor_json(tensor) for tensor in peak.tensors],
    }


def _advice(advice: Advice) -> dict[str, Any]:
    return {
        "kind": advice.kind.value,
        "title": advice.title,
        "how": advice.how,
        "basis": advice.basis.value,
        "before_bytes": advice.before_bytes,
        "after_bytes": advice.after_bytes,
        "saved_bytes": advice.saved_bytes,
        "where": list(advice.where),
        "notes": list(advice.notes),
    }
