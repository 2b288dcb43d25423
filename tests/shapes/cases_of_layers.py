"""Random arguments for reductions, norms, convolutions, pools and products."""

from __future__ import annotations

from random import Random
from typing import Any

import torch

from tests.shapes.oracle import T, t
from tests.shapes.random_shapes import (
    Args,
    Maker,
    broadcastable,
    one_axis_case,
    some_axes,
    some_axis,
    some_dims,
    unary_case,
)


def _reduce(*rest: Any, some: bool = False) -> Maker:
    def make(r: Random) -> Args:
        dims = some_dims(r)
        axes: list[int] | None = some_axes(r, len(dims))
        if not some and r.random() < 0.2:
            axes = None
        return [T(dims), axes, *(r.random() < 0.5 if item is bool else item for item in rest)]

    return make


def _layer_norm(r: Random) -> Args:
    dims = some_dims(r, 1)
    shape = dims[r.randint(0, len(dims) - 1) :]
    return [T(dims), list(shape), T(shape), T(shape), 1e-5]


def _group_norm(r: Random) -> Args:
    n, groups, per, h, w = (r.randint(1, 4) for _ in range(5))
    c = groups * per
    return [t(n, c, h, w), t(c), t(c), n, c, h * w, groups, 1e-5]


def _batch_norm(r: Random) -> Args:
    dims = (2, 3, *some_dims(r, 0, 2))
    return [T(dims), t(3), t(3), t(3), t(3), 0.1, 1e-5]


def _batch_norm_of_batch(r: Random) -> Args:
    return [T((2, 3, *some_dims(r, 1, 2))), t(3), t(3), True, 0.1, 1e-5]


