"""How XNNPACK lays out its workspace: lifetimes, operators in place, packing.

Sources in XNNPACK: `src/memory-planner.c`, and `xnn_plan_memory` and
`optimize_tensor_allocation_for_in_place_operations` in `src/runtime.c`. XNNPACK's own comments
call the packing greedy by size; among the gaps it takes the smallest that fits.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import prod

from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.stock_graph import NONE, StockGraph, StockValue, Storage
from onearena.delegates.xnnpack.stock_ops import Op
from onearena.delegates.xnnpack.workspace_scratch import round_up
from onearena.delegates.xnnpack.workspace_target import Revision, Target

_BITS: Mapping[int, int] = {
    Datatype.FP32: 32,
    Datatype.QINT32: 32,
    Datatype.INT32: 32,
    Datatype.FP16: 16,
    Datatype.BF16: 16,
    Datatype.QCINT4: 4,
    Datatype.QBINT4: 4,
}
"""Bits per element; every other type has 8."""
_IN_PLACE = frozenset({Op.UNARY, Op.BINARY, Op.COPY, Op.SOFTMAX, Op.RESHAPE})
_EXTRA_ROWS = 15
"""Quantization parameters that kernels may read past the last row."""
_TAIL_BYTES = 32
"""Added to every workspace that is not empty, for reads past the end."""


_Range = tuple[int, int]
"""Half-open byte range."""


@dataclass(slots=True)
class Block:
    """Memory needed from node `first` to node `last`, both included."""

    size: int
    first: int
    last: int


def tensor_bytes(value: StockValue) -> int:
    """Size of a value's elements."""
    return (prod(value.dims) * _BITS.get(value.datatype, 8) + 7) // 8


def tensor_blocks(graph: StockGraph, target: Target) -> list[Block]:
    """A block per value of the workspace that has memory of its own, in order of their ids.
    Needs a fresh analysis of the graph."""
    blocks = _lifetimes(graph, target)
    roots: dict[int, int] = {}
    for node in graph.nodes:
        if node is None or node.op not in _IN_PLACE:
            continue
        output = node.outputs[0]
        value = graph.values[output]
        if value.consumers != 1 or output not in blocks:
            continue
        reused = next((v for v in node.inputs if _is_reusable(graph, v, value)), None)
        if reused is not None:
            root = roots[output] = roots.get(reused, reused)
            blocks[root].last = max(blocks[root].last, value.first_consumer)
    return [block for number, block in blocks.items() if number not in roots]


def _lifetimes(graph: StockGraph, target: Target) -> dict[int, Block]:
    blocks = {
        number: Block(_block_bytes(value, target), NONE, NONE)
        for number, value in enumerate(graph.values)
        if value.is_valid and value.storage is Storage.WORKSPACE
    }
    for index, node in enumerate(graph.nodes):
        for number in () if node is None else (*node.inputs, *node.outputs):
            block = blocks.get(number)
            if block is not None:
                block.last = index
                if block.first == NONE:
                    block.first = index
    for block in blocks.values():
        if block.first == NONE:  # a value that no node names counts for the first one
            block.first = block.last = 0
    return blocks


def _block_bytes(value: StockValue, target: Target) -> int:
    """Size with padding; dynamically quantized tensors carry parameters and a sum per row."""
    size = round_up(tensor_bytes(value), target.alignment_bytes)
    if value.datatype == Datatype.QDINT8:
        rows = prod(value.dims[: len(value.dims) - value.row_dims]) + _EXTRA_ROWS
        size += round_up(rows * 8, target.alignment_bytes)
        size += round_up(rows * 4, target.alignment_bytes)
    return size


def _is_reusable(graph: StockGraph, number: int, output: StockValue) -> bool:
    """True when an in-place operator may write its output over value `number`."""
    value = graph.values[number]
    return (
        value.is_valid
        and value.storage is Storage.WORKSPACE
        and value.consumers == 1
        and tensor_bytes(value) == tensor_bytes(output)
    )


def packed_bytes(blocks: Sequence[Block], target: Target) -> int:
    """Size of the arena XNNPACK packs `blocks` into; 0 if there is nothing to pack."""
    steps = 1 + max((block.last for block in blocks), default=0)
    # Blocks that overlap in time with another are those alive at its first node, and those
    # that start at a later one of its nodes.
    alive: list[list[_Range]] = [[] for _ in range(steps)]
    starting: list[list[_Range]] = [[] for _ in range(steps)]
    size = 0
    for block in sorted(blocks, key=lambda block: -block.size):
        if block.size == 0:
            break
        lifetime = slice(block.first, block.last + 1)
        taken = alive[block.first].copy()
        taken.extend(chain.from_iterable(starting[block.first + 1 : block.last + 1]))
        taken.sort()
        start = _offset(taken, block.size, target)
        placed = (start, start + block.size)
        starting[block.first].append(placed)
        for step in alive[lifetime]:
            step.append(placed)
        size = max(size, placed[1])
    return size + _TAIL_BYTES if size else 0


def _offset(taken: Sequence[_Range], size: int, target: Target) -> int:
    """The start of the smallest gap that fits, or the end. Before ExecuTorch 1.5 the gap in
    front of the first block was not looked at."""
    uses_front = target.revision is not Revision.EXECUTORCH_1_4
    end = 0 if uses_front or not taken else taken[0][0]
    best, found = None, 0
    for start, stop in taken:
        gap = start - end
        if gap >= size and (best is None or gap < best):
            best, found = gap, end
        end = max(end, stop)
    return found if best is not None else end
