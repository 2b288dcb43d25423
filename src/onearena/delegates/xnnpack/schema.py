"""The tables of an XNNPACK delegate payload, as dataclasses.

Facts (field order, types, defaults) from `backends/xnnpack/serialization/schema.fbs` and
`runtime_schema.fbs` of ExecuTorch 1.5; a test compares them with the installed files.
Deprecated fields are kept so that a payload that has them is written back with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from onearena.flatbuf.data import Data
from onearena.flatbuf.schema import blob, scalar, scalars, string, table, tables, union

FILE_IDENTIFIERS = (b"XN00", b"XN01")
INVALID_ID = 0xFFFFFFFF
EXTERNAL_INPUT = 1
EXTERNAL_OUTPUT = 2
TRANSPOSE_WEIGHTS_FLAG = 0x1
"""Of matrix products: the right operand is transposed (`XNN_FLAG_TRANSPOSE_WEIGHTS`)."""
SAME_PADDING_FLAG = 0x4
"""Of convolutions and pools: padding as TensorFlow has it (`XNN_FLAG_TENSORFLOW_SAME_PADDING`)."""
MAX_EXTERNALS = 4096
"""The delegate refuses payloads with more external values (XNNCompiler.cpp)."""


class Datatype(IntEnum):
    """XNNPACK element types."""

    INVALID = 0
    FP32 = 1
    FP16 = 2
    QINT8 = 3
    QUINT8 = 4
    QINT32 = 5
    QCINT8 = 6
    QCINT32 = 7
    QCINT4 = 8
    QDINT8 = 9
    QBINT4 = 10
    QPINT8 = 11
    INT32 = 12
    PFP32 = 13
    BF16 = 14


@dataclass(frozen=True, slots=True)
class PerChannelQuant:
    """One scale per channel."""

    scale: tuple[float, ...] | None = scalars("f")
    channel_dim: int = scalar("i")
    scale_buffer_idx: int = scalar("I")
    num_scales: int = scalar("I")


@dataclass(frozen=True, slots=True)
class PerTensorQuant:
    """One scale and zero point."""

    scale: float = scalar("f", 0.0)
    zero_point: int = scalar("i")


@dataclass(frozen=True, slots=True)
class PerTokenDynamicQuant:
    """Scales computed at run time, one per row."""

    num_nonbatch_dims: int = scalar("i")


@dataclass(frozen=True, slots=True)
class PerChannelGroupQuant:
    """One scale per block of a channel."""

    scale: tuple[float, ...] | None = scalars("f")
    channel_dim: int = scalar("i")
    group_size: int = scalar("i")
    scale_bf16: tuple[int, ...] | None = scalars("H")
    scale_buffer_idx: int = scalar("I")
    num_scales: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNTensorValue:
    """A tensor. `external_id` is the position among the call's arguments, or invalid."""

    datatype: int = scalar("h")
    num_dims: int = scalar("I")
    dims: tuple[int, ...] | None = scalars("I")
    constant_buffer_idx: int = scalar("I")
    external_id: int = scalar("I")
    flags: int = scalar("I")
    id_out: int = scalar("I")
    dq_datatype: int = scalar("h")


@dataclass(frozen=True, slots=True)
class XNNQuantizedTensorValue:
    """A tensor with quantization parameters."""

    tensor_value: XNNTensorValue | None = table(XNNTensorValue)
    quant_params: (
        PerChannelQuant | PerTensorQuant | PerTokenDynamicQuant | PerChannelGroupQuant | None
    ) = union(PerChannelQuant, PerTensorQuant, PerTokenDynamicQuant, PerChannelGroupQuant)


@dataclass(frozen=True, slots=True)
class XValue:
    """One value of the graph."""

    xvalue_union: XNNTensorValue | XNNQuantizedTensorValue | None = union(
        XNNTensorValue, XNNQuantizedTensorValue
    )


@dataclass(frozen=True, slots=True)
class Node1x1:
    """One input, one output."""

    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class Node2x1:
    """Two inputs, one output."""

    input1_id: int = scalar("I")
    input2_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class Concatenate:
    """Up to five inputs joined along `axis`; only the first N of a ConcatenateN mean anything."""

    axis: int = scalar("I")
    input1_id: int = scalar("I")
    input2_id: int = scalar("I")
    input3_id: int = scalar("I")
    input4_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")
    input5_id: int = scalar("I")


@dataclass(frozen=True, slots=True)
class Convolution:
    """A convolution of any kind."""

    padding_top: int = scalar("I")
    padding_right: int = scalar("I")
    padding_bottom: int = scalar("I")
    padding_left: int = scalar("I")
    kernel_height: int = scalar("I")
    kernel_width: int = scalar("I")
    subsampling_height: int = scalar("I")
    subsampling_width: int = scalar("I")
    dilation_height: int = scalar("I")
    dilation_width: int = scalar("I")
    group_input_channels: int = scalar("I")
    group_output_channels: int = scalar("I")
    groups: int = scalar("I")
    adjustment_height: int = scalar("I")
    adjustment_width: int = scalar("I")
    input1_id: int = scalar("I")
    filter_id: int = scalar("I")
    bias_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class Pooling:
    """Average or maximum pooling."""

    padding_top: int = scalar("I")
    padding_right: int = scalar("I")
    padding_bottom: int = scalar("I")
    padding_left: int = scalar("I")
    pooling_height: int = scalar("I")
    pooling_width: int = scalar("I")
    stride_height: int = scalar("I")
    stride_width: int = scalar("I")
    dilation_height: int = scalar("I")
    dilation_width: int = scalar("I")
    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


