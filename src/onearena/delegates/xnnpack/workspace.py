"""Predicts the workspace that the stock XNNPACK delegate allocates for a payload.

The prediction runs XNNPACK's own passes on a copy of the graph and packs what is left as
XNNPACK does. It is right for any payload, also for one whose activations are arguments: those
take no workspace, and only what stayed internal counts, together with the scratch of operators.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.schema import Datatype, XNNGraph
from onearena.delegates.xnnpack.stock_graph import StockGraph, Storage, define
from onearena.delegates.xnnpack.stock_ops import Op
from onearena.delegates.xnnpack.stock_passes import analyze, clean_up, fuse
from onearena.delegates.xnnpack.stock_plan import Block, packed_bytes, tensor_blocks
from onearena.delegates.xnnpack.stock_rewrites import (
    inline_quantization,
    rewrite_common,
    rewrite_dequantized_operands,
)
from onearena.delegates.xnnpack.stock_tables import fuse_tables
from onearena.delegates.xnnpack.workspace_scratch import (
    TRANSIENT_OPERATORS,
    indirection_heap_bytes,
    round_up,
    scratch_bytes,
)
from onearena.delegates.xnnpack.workspace_target import X86_64_AVX512, Revision, Target


class SharingMode(IntEnum):
    """How delegates share workspaces (`workspace_sharing_mode` in `XNNPACKBackend.h`)."""

    DISABLED = 0
    PER_MODEL = 1
    GLOBAL = 2


@dataclass(frozen=True)
class WorkspacePrediction:
    """What one delegate needs, in bytes.

    Attributes:
        tensors_bytes: workspace if operators needed no scratch.
        operator_scratch_bytes: scratch of the operator that needs most.
        total_bytes: the workspace: both, packed together. 0 if nothing is needed.
        notes: what the numbers rest on, where that is not certain.
    """

    tensors_bytes: int
    operator_scratch_bytes: int
    total_bytes: int
    notes: tuple[str, ...] = ()


def predict_workspace(
    graph: XNNGraph | Graph, target: Target = X86_64_AVX512
) -> WorkspacePrediction:
    """Predicts the workspace of a delegate that runs `graph`.

    Sizes of a dynamic payload are those at the shapes the payload declares, its upper bounds.

    Raises:
        FormatError: the graph is malformed.
    """
    stock = stock_graph(graph, target)
    tensors = tensor_blocks(stock, target)
    scratch = _scratch_blocks(stock, target)
    tensors_bytes = packed_bytes(tensors, target)
    return WorkspacePrediction(
        tensors_bytes,
        max((block.size for block in scratch), default=0),
        packed_workspace(stock, target) if scratch else tensors_bytes,
        _notes(stock, scratch, target),
    )


def indirection_bytes(graph: XNNGraph, target: Target = X86_64_AVX512) -> int:
    """Estimates the pointers that a delegate's operators keep on the heap after the first run.

    They are allocated beside the workspace, and are not part of it.

    Raises:
        FormatError: the graph is malformed.
    """
    stock = stock_graph(graph, target)
    nodes = (node for node in stock.nodes if node is not None)
    return sum(indirection_heap_bytes(stock, node, target) for node in nodes)


def pointer_tables(graph: XNNGraph, target: Target = X86_64_AVX512) -> dict[int, int]:
    """By node, the bytes of pointers that a flag could move from the heap into scratch.

    Raises:
        FormatError: the graph is malformed.
    """
    stock = stock_graph(graph, target)
    found: dict[int, int] = {}
    for node in stock.nodes:
        if node is not None and node.op in TRANSIENT_OPERATORS:
            size_bytes = indirection_heap_bytes(stock, node, target)
            if size_bytes:
                found[node.source.index] = size_bytes
    return found


def _scratch_blocks(stock: StockGraph, target: Target) -> list[Block]:
    """A block per node that needs scratch, alive at that node."""
    sizes = [0 if node is None else scratch_bytes(stock, node, target) for node in stock.nodes]
    return [
        Block(round_up(size, target.alignment_bytes), index, index)
        for index, size in enumerate(sizes)
        if size
    ]


def stock_graph(graph: XNNGraph | Graph, target: Target = X86_64_AVX512) -> StockGraph:
    """The graph that XNNPACK runs, after all of its passes (`xnn_subgraph_optimize`)."""
    stock = define(graph)
    run_passes(stock, target)
    return stock


def run_passes(stock: StockGraph, target: Target = X86_64_AVX512) -> None:
    """Edits a graph as XNNPACK's passes do, in their order."""
    clean_up(stock)
    fuse(stock)
    fuse_tables(stock)
    rewrite_common(stock)
    analyze(stock)
    if target.revision is not Revision.EXECUTORCH_1_4:
        rewrite_dequantized_operands(stock)
    inline_quantization(stock)
    analyze(stock)


def packed_workspace(stock: StockGraph, target: Target = X86_64_AVX512) -> int:
    """Bytes that tensors and scratch of an analysed graph take, packed together."""
    return packed_bytes(tensor_blocks(stock, target) + _scratch_blocks(stock, target), target)


def _notes(stock: StockGraph, scratch: Sequence[Block], target: Target) -> tuple[str, ...]:
    notes: list[str] = []
    if scratch:
        notes.append(f"operator scratch as on {target.name} with {target.threads} threads")
    activations = [v for v in stock.values if v.is_valid and v.storage is not Storage.CONSTANT]
    if any(value.datatype in (Datatype.FP16, Datatype.BF16) for value in activations):
        notes.append("half-precision values count as such; some CPUs convert them to fp32")
    if any(node is not None and node.op is Op.UNKNOWN for node in stock.nodes):
        notes.append("holds a node that XNNPACK's delegate does not run")
    return tuple(notes)


def program_workspace(
    predictions: Iterable[WorkspacePrediction], sharing: SharingMode = SharingMode.GLOBAL
) -> int:
    """Workspace of one program in bytes, from the predictions for each of its delegates.

    Without sharing every delegate has its own; in the two shared modes delegates that never
    run at the same time use one, which grows to the largest. `GLOBAL`, the default of the
    wheels, shares it with other programs too, which is not counted here.
    """
    sizes = [prediction.total_bytes for prediction in predictions]
    return sum(sizes) if sharing is SharingMode.DISABLED else max(sizes, default=0)
