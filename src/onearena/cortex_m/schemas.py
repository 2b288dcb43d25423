"""The argument names of ExecuTorch's cortex_m operators, and which of them are scratch.

A program holds an operator's name and the arguments of each call, but not what the arguments are
called. The names here are those of the operators' schemas (`backends/cortex_m/ops/operators.yaml`
of ExecuTorch 1.1 to 1.5; the test of this module compares them with the installed package). Where
a schema changed between releases, the count of the arguments tells which one a call follows.

Scratch is a plain uint8 tensor whose content means nothing before or after the call.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

NAMESPACE = "cortex_m::"

SCRATCH_NAMES = frozenset({"scratch", "output_scratch"})
"""Arguments that a kernel writes while it runs and that nobody reads afterwards.

`scratch_buffer`, which `quantized_linear` had between two releases in autumn 2025, is none: its
kernel keeps sums of the weights there from one run to the next."""

OVERLOAD = "out"
"""All calls in programs are of this overload: the output comes last, and is named once more."""


@dataclass(frozen=True)
class Schema:
    """One form of an operator.

    Attributes:
        name: with namespace, without overload.
        arguments: the names, in order, without the output's.
        since: the first release with this form.
    """

    name: str
    arguments: tuple[str, ...]
    since: str

    @cached_property
    def positions(self) -> Mapping[str, int]:
        """Position by argument name."""
        return {argument: position for position, argument in enumerate(self.arguments)}

    @cached_property
    def scratch(self) -> tuple[int, ...]:
        """Positions of the scratch arguments, ascending."""
        return tuple(k for k, argument in enumerate(self.arguments) if argument in SCRATCH_NAMES)

    @property
    def call_arguments(self) -> int:
        """How many values a call in a program names: also the output, twice."""
        return len(self.arguments) + 2

    @property
    def layout(self) -> str:
        """Whether 4-dimensional shapes are written `NCHW` (the memory is NHWC) or `NHWC`."""
        return "NHWC" if self.name.endswith("_nhwc") else "NCHW"


_QUANTIZE = "input scale zero_point quant_min quant_max dtype"
_ADD = (
    "self self_zero_point self_multiplier self_shift other other_zero_point other_multiplier "
    "other_shift output_zero_point output_multiplier output_shift"
)
_MUL = (
    "self self_zero_point other other_zero_point output_zero_point output_multiplier output_shift"
)
_REQUANTIZE = (
    "input_offset output_offset requantize_multipliers requantize_shifts activation_min "
    "activation_max"
)
_CONV = f"input weight bias stride padding dilation {_REQUANTIZE}"
_DEPTHWISE = f"input weight bias stride padding dilation depth_multiplier {_REQUANTIZE}"
_TRANSPOSE_CONV = f"input weight bias stride padding output_padding dilation {_REQUANTIZE}"
_LINEAR = (
    "input weights bias kernel_sum input_offset filter_offset output_offset "
    "requantize_multipliers requantize_shifts activation_max activation_min"
)
_MATMUL = (
    "lhs lhs_zero_point rhs_transposed rhs_zero_point output_zero_point output_multiplier "
    "output_shift"
)
_POOL = "input kernel_size stride padding"
_AVG = "zero_point multiplier shift"
_MAX_POOL = (
    f"{_POOL} dilation ceil_mode input_zero_point output_zero_point activation_min activation_max"
)
_SOFTMAX = "input dim input_zero_point output_zero_point input_multiplier input_shift diff_min"

_TABLE: tuple[tuple[str, str, str], ...] = (
    ("quantize_per_tensor", "1.0", _QUANTIZE),
    ("dequantize_per_tensor", "1.0", _QUANTIZE),
    ("quantized_add", "1.0", _ADD),
    ("quantized_add", "1.3", f"{_ADD} activation_min activation_max"),
    ("quantized_mul", "1.1", _MUL),
    (
        "quantized_div",
        "1.5",
        "self self_zero_point other other_zero_point output_zero_point output_scale",
    ),
    ("quantized_activation", "1.4", "input lut"),
    ("minimum", "1.1", "self other"),
    ("maximum", "1.1", "self other"),
    ("quantized_linear", "1.1", _LINEAR),
    ("softmax", "1.1", _SOFTMAX),
    ("transpose", "1.1", "input perm"),
    ("pad", "1.2", "input pre_pad post_pad pad_value"),
    ("quantized_conv2d", "1.1", _CONV),
    ("quantized_conv2d", "1.4", f"{_CONV} scratch"),
    ("quantized_conv2d_nhwc", "1.5", f"{_CONV} scratch"),
    ("quantized_depthwise_conv2d", "1.1", _DEPTHWISE),
    ("quantized_depthwise_conv2d", "1.4", f"{_DEPTHWISE} scratch"),
    ("quantized_depthwise_conv2d_nhwc", "1.5", f"{_DEPTHWISE} scratch"),
    ("quantized_transpose_conv2d", "1.2", _TRANSPOSE_CONV),
    ("quantized_transpose_conv2d", "1.4", f"{_TRANSPOSE_CONV} scratch output_scratch"),
    ("quantized_transpose_conv2d_nhwc", "1.5", f"{_TRANSPOSE_CONV} scratch output_scratch"),
    ("quantized_avg_pool2d", "1.1", f"{_POOL} {_AVG}"),
    ("quantized_avg_pool2d", "1.4", f"{_POOL} {_AVG} scratch"),
    ("quantized_avg_pool2d", "1.5", f"{_POOL} ceil_mode {_AVG} scratch"),
    ("quantized_avg_pool2d_nhwc", "1.5", f"{_POOL} ceil_mode {_AVG} scratch"),
    ("quantized_max_pool2d", "1.2", _MAX_POOL),
    ("quantized_max_pool2d_nhwc", "1.5", _MAX_POOL),
    ("quantized_batch_matmul", "1.2", _MATMUL),
    ("quantized_batch_matmul", "1.4", f"{_MATMUL} scratch"),
)

SCHEMAS: tuple[Schema, ...] = tuple(
    Schema(NAMESPACE + name, tuple(arguments.split()), since) for name, since, arguments in _TABLE
)
"""Every form that is known, those of one operator from the oldest to the newest."""

_BY_FORM: Mapping[tuple[str, int], Schema] = {
    (schema.name, schema.call_arguments): schema for schema in SCHEMAS
}


def find_schema(name: str | None, overload: str | None, call_arguments: int) -> Schema | None:
    """The form that a call follows; None when no form that is known here has so many arguments.

    Args:
        name: of the operator, as in the program: "cortex_m::quantized_conv2d".
        overload: of the operator, as in the program.
        call_arguments: how many values the call names, the output's two included.
    """
    if overload != OVERLOAD or name is None:
        return None
    return _BY_FORM.get((name, call_arguments))