# One class per member of the schema's XNodeUnion; members that share a table share a base.
# fmt: off
@dataclass(frozen=True, slots=True)
class XNNAdd(Node2x1): """Sum."""
@dataclass(frozen=True, slots=True)
class XNNSoftmax(Node1x1): """Softmax over the last dimension."""
@dataclass(frozen=True, slots=True)
class XNNSigmoid(Node1x1): """Sigmoid."""
@dataclass(frozen=True, slots=True)
class XNNClamp(Node1x1): """Clamp to `XNode.output_min_max`."""
@dataclass(frozen=True, slots=True)
class XNNConv2d(Convolution): """2-D convolution."""
@dataclass(frozen=True, slots=True)
class XNNDiv(Node2x1): """Quotient."""
@dataclass(frozen=True, slots=True)
class XNNAvgPooling2d(Pooling): """Average pooling."""
@dataclass(frozen=True, slots=True)
class XNNMinimum(Node2x1): """Minimum."""
@dataclass(frozen=True, slots=True)
class XNNDepthwiseConv2d(Convolution): """Depthwise convolution."""
@dataclass(frozen=True, slots=True)
class XNNMaxPooling2d(Pooling): """Maximum pooling."""
@dataclass(frozen=True, slots=True)
class XNNMultiply(Node2x1): """Product."""
@dataclass(frozen=True, slots=True)
class XNNSubtract(Node2x1): """Difference."""
@dataclass(frozen=True, slots=True)
class XNNFloor(Node1x1): """Floor."""
@dataclass(frozen=True, slots=True)
class XNNConvert(Node1x1): """Change of element type."""
@dataclass(frozen=True, slots=True)
class XNNGlobalAvgPooling2d(Node1x1): """Mean over height and width."""
@dataclass(frozen=True, slots=True)
class XNNSquareRoot(Node1x1): """Square root."""
@dataclass(frozen=True, slots=True)
class XNNCeiling(Node1x1): """Ceiling."""
@dataclass(frozen=True, slots=True)
class XNNHardswish(Node1x1): """Hard swish."""
@dataclass(frozen=True, slots=True)
class XNNMaximum(Node2x1): """Maximum."""
@dataclass(frozen=True, slots=True)
class XNNNegate(Node1x1): """Negation."""
@dataclass(frozen=True, slots=True)
class XNNSquare(Node1x1): """Square."""
@dataclass(frozen=True, slots=True)
class XNNAbs(Node1x1): """Absolute value."""
@dataclass(frozen=True, slots=True)
class XNNPReLU(Node2x1): """Parametric ReLU."""
@dataclass(frozen=True, slots=True)
class XNNConcatenate2(Concatenate): """Concatenation of two."""
@dataclass(frozen=True, slots=True)
class XNNConcatenate3(Concatenate): """Concatenation of three."""
@dataclass(frozen=True, slots=True)
class XNNConcatenate4(Concatenate): """Concatenation of four."""
@dataclass(frozen=True, slots=True)
class XNNConcatenate5(Concatenate): """Concatenation of five."""
@dataclass(frozen=True, slots=True)
class XNNBatchMatrixMultiply(Node2x1): """Batch matrix product."""
@dataclass(frozen=True, slots=True)
class XNNConvTranspose2d(Convolution): """Transposed convolution."""
@dataclass(frozen=True, slots=True)
class XNNReciprocalSquareRoot(Node1x1): """1 / square root."""
@dataclass(frozen=True, slots=True)
class XNNLog(Node1x1): """Natural logarithm."""
@dataclass(frozen=True, slots=True)
class XNNGelu(Node1x1): """GELU."""
@dataclass(frozen=True, slots=True)
class XNNTanh(Node1x1): """Hyperbolic tangent."""
@dataclass(frozen=True, slots=True)
class XNNExp(Node1x1): """Exponential."""
@dataclass(frozen=True, slots=True)
class XNNSin(Node1x1): """Sine."""
@dataclass(frozen=True, slots=True)
class XNNCopy(Node1x1): """Copy."""
@dataclass(frozen=True, slots=True)
class XNNCos(Node1x1): """Cosine."""
# fmt: on


