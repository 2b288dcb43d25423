"""Scratch that an operator of XNNPACK asks for while it runs, in bytes.

Sources, per function: the `reshape_*` functions of XNNPACK's `src/operators/*.c`, which report
`workspace_size`. Operators that are not named here ask for nothing, on x86 at least.
"""

from __future__ import annotations

from math import prod

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.schema import Datatype
from onearena.delegates.xnnpack.stock_graph import (
    TRANSIENT_INDIRECTION,
    TRANSPOSE_WEIGHTS,
    StockGraph,
    StockNode,
    StockValue,
    Storage,
)
from onearena.delegates.xnnpack.stock_ops import Op
from onearena.delegates.xnnpack.workspace_target import Gemm, Target

_FLOAT_BYTES = 4
_EXTRA_BYTES = 16
_ROW_PARAMETER_BYTES = 8
"""Scale and zero point of a dynamically quantized row."""
_DEPTHWISE_TILES = (3, 4, 9, 25)
_INT8_DEPTHWISE_TILES = (3, 9, 25)


TRANSIENT_OPERATORS = frozenset({Op.CONVOLUTION, Op.DEPTHWISE_CONVOLUTION, Op.RESIZE_BILINEAR})
"""Operators that take `TRANSIENT_INDIRECTION`."""


def scratch_bytes(graph: StockGraph, node: StockNode, target: Target) -> int:
    """Scratch of one node, not rounded up."""
    match node.op:
        case Op.FULLY_CONNECTED:
            return _fully_connected(graph, node, target)
        case Op.BATCH_MATRIX_MULTIPLY:
            return _batch_matrix_multiply(graph, node, target)
        case Op.MEAN | Op.MEAN_SQUARED:
            return _mean(graph, node)
        case op if op in TRANSIENT_OPERATORS:
            is_transient = bool(node.flags & TRANSIENT_INDIRECTION)
            return _indirection(graph, node, target) if is_transient else 0
        case _:
            return 0


def indirection_heap_bytes(graph: StockGraph, node: StockNode, target: Target) -> int:
    """Pointers to input pixels that one operator keeps on the heap for as long as it lives."""
    if node.flags & TRANSIENT_INDIRECTION:
        return 0
    match node.op:
        case op if op in TRANSIENT_OPERATORS:
            return _indirection(graph, node, target)
        case Op.MAX_POOLING:
            return _pooling_indirection(graph, node, target)
        case Op.DECONVOLUTION:
            return _deconvolution_indirection(graph, node, target)
        case _:
            return 0


