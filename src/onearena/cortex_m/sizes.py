"""How much scratch the int8 kernels of CMSIS-NN take, from the properties of an operator.

The facts are those of `arm_*_s8_get_buffer_size` (CMSIS-NN 7.0 and the commits that ExecuTorch 1.3
to 1.5 build, `Source/*/*_get_buffer_sizes_s8.c`), for compilers other than Arm Compiler 6: with
that one, pointwise convolutions on DSP cores may use 4 bytes for each input channel more, and a
depthwise convolution of one input channel is turned into an ordinary one at more than 8 outputs.
The test of this module compares every function with CMSIS-NN's Python binding.
"""

from __future__ import annotations

from dataclasses import dataclass

from onearena.cortex_m.cores import Isa

_INT16 = 2
_INT32 = 4
_MVE_CHANNEL_BLOCK = 124
"""Channels that a depthwise kernel works on at once (`CH_IN_BLOCK_MVE`)."""
_REVERSE_CHANNELS = 16
"""With more input channels a transposed convolution runs as an ordinary one on a wider image
(`REVERSE_TCOL_EFFICIENT_THRESHOLD`)."""
_REVERSE_STRIDE = 2

HeightWidth = tuple[int, int]


@dataclass(frozen=True)
class Image:
    """A 4-dimensional shape, in elements."""

    batch: int
    height: int
    width: int
    channels: int


@dataclass(frozen=True)
class Convolution:
    """The properties of a convolution that matter here.

    Attributes:
        input, output: their shapes.
        kernel: height and width of the filter.
        filter_channels: input channels of one filter; fewer than the input's with groups.
        stride, padding, dilation: (height, width); the padding is that of the top and left.
    """

    input: Image
    output: Image
    kernel: HeightWidth
    filter_channels: int
    stride: HeightWidth = (1, 1)
    padding: HeightWidth = (0, 0)
    dilation: HeightWidth = (1, 1)

    @property
    def is_pointwise(self) -> bool:
        """Needs no copy of the input: a 1x1 filter over all channels, and nothing around."""
        return (
            self.kernel == (1, 1)
            and self.padding == (0, 0)
            and self.dilation == (1, 1)
            and self.filter_channels == self.input.channels
        )

    @property
    def is_row(self) -> bool:
        """One row, in steps of whole words."""
        return (
            self.input.height == 1
            and self.kernel[0] == 1
            and self.dilation[1] == 1
            and self.stride[1] * self.input.channels % 4 == 0
            and self.filter_channels == self.input.channels
        )


def _round_up(count: int, multiple: int) -> int:
    return count + -count % multiple


def general_convolution_bytes(convolution: Convolution, isa: Isa) -> int:
    """What `arm_convolve_s8` takes: columns of the input under the filter, several at a time."""
    height, width = convolution.kernel
    column = height * width * convolution.input.channels
    if isa is Isa.MVE:
        return 4 * _round_up(column, 16)
    return 2 * _round_up(column, 4) * _INT16


def convolution_bytes(convolution: Convolution, isa: Isa) -> int:
    """What `arm_convolve_wrapper_s8` takes."""
    if convolution.is_pointwise:
        return 0
    if convolution.is_row and isa is Isa.MVE:
        return _mve_row_bytes(convolution)
    return general_convolution_bytes(convolution, isa)


def _mve_row_bytes(convolution: Convolution) -> int:
    """Only the padded ends of a row are copied, when there is an output that needs none."""
    channels, pad = convolution.input.channels, convolution.padding[1]
    stride, kernel, count = convolution.stride[1], convolution.kernel[1], convolution.output.width
    total_pad = (count - 1) * stride + kernel - convolution.input.width
    odd = total_pad % 2 if total_pad > 0 else -(-total_pad % 2)  # the remainder has C's sign
    right = max(1, _divide(pad + odd + stride - 1, stride)) if pad + odd else 0
    left = max(1, _divide(pad + stride - 1, stride)) if pad else 0
    if left + right > count:
        return general_convolution_bytes(convolution, Isa.MVE)
    left_bytes = (kernel + pad) * channels
    right_bytes = (kernel - 1 + (right if odd else pad)) * channels
    return max(left_bytes, right_bytes)


def _divide(dividend: int, divisor: int) -> int:
    """As C does, towards 0."""
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


def depthwise_bytes(convolution: Convolution, isa: Isa) -> int:
    """What `arm_depthwise_conv_wrapper_s8` takes. `filter_channels` is not looked at."""
    image, outputs = convolution.input, convolution.output.channels
    height, width = convolution.kernel
    if isa is Isa.MVE and image.channels == 1 and outputs > 1:
        return _as_convolution_bytes(convolution)
    is_fast = image.channels == outputs and image.batch == 1 and convolution.dilation == (1, 1)
    if not is_fast or isa is Isa.SCALAR:
        return 0
    if isa is Isa.MVE:
        return 4 * _MVE_CHANNEL_BLOCK * height * width
    if convolution.kernel == (3, 3) and max(convolution.padding) <= 1:
        return 0
    return image.channels * height * width * _INT16


def _as_convolution_bytes(depthwise: Convolution) -> int:
    """A depthwise convolution of one input channel runs as an ordinary one: its weights are
    copied into another order."""
    height, width = depthwise.kernel
    ordinary = Convolution(
        depthwise.input,
        depthwise.output,
        depthwise.kernel,
        1,
        depthwise.stride,
        depthwise.padding,
        depthwise.dilation,
    )
    weights = height * width * depthwise.output.channels
    return convolution_bytes(ordinary, Isa.MVE) + weights


def _runs_reversed(convolution: Convolution) -> bool:
    return (
        max(convolution.stride) <= _REVERSE_STRIDE
        and convolution.input.channels > _REVERSE_CHANNELS
    )


def transpose_convolution_bytes(convolution: Convolution, isa: Isa) -> int:
    """What `arm_transpose_conv_wrapper_s8` takes as its first buffer."""
    if _runs_reversed(convolution):
        return general_convolution_bytes(convolution, isa)
    height, width = convolution.kernel
    # CMSIS-NN takes the larger of the filter's width and the stride's *height*
    row = (convolution.input.width - 1) * convolution.stride[1] + max(width, convolution.stride[0])
    rows = max(height, convolution.stride[0])
    return row * convolution.output.channels * rows * _INT32


def reversed_weights_bytes(convolution: Convolution) -> int:
    """What `arm_transpose_conv_wrapper_s8` takes as its second buffer, on any core."""
    if not _runs_reversed(convolution):
        return 0
    height, width = convolution.kernel
    return convolution.input.channels * height * width * convolution.output.channels


def average_pool_bytes(channels: int, isa: Isa) -> int:
    """What `arm_avgpool_s8` takes."""
    return channels * _INT32 if isa is Isa.DSP else 0


def column_sum_bytes(outputs: int, isa: Isa) -> int:
    """What `arm_fully_connected_s8` and `arm_batch_matmul_s8` take: a sum for each column."""
    return outputs * _INT32 if isa is Isa.MVE else 0