@dataclass(frozen=True, slots=True)
class XNNStaticTranspose:
    """Permutation of dimensions."""

    num_dims: int = scalar("I")
    perm: tuple[int, ...] | None = scalars("I")
    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNStaticResizeBilinear2D:
    """Bilinear resize."""

    new_height: int = scalar("I")
    new_width: int = scalar("I")
    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNStaticConstantPad:
    """Padding with a constant."""

    pre_paddings: tuple[int, ...] | None = scalars("I")
    post_paddings: tuple[int, ...] | None = scalars("I")
    padding_value: float = scalar("f", 0.0)
    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNELU:
    """ELU."""

    alpha: float = scalar("f", 0.0)
    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNFullyConnected:
    """Linear layer."""

    input1_id: int = scalar("I")
    filter_id: int = scalar("I")
    bias_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNStaticReshape:
    """Reshape; a dimension of 0 is taken from the input at run time."""

    num_dims: int = scalar("I")
    new_shape: tuple[int, ...] | None = scalars("I")
    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNStaticSlice:
    """Slice with static offsets and sizes."""

    num_dims: int = scalar("I")
    offsets: tuple[int, ...] | None = scalars("I")
    sizes: tuple[int, ...] | None = scalars("I")
    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNScaledDotProductAttention:
    """Attention."""

    query_id: int = scalar("I")
    key_id: int = scalar("I")
    value_id: int = scalar("I")
    scale_id: int = scalar("I")
    mask_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNArgMaxPooling2d:
    """Maximum pooling with the index of the maximum."""

    padding_top: int = scalar("I")
    padding_right: int = scalar("I")
    padding_bottom: int = scalar("I")
    padding_left: int = scalar("I")
    pooling_height: int = scalar("I")
    pooling_width: int = scalar("I")
    input_id: int = scalar("I")
    output_value_id: int = scalar("I")
    output_index_id: int = scalar("I")
    flags: int = scalar("I")


@dataclass(frozen=True, slots=True)
class XNNLeakyReLU:
    """Leaky ReLU."""

    negative_slope: float = scalar("f", 0.0)
    input_id: int = scalar("I")
    output_id: int = scalar("I")
    flags: int = scalar("I")


NODE_TYPES = (
    XNNAdd,
    XNNFullyConnected,
    XNNSoftmax,
    XNNSigmoid,
    XNNStaticTranspose,
    XNNClamp,
    XNNConv2d,
    XNNDiv,
    XNNStaticResizeBilinear2D,
    XNNStaticConstantPad,
    XNNAvgPooling2d,
    XNNMinimum,
    XNNDepthwiseConv2d,
    XNNMaxPooling2d,
    XNNMultiply,
    XNNSubtract,
    XNNFloor,
    XNNConvert,
    XNNGlobalAvgPooling2d,
    XNNStaticReshape,
    XNNArgMaxPooling2d,
    XNNSquareRoot,
    XNNCeiling,
    XNNHardswish,
    XNNLeakyReLU,
    XNNMaximum,
    XNNNegate,
    XNNSquare,
    XNNELU,
    XNNAbs,
    XNNPReLU,
    XNNConcatenate2,
    XNNConcatenate3,
    XNNConcatenate4,
    XNNStaticSlice,
    XNNScaledDotProductAttention,
    XNNBatchMatrixMultiply,
    XNNConcatenate5,
    XNNConvTranspose2d,
    XNNReciprocalSquareRoot,
    XNNLog,
    XNNGelu,
    XNNTanh,
    XNNExp,
    XNNSin,
    XNNCopy,
    XNNCos,
)
"""In tag order: the tag of NODE_TYPES[k] is k + 1."""

NodeUnion = (
    Node1x1
    | Node2x1
    | Concatenate
    | Convolution
    | Pooling
    | XNNFullyConnected
    | XNNStaticTranspose
    | XNNStaticResizeBilinear2D
    | XNNStaticConstantPad
    | XNNStaticReshape
    | XNNArgMaxPooling2d
    | XNNLeakyReLU
    | XNNELU
    | XNNStaticSlice
    | XNNScaledDotProductAttention
)


@dataclass(frozen=True, slots=True)
class OutputMinMax:
    """Bounds applied to a node's output."""

    output_min: float = scalar("f", 0.0)
    output_max: float = scalar("f", 0.0)


@dataclass(frozen=True, slots=True)
class XNode:
    """One node; its class is the operator."""

    xnode_union: NodeUnion | None = union(*NODE_TYPES)
    debug_handle: int = scalar("I")
    output_min_max: OutputMinMax | None = table(OutputMinMax)


@dataclass(frozen=True, slots=True)
class Buffer:
    """Inline constant (deprecated)."""

    storage: Data | None = blob(alignment=16)


@dataclass(frozen=True, slots=True)
class ConstantDataOffset:
    """Where a constant is: at `offset` of the constant region, or under a named-data key."""

    offset: int = scalar("Q")
    size: int = scalar("Q")
    named_key: str | None = string()


@dataclass(frozen=True, slots=True)
class XNNGraph:
    """The root table of a payload."""

    version: str | None = string()
    xnodes: tuple[XNode, ...] | None = tables(XNode)
    xvalues: tuple[XValue, ...] | None = tables(XValue)
    num_externs: int = scalar("I")
    input_ids: tuple[int, ...] | None = scalars("I")
    output_ids: tuple[int, ...] | None = scalars("I")
    constant_buffer: tuple[Buffer, ...] | None = tables(Buffer)
    mem_buffer_sizes: tuple[int, ...] | None = scalars("I")
    constant_data: tuple[ConstantDataOffset, ...] | None = tables(ConstantDataOffset)