def _convolution(r: Random) -> Args:
    count, groups, transposed = r.randint(1, 3), r.randint(1, 2), r.random() < 0.5
    inside, outside = groups * r.randint(1, 3), groups * r.randint(1, 3)
    kernel = [r.randint(1, 4) for _ in range(count)]
    stride = [r.randint(1, 3) for _ in range(count)]
    dilation = [r.randint(1, 2) for _ in range(count)]
    weight = (inside, outside // groups) if transposed else (outside, inside // groups)
    dims = (r.randint(1, 3), inside, *(r.randint(8, 16) for _ in range(count)))
    padding = [r.randint(0, 2) for _ in range(count)]
    if r.random() < 0.3:
        stride, padding, dilation = stride[:1], padding[:1], dilation[:1]
    extra = [r.randint(0, min(stride[0], 2) - 1) if transposed else 0] * len(stride)
    bias = r.choice([None, t(outside)])
    rest = [stride, padding, dilation, transposed, extra, groups]
    return [T(dims), T((*weight, *kernel)), bias, *rest]


def _pool(dilated: bool) -> Maker:
    def make(r: Random) -> Args:
        kernel = [r.randint(1, 4), r.randint(1, 4)]
        stride = r.choice([[], [r.randint(1, 3)], [r.randint(1, 3), r.randint(1, 3)]])
        padding = [r.randint(0, k // 2) for k in kernel]
        dims = (*some_dims(r, 0, 1), 3, r.randint(8, 16), r.randint(8, 16))
        up = r.random() < 0.5
        if dilated:
            return [T(dims), kernel, stride, padding, [r.randint(1, 2)], up]
        return [T(dims), kernel, stride, padding, up, True, None]

    return make


def _resize(*between: Any) -> Maker:
    def make(r: Random) -> Args:
        dims = (r.randint(1, 2), 3, r.randint(1, 9), r.randint(1, 9))
        if r.random() < 0.5:
            return [T(dims), [r.randint(1, 20), r.randint(1, 20)], *between, None]
        return [T(dims), None, *between, [r.choice([0.5, 1.5, 2.0, 3.3]) + 0.5] * 2]

    return make


def _matrices(r: Random) -> tuple[int, int, int]:
    return r.randint(1, 5), r.randint(1, 5), r.randint(1, 5)


def _mm(r: Random) -> Args:
    a, b, c = _matrices(r)
    return [t(a, b), t(b, c)]


def _bmm(r: Random) -> Args:
    a, b, c = _matrices(r)
    return [t(4, a, b), t(4, b, c)]


def _matmul(r: Random) -> Args:
    a, b, c = _matrices(r)
    batch = some_dims(r, 0, 2)
    first = r.choice([(b,), (*broadcastable(r, batch), a, b)])
    second = r.choice([(b,), (*broadcastable(r, batch), b, c)])
    return [T(first), T(second)]


def _addmm(r: Random) -> Args:
    a, b, c = _matrices(r)
    return [r.choice([t(c), t(a, c)]), t(a, b), t(b, c), 1, 1]


def _linear(r: Random) -> Args:
    a, b, _ = _matrices(r)
    return [T((*some_dims(r, 0, 3), a)), t(b, a), r.choice([None, t(b)])]


def _top(r: Random) -> Args:
    dims = some_dims(r, 1)
    axis = some_axis(r, len(dims))
    return [T(dims), r.randint(1, dims[axis]), axis, True, True]


def _distances(r: Random) -> Args:
    batch = some_dims(r, 0, 2)
    return [T((*broadcastable(r, batch), 4, 3)), T((*broadcastable(r, batch), 5, 3)), 2.0, None]


CASES: dict[str, Maker] = {
    "aten::cumsum.out": one_axis_case(None),
    "aten::_softmax.out": one_axis_case(False),
    "aten::_log_softmax.out": one_axis_case(False),
    "aten::mean.out": _reduce(bool, None),
    "aten::sum.IntList_out": _reduce(bool, None),
    "aten::amax.out": _reduce(bool, some=True),
    "aten::amin.out": _reduce(bool, some=True),
    "aten::any.out": one_axis_case(bool),
    "aten::any.dims_out": lambda r: [
        T(d := some_dims(r, 1)),
        [some_axis(r, len(d))],
        r.random() < 0.5,
    ],
    "aten::any.all_out": unary_case(),
    "aten::all.out": one_axis_case(bool),
    "aten::all.dims_out": lambda r: [
        T(d := some_dims(r, 1)),
        [some_axis(r, len(d))],
        r.random() < 0.5,
    ],
    "aten::all.all_out": unary_case(),
    "aten::min.unary_out": lambda r: [T(some_dims(r))],
    "aten::argmax.out": one_axis_case(bool, optional=True),
    "aten::argmin.out": one_axis_case(bool, optional=True),
    "aten::max.dim_max": one_axis_case(bool),
    "aten::min.dim_min": one_axis_case(bool),
    "aten::max.unary_out": lambda r: [T(some_dims(r))],
    "aten::prod.int_out": one_axis_case(bool, None),
    "aten::prod.out": unary_case(None),
    "aten::mean.dtype_out": unary_case(None),
    "aten::var.out": _reduce(True, bool),
    "aten::var.correction_out": _reduce(None, bool),
    "aten::var_mean.correction_out": _reduce(None, bool),
    "aten::topk.values": _top,
    "aten::native_layer_norm.out": _layer_norm,
    "aten::native_group_norm.out": _group_norm,
    "aten::_native_batch_norm_legit_no_training.out": _batch_norm,
    "aten::_native_batch_norm_legit.no_stats_out": _batch_norm_of_batch,
    "aten::convolution.out": _convolution,
    "aten::max_pool2d_with_indices.out": _pool(True),
    "aten::avg_pool2d.out": _pool(False),
    "aten::_adaptive_avg_pool2d.out": lambda r: [T((2, 3, 8, 9)[r.randint(0, 1) :]), [4, 5]],
    "aten::upsample_nearest2d.vec_out": _resize(),
    "aten::upsample_bilinear2d.vec_out": _resize(False),
    "aten::_upsample_bilinear2d_aa.out": lambda r: [t(1, 3, 8, 8), [5, 7], False, None, None],
    "aten::grid_sampler_2d.out": lambda r: [t(2, 3, 5, 6), t(2, 7, 8, 2), 0, 0, False],
    "aten::mm.out": _mm,
    "aten::bmm.out": _bmm,
    "aten::matmul.out": _matmul,
    "aten::addmm.out": _addmm,
    "aten::linear.out": _linear,
    "aten::_cdist_forward.out": _distances,
    "aten::_pdist_forward.out": lambda r: [t(r.randint(2, 6), 3), 2.0],
    "aten::_fft_r2c.out": lambda r: [t(4, r.randint(2, 9)), [1], 0, r.random() < 0.7],
    "aten::_fft_c2r.out": lambda r: [T((4, 5), torch.complex64), [1], 0, r.choice([8, 9])],
}
