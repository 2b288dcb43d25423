"""XNNPACK's node types, and which of them a payload's operators become."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum, auto

from onearena.delegates.xnnpack import schema as x
from onearena.delegates.xnnpack.operators import BINARY, UNARY


class Op(Enum):
    """XNNPACK's node types, as far as an ExecuTorch payload has them (`node-type-defs.inc`)."""

    ARGMAX_POOLING = auto()
    AVERAGE_POOLING = auto()
    BATCH_MATRIX_MULTIPLY = auto()
    BINARY = auto()
    CONCATENATE = auto()
    CONVERT_DYNAMIC = auto()
    """To a type that is not element-wise: per-row quantization, or int8 to channel-wise int8."""
    CONVOLUTION = auto()
    COPY = auto()
    DECONVOLUTION = auto()
    DEPTHWISE_CONVOLUTION = auto()
    FULLY_CONNECTED = auto()
    MAX_POOLING = auto()
    MEAN = auto()
    MEAN_SQUARED = auto()
    PAD = auto()
    RESHAPE = auto()
    RESIZE_BILINEAR = auto()
    SLICE = auto()
    SOFTMAX = auto()
    TRANSPOSE = auto()
    UNARY = auto()
    UNKNOWN = auto()


class Function(Enum):
    """What an element-wise node computes, as far as a pass asks."""

    CLAMP = auto()
    SQUARE = auto()
    MULTIPLY = auto()
    MINIMUM = auto()
    MAXIMUM = auto()
    CONVERT = auto()
    TABLE = auto()
    OTHER = auto()


UNARY_FUNCTIONS: Mapping[type, Function] = {
    **dict.fromkeys(UNARY, Function.OTHER),
    x.XNNClamp: Function.CLAMP,
    x.XNNSquare: Function.SQUARE,
    x.XNNConvert: Function.CONVERT,
}
BINARY_FUNCTIONS: Mapping[type, Function] = {
    **dict.fromkeys(BINARY, Function.OTHER),
    x.XNNMultiply: Function.MULTIPLY,
    x.XNNMinimum: Function.MINIMUM,
    x.XNNMaximum: Function.MAXIMUM,
}
OPS: Mapping[type, Op] = {
    x.XNNArgMaxPooling2d: Op.ARGMAX_POOLING,
    x.XNNAvgPooling2d: Op.AVERAGE_POOLING,
    x.XNNBatchMatrixMultiply: Op.BATCH_MATRIX_MULTIPLY,
    x.XNNConcatenate2: Op.CONCATENATE,
    x.XNNConcatenate3: Op.CONCATENATE,
    x.XNNConcatenate4: Op.CONCATENATE,
    x.XNNConcatenate5: Op.CONCATENATE,
    x.XNNConv2d: Op.CONVOLUTION,
    x.XNNConvTranspose2d: Op.DECONVOLUTION,
    x.XNNCopy: Op.COPY,
    x.XNNDepthwiseConv2d: Op.DEPTHWISE_CONVOLUTION,
    x.XNNFullyConnected: Op.FULLY_CONNECTED,
    x.XNNGlobalAvgPooling2d: Op.MEAN,
    x.XNNMaxPooling2d: Op.MAX_POOLING,
    x.XNNSoftmax: Op.SOFTMAX,
    x.XNNStaticConstantPad: Op.PAD,
    x.XNNStaticReshape: Op.RESHAPE,
    x.XNNStaticResizeBilinear2D: Op.RESIZE_BILINEAR,
    x.XNNStaticSlice: Op.SLICE,
    x.XNNStaticTranspose: Op.TRANSPOSE,
    **dict.fromkeys(UNARY_FUNCTIONS, Op.UNARY),
    **dict.fromkeys(BINARY_FUNCTIONS, Op.BINARY),
}
CLAMPED_AFTERWARDS = frozenset(
    {x.XNNAdd, x.XNNSubtract, x.XNNMultiply, x.XNNDiv, x.XNNGlobalAvgPooling2d}
)
"""Operators whose output bounds become a clamp node (`xnn_insert_clamp_node`)."""
MIN_INPUTS: Mapping[Op, int] = dict.fromkeys(
    (
        Op.BATCH_MATRIX_MULTIPLY,
        Op.BINARY,
        Op.CONVOLUTION,
        Op.DECONVOLUTION,
        Op.DEPTHWISE_CONVOLUTION,
        Op.FULLY_CONNECTED,
    ),
    2,
)
"""Operands a node cannot do without, where that is more than one."""