def round_up(size: int, multiple: int) -> int:
    """The next multiple."""
    return -(-size // multiple) * multiple


def _fully_connected(graph: StockGraph, node: StockNode, target: Target) -> int:
    source, weights = graph.values[node.inputs[0]], graph.values[node.inputs[1]]
    if len(weights.dims) < 2 or 0 in weights.dims:
        return 0
    is_transposed = bool(node.flags & TRANSPOSE_WEIGHTS)
    depth = weights.dims[0] if is_transposed else weights.dims[-1]
    columns = weights.dims[1] if is_transposed else weights.dims[0]
    if weights.storage is not Storage.CONSTANT:
        return _packed_operand(
            _dynamic_weights_gemm(source, columns, target), source, depth, columns
        )
    if not node.packs_input:
        return 0
    gemm = target.dynamic_gemm.get(weights.datatype)
    if gemm is None:
        return 0
    rows = prod(source.dims) // depth
    return _packed_rows(gemm, rows, depth, columns, _weight_stride(gemm, weights, depth), target)


def _dynamic_weights_gemm(source: StockValue, columns: int, target: Target) -> Gemm:
    """The narrow kernel if it wastes fewer columns (`xnn_use_nr2` in `microkernel-utils.c`)."""
    if source.datatype == Datatype.FP16:
        return target.half_gemm
    wide, narrow = target.float_gemm, target.float_gemm_narrow
    waste = -columns % wide.columns
    narrow_wins = -columns % narrow.columns < waste and waste * 100 > columns
    return narrow if wide.columns > columns or narrow_wins else wide


def _packed_operand(gemm: Gemm, source: StockValue, depth: int, columns: int) -> int:
    """A right operand packed for a float kernel, with room for a bias per column."""
    element = 2 if source.datatype == Datatype.FP16 else _FLOAT_BYTES
    return round_up(columns, gemm.columns) * (round_up(depth, gemm.depth) + 1) * element


def _weight_stride(gemm: Gemm, weights: StockValue, depth: int) -> int:
    """Bytes of one packed column of constant weights, with its bias and scales."""
    packed = round_up(depth, gemm.depth * gemm.planes)
    if weights.datatype in (Datatype.QCINT4, Datatype.QBINT4):
        packed = round_up(packed, 2) // 2
    return packed + 3 * _FLOAT_BYTES


def _packed_rows(
    gemm: Gemm, rows: int, depth: int, columns: int, stride: int, target: Target
) -> int:
    """A left operand, quantized row by row (`fully-connected-nc.c`, `pack-lh.cc`).

    Every thread packs one tile of rows at a time if a row of tiles stays in the second level
    cache and there are tiles for all threads; else all rows are packed before the product.
    """
    tile = gemm.rows if rows > 1 else 1
    row_bytes = _ROW_PARAMETER_BYTES + round_up(round_up(depth, gemm.planes), gemm.depth)
    row_bytes = round_up(row_bytes, 4)
    fits = _fits_in_cache(min(gemm.rows, rows), row_bytes, columns, stride, target)
    if not fits or target.threads * tile > round_up(rows, tile):
        return round_up(rows, tile) * row_bytes
    return target.threads * tile * row_bytes


def _fits_in_cache(rows: int, row_bytes: int, columns: int, stride: int, target: Target) -> bool:
    """`xnn_should_inline_lhs_packing` in `src/microkernel-utils.c`; in whole cache lines."""
    line = target.cache_line_bytes
    lines = (
        round_up(rows * row_bytes, line)
        + round_up(columns * stride, line)
        + rows * round_up(columns * _FLOAT_BYTES, line)
    )
    return lines <= target.l2_bytes


def _batch_matrix_multiply(graph: StockGraph, node: StockNode, target: Target) -> int:
    """Every matrix of the right operand, packed (`batch-matrix-multiply-nc.c`)."""
    left, right = graph.values[node.inputs[0]], graph.values[node.inputs[1]]
    if right.storage is Storage.CONSTANT or len(right.dims) < 2:
        return 0
    depth, columns = right.dims[-2:]
    if node.flags & TRANSPOSE_WEIGHTS:
        depth, columns = columns, depth
    batch = prod(right.dims[:-2])
    if left.datatype in (Datatype.FP32, Datatype.FP16) and right.datatype == left.datatype:
        gemm = target.float_gemm if left.datatype == Datatype.FP32 else target.half_gemm
        return batch * _packed_operand(gemm, left, depth, columns)
    gemm = target.float_int8_gemm if left.datatype == Datatype.FP32 else target.int8_gemm
    # int8 columns carry a bias and a scale.
    stride = round_up(depth, gemm.depth) + 2 * _FLOAT_BYTES
    return batch * round_up(columns, gemm.columns) * stride


def _mean(graph: StockGraph, node: StockNode) -> int:
    """Accumulators, unless the output is wide enough itself (`reduce-nd.c`)."""
    source = graph.values[node.inputs[0]]
    if source.datatype == Datatype.FP32 or len(source.dims) < 3:
        return 0
    kept = prod(source.dims[:-3]) * source.dims[-1]
    return kept * _FLOAT_BYTES + _EXTRA_BYTES


def _indirection(graph: StockGraph, node: StockNode, target: Target) -> int:
    """Pointers to input pixels, if a flag moves them from the heap into scratch."""
    output = graph.values[node.outputs[0]].dims
    if len(output) != 4:
        return 0
    height, width = output[1:3]
    union = node.source.xnode.xnode_union
    if isinstance(union, x.XNNStaticResizeBilinear2D):
        return _resize_indirection(graph, node, height * width, target)
    assert isinstance(union, x.Convolution)
    datatype = graph.values[node.inputs[0]].datatype
    kernel = union.kernel_height * union.kernel_width
    if union.group_input_channels == union.group_output_channels == 1:
        tile = next((size for size in _tiles(datatype) if size >= kernel), None)
        if tile is not None:
            return _depthwise_indirection(union, height, width, tile, target)
    rows = _convolution_rows(union, datatype, height * width, target)
    return kernel * round_up(height * width, rows) * target.pointer_bytes


def _tiles(datatype: int) -> tuple[int, ...]:
    """Kernel sizes that depthwise micro-kernels are made for (`dwconv-config.c`)."""
    if datatype == Datatype.QDINT8:
        return ()
    return _INT8_DEPTHWISE_TILES if _is_eight_bit(datatype) else _DEPTHWISE_TILES


def _is_eight_bit(datatype: int) -> bool:
    return datatype in (Datatype.QINT8, Datatype.QUINT8)


def _depthwise_indirection(
    conv: x.Convolution, height: int, width: int, tile: int, target: Target
) -> int:
    """Columns that neighbouring outputs share are listed once (`convolution-nhwc.c`)."""
    kernel = conv.kernel_height * conv.kernel_width
    is_dense = conv.dilation_width == 1
    step = min(conv.subsampling_width, conv.kernel_width) if is_dense else conv.kernel_width
    row = kernel + (width - 1) * step * conv.kernel_height
    pointers = tile - kernel + height * row
    return round_up(pointers * target.pointer_bytes, target.alignment_bytes)


def _convolution_rows(conv: x.Convolution, datatype: int, pixels: int, target: Target) -> int:
    """Rows of the kernel, or one row if so few pixels make that cheaper (`operator-utils.c`)."""
    gemm = target.convolution
    if _is_eight_bit(datatype):
        gemm = target.int8_gemm
    elif datatype == Datatype.QDINT8:
        gemm = target.dynamic_convolution
    elif gemm.columns > conv.group_output_channels:
        gemm = target.float_gemm_narrow
    rows, columns = gemm.rows, gemm.columns
    tiled = -(-pixels // rows) * (3 * (rows + columns) + rows * columns)
    single = pixels * (3 * (1 + columns) + columns)
    return rows if tiled <= single else 1


def _resize_indirection(graph: StockGraph, node: StockNode, pixels: int, target: Target) -> int:
    """Four pointers and two weights per output pixel (`resize-bilinear-nhwc.c`)."""
    is_float = graph.values[node.inputs[0]].datatype == Datatype.FP32
    weights = pixels * 2 * (_FLOAT_BYTES if is_float else 2)
    return round_up(weights, target.pointer_bytes) + pixels * 4 * target.pointer_bytes


def _pooling_indirection(graph: StockGraph, node: StockNode, target: Target) -> int:
    """As for depthwise convolutions: neighbouring windows share columns (`max-pooling-nhwc.c`)."""
    union = node.source.xnode.xnode_union
    output = graph.values[node.outputs[0]].dims
    if len(output) != 4 or not isinstance(union, x.Pooling):
        return 0
    height, width = output[1:3]
    step = min(union.stride_width, union.pooling_width)
    if union.dilation_width > 1:
        step = union.pooling_width
    row = union.pooling_height * (union.pooling_width + (width - 1) * step)
    return height * row * target.pointer_bytes


def _deconvolution_indirection(graph: StockGraph, node: StockNode, target: Target) -> int:
    """The kernel's points for every output pixel, with any stride (`deconvolution-nhwc.c`)."""
    union = node.source.xnode.xnode_union
    output = graph.values[node.outputs[0]].dims
    if len(output) != 4 or not isinstance(union, x.Convolution):
        return 0
    pixels = output[1] * output[2]
    return pixels * union.kernel_height * union.kernel_width * target.pointer_bytes
