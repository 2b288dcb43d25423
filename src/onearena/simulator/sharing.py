"""Where an output may lie over an operand of its own instruction."""

from __future__ import annotations

_MIXING = frozenset(
    [
        *(f"aten::{name}" for name in ("mm", "bmm", "addmm", "addmv", "mv", "dot", "linear")),
        *(f"aten::{name}" for name in ("convolution", "convolution_backward", "grid_sampler_2d")),
        *(f"aten::{name}" for name in ("avg_pool2d", "max_pool2d_with_indices")),
        *(f"aten::{name}" for name in ("_adaptive_avg_pool2d", "_adaptive_avg_pool3d")),
        *(f"aten::{name}" for name in ("permute_copy", "transpose_copy", "t_copy", "flip", "roll")),
        *(f"aten::{name}" for name in ("index", "index_select", "gather", "embedding", "sort")),
        *(f"aten::{name}" for name in ("pixel_shuffle", "pixel_unshuffle", "cdist", "_cdist")),
        *(f"cortex_m::quantized_{name}" for name in ("batch_matmul", "linear")),
        *(f"cortex_m::quantized_{name}2d" for name in ("avg_pool", "max_pool")),
        *(f"cortex_m::quantized_{name}2d" for name in ("conv", "depthwise_conv", "transpose_conv")),
        *(f"cortex_m::{name}" for name in ("pad", "transpose")),
    ]
)
"""Operators that read an operand's element after they have written another element of the
output: with both in one place they read what they wrote."""

_MOVING = frozenset(
    f"aten::{name}"
    for name in (
        "alias_copy",
        "cat",
        "clone",
        "detach_copy",
        "expand_copy",
        "lift_fresh_copy",
        "narrow_copy",
        "select_copy",
        "slice_copy",
        "split_copy",
        "split_with_sizes_copy",
        "squeeze_copy",
        "unbind_copy",
        "unsqueeze_copy",
        "view_copy",
    )
) | {"dim_order_ops::_clone_dim_order"}


def may_share_place(name: str) -> bool:
    """True when an operator may write its output exactly over an operand of the same size."""
    return name.removesuffix("_nhwc") not in _MIXING


def only_moves(name: str) -> bool:
    """True for operators that copy bytes and compute nothing: exporters place their outputs
    inside their operands, or the other way round, where the bytes already are."""
    return name in _MOVING or "_nop" in name
