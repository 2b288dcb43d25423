"""A summary as JSON. Keys stay from version to version; new ones may come."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from onearena.report.totals import TotalRow, method_rows, program_rows
from onearena.sizes.results import ProgramPools
from onearena.summary.model import (
    ArenaSummary,
    Block,
    DelegateSummary,
    MethodSummary,
    ProgramSummary,
    StepSummary,
    TensorSummary,
    Unplanned,
    Workspace,
)

FORMAT = "onearena.summary"
VERSION = 1
"""Grows when a key changes its meaning or goes away."""


def summary_json(
    summary: ProgramSummary,
    other: ProgramSummary | None = None,
    *,
    pools: Sequence[ProgramPools] = (),
    other_pools: Sequence[ProgramPools] = (),
) -> dict[str, Any]:
    """A summary as JSON's types. All sizes are bytes; null is what the file cannot tell.

    Args:
        other: a program to compare with, added as `compared_with`.
        pools, other_pools: the pools of each program, one per target.
    """
    result: dict[str, Any] = {
        "format": FORMAT,
        "version": VERSION,
        "path": summary.path,
        "file_bytes": summary.file_bytes,
        "description_bytes": summary.description_bytes,
        "constants_bytes": summary.constants_bytes,
        "totals": [_total(row) for row in program_rows(summary, pools)],
        "methods": [_method(method, pools) for method in summary.methods],
    }
    if other is not None:
        result["compared_with"] = summary_json(other, pools=other_pools)
    return result


def _total(row: TotalRow) -> dict[str, Any]:
    return {"label": row.label, "size_bytes": row.size_bytes, "note": row.note}


def _method(method: MethodSummary, pools: Sequence[ProgramPools]) -> dict[str, Any]:
    return {
        "name": method.name,
        "arena_bytes": method.arena_bytes,
        "total_bytes": method.total_bytes,
        "lower_bound_bytes": method.bound_bytes,
        "state_bytes": method.state_bytes,
        "optimized_by": method.optimized_by,
        "notes": list(method.notes),
        "totals": [_total(row) for row in method_rows(method, pools)],
        "workspace": _workspace(method.workspace),
        "workspace_by_step": list(method.workspace_by_step),
        "arenas": [_arena(arena) for arena in method.arenas],
        "delegates": [_delegate(delegate) for delegate in method.delegates],
        "unplanned": [_unplanned(value) for value in method.unplanned],
        "steps": [step_json(step) for step in method.steps],
        "tensors": [tensor_json(tensor) for tensor in method.tensors],
        "blocks": [_block(block) for block in method.blocks],
    }


def _workspace(workspace: Workspace) -> dict[str, Any]:
    return {
        "separate_bytes": workspace.separate_bytes,
        "per_model_bytes": workspace.per_model_bytes,
        "global_bytes": workspace.global_bytes,
        "unknown": list(workspace.unknown),
    }


def _arena(arena: ArenaSummary) -> dict[str, Any]:
    return {
        "memory_id": arena.memory_id,
        "size_bytes": arena.size_bytes,
        "lower_bound_bytes": arena.bound_bytes,
        "peak_bytes": arena.peak_bytes,
        "peak_step": arena.peak_step,
        "live_bytes": list(arena.live_bytes),
    }


def _delegate(delegate: DelegateSummary) -> dict[str, Any]:
    return {
        "number": delegate.number,
        "backend": delegate.backend,
        "calls": list(delegate.calls),
        "opened": delegate.is_opened,
        "closed": delegate.closed,
        "payload_bytes": delegate.payload_bytes,
        "nodes": delegate.nodes,
        "workspace_bytes": delegate.workspace_bytes,
        "indirection_bytes": delegate.indirection_bytes,
        "weights_bytes": delegate.weights_bytes,
        "notes": list(delegate.notes),
    }


def _unplanned(value: Unplanned) -> dict[str, Any]:
    return {
        "value": value.value,
        "name": value.name,
        "kind": value.kind.value,
        "description": value.description,
        "size_bytes": value.size_bytes,
    }


def step_json(step: StepSummary) -> dict[str, Any]:
    """A step; `source` is null where the file does not name it."""
    source = step.source
    return {
        "instruction": step.instruction,
        "node": step.node,
        "label": step.label,
        "kind": step.kind.value,
        "delegate": step.delegate,
        "source": None
        if source is None
        else {
            "file": source.file,
            "line": source.line,
            "function": source.function,
            "text": source.text,
        },
    }


def tensor_json(tensor: TensorSummary) -> dict[str, Any]:
    """A tensor; its lifetime as pairs of steps, half-open."""
    return {
        "value": tensor.value,
        "name": tensor.name,
        "kind": tensor.kind.value,
        "dtype": tensor.dtype,
        "shape": list(tensor.shape),
        "dynamic": tensor.is_dynamic,
        "size_bytes": tensor.size_bytes,
        "memory_id": tensor.arena,
        "offset": tensor.offset,
        "lifetime": [[life.start, life.end] for life in tensor.lifetime],
        "producers": list(tensor.producers),
        "consumers": list(tensor.consumers),
        "block": tensor.block,
        "pinned": tensor.pinned,
    }


def _block(block: Block) -> dict[str, Any]:
    return {
        "memory_id": block.arena,
        "kind": block.kind.value,
        "tensors": list(block.tensors),
        "rectangles": [[r.start, r.end, r.low, r.high] for r in block.rectangles],
    }
