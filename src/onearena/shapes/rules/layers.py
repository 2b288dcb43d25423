"""Reductions, norms, convolutions, pools, resizes and matrix products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from onearena.shapes.rules.call import (
    Call,
    ContradictionError,
    Dims,
    NotDerivableError,
    ShapeRule,
    axis_of,
    broadcast,
    text,
    with_dim,
)


def _reduced(dims: Dims, axes: Sequence[int] | None, keep: bool) -> Dims:
    """The shape without the axes; none named means all of them."""
    gone = {axis_of(axis, len(dims)) for axis in axes or range(len(dims))}
    if keep:
        return tuple(1 if axis in gone else size for axis, size in enumerate(dims))
    return tuple(size for axis, size in enumerate(dims) if axis not in gone)


def _reduce_at(keep_position: int) -> ShapeRule:
    """A reduction over the axes in argument 1, `keepdim` in another argument."""

    def rule(call: Call) -> Sequence[Dims]:
        axes = None if call.is_absent(1) else call.integers(1)
        return (_reduced(call.dims(0), axes, call.flag(keep_position)),) * call.outputs

    return rule


def _reduce_some(call: Call) -> Sequence[Dims]:
    if not call.is_absent(1) and not call.integers(1):
        raise NotDerivableError("kernels do not agree on what no dimensions mean")
    return _REDUCE(call)


def _reduce_all(call: Call) -> Sequence[Dims]:
    return ((),) * call.outputs


def _top(call: Call) -> Sequence[Dims]:
    dims, count = call.dims(0), call.integer(1)
    axis = axis_of(call.integer(2), len(dims))
    if dims and not 0 <= count <= dims[axis]:
        raise ContradictionError(f"cannot take {count} of {text(dims)} along dimension {axis}")
    return (with_dim(dims, axis, count) if dims else dims,) * call.outputs


def _layer_norm(call: Call) -> Sequence[Dims]:
    dims, shape = call.dims(0), call.integers(1)
    lead = len(dims) - len(shape)
    if lead < 0 or dims[lead:] != shape:
        raise ContradictionError(f"normalises {list(shape)}, its input is {text(dims)}")
    statistics = (*dims[:lead], *(1 for _ in shape))
    return (dims, statistics, statistics)[: call.outputs]


def _group_norm(call: Call) -> Sequence[Dims]:
    dims, batch, groups = call.dims(0), call.integer(3), call.integer(6)
    return (dims, (batch, groups), (batch, groups))[: call.outputs]


def _batch_norm(call: Call) -> Sequence[Dims]:
    return (call.dims(0), (0,), (0,))[: call.outputs]


def _batch_norm_of_batch(call: Call) -> Sequence[Dims]:
    dims = call.dims(0)
    return (dims, dims[1:2], dims[1:2])[: call.outputs]


def _spread(values: Sequence[int], count: int) -> tuple[int, ...]:
    """One number stands for all dimensions."""
    if len(values) == 1:
        return tuple(values) * count
    if len(values) != count:
        raise ContradictionError(f"{list(values)} is not a number per dimension")
    return tuple(values)


def _windows(size: int, kernel: int, stride: int, padding: int, dilation: int, up: bool) -> int:
    """How many windows fit. ExecuTorch's kernels divide towards zero, so a window that is a little
    larger than its input fits once (`_kernel_output_size_helper` in `kernel_ops_util.cpp`)."""
    reach = size + 2 * padding - dilation * (kernel - 1) - 1 + (stride - 1 if up else 0)
    result = (reach // stride if reach >= 0 else -(-reach // stride)) + 1
    # the last window must begin inside the input or its left padding
    return result - 1 if up and (result - 1) * stride >= size + padding else result


def _convolution(call: Call) -> Sequence[Dims]:
    dims, weight = call.dims(0), call.dims(1)
    count = len(weight) - 2
    stride, padding, dilation = (_spread(call.integers(k), count) for k in (3, 4, 5))
    transposed, groups = call.flag(6), call.integer(8)
    if count < 1 or len(dims) != len(weight):
        raise NotDerivableError(f"input {text(dims)} for a filter {text(weight)}")
    channels = weight[0] if transposed else weight[1] * groups
    if dims[1] != channels:
        raise ContradictionError(f"takes {channels} channels, its input is {text(dims)}")
    extra = _spread(call.integers(7), count) if transposed else ()
    sizes: list[int] = []
    for axis, size in enumerate(dims[2:]):
        kernel = weight[2 + axis]
        if transposed:
            reach = dilation[axis] * (kernel - 1)
            sizes.append((size - 1) * stride[axis] - 2 * padding[axis] + reach + extra[axis] + 1)
        else:
            sizes.append(_windows(size, kernel, stride[axis], padding[axis], dilation[axis], False))
    if any(size < 1 for size in sizes):
        raise ContradictionError(f"its input {text(dims)} is smaller than its filter")
    return ((dims[0], weight[1] * groups if transposed else weight[0], *sizes),)


def _pool(call: Call, dilation: Sequence[int], up: bool) -> Sequence[Dims]:
    dims, kernel = call.dims(0), _spread(call.integers(1), 2)
    stride = _spread(call.integers(2), 2) if call.integers(2) else kernel
    padding, spread = _spread(call.integers(3), 2), _spread(dilation, 2)
    sizes = tuple(
        _windows(size, kernel[k], stride[k], padding[k], spread[k], up)
        for k, size in enumerate(dims[-2:])
    )
    if len(dims) < 3 or any(size < 1 for size in sizes):
        raise ContradictionError(f"its input {text(dims)} is smaller than its window")
    return ((*dims[:-2], *sizes),) * call.outputs


def _max_pool(call: Call) -> Sequence[Dims]:
    return _pool(call, call.integers(4), call.flag(5))


def _average_pool(call: Call) -> Sequence[Dims]:
    return _pool(call, (1,), call.flag(4))


def _adaptive_pool(call: Call) -> Sequence[Dims]:
    return ((*call.dims(0)[:-2], *_spread(call.integers(1), 2)),)


def _resized(dims: Dims, call: Call, sizes_at: int, scales_at: int) -> Sequence[Dims]:
    if not call.is_absent(sizes_at):
        return ((*dims[:2], *_spread(call.integers(sizes_at), len(dims) - 2)),)
    scales = call.numbers(scales_at)
    if len(scales) != len(dims) - 2:
        raise ContradictionError(f"{list(scales)} is not a scale per dimension of {text(dims)}")
    return ((*dims[:2], *(int(n * scale) for n, scale in zip(dims[2:], scales, strict=True))),)


def _nearest(call: Call) -> Sequence[Dims]:
    return _resized(call.dims(0), call, 1, 2)


def _bilinear(call: Call) -> Sequence[Dims]:
    return _resized(call.dims(0), call, 1, 3)


def _sampled(call: Call) -> Sequence[Dims]:
    return ((*call.dims(0)[:2], *call.dims(1)[1:3]),)


def _product(first: Dims, second: Dims) -> Dims:
    """A product of matrices, or of stacks of them."""
    if len(first) < 2 or len(second) < 2 or first[-1] != second[-2]:
        raise ContradictionError(f"cannot multiply {text(first, second)}")
    return (*broadcast(first[:-2], second[:-2]), first[-2], second[-1])


def _multiply(call: Call) -> Sequence[Dims]:
    first, second = call.dims(0), call.dims(1)
    row, column = len(first) == 1, len(second) == 1
    result = _product((1, *first) if row else first, (*second, 1) if column else second)
    result = result[:-1] if column else result
    return ((*result[:-2], result[-1]) if row and not column else result[:-1] if row else result,)


def _multiply_add(call: Call) -> Sequence[Dims]:
    return (_product(call.dims(1), call.dims(2)),)


def _linear(call: Call) -> Sequence[Dims]:
    dims, weight = call.dims(0), call.dims(1)
    if not dims or dims[-1] != weight[-1]:
        raise ContradictionError(f"cannot multiply {text(dims, weight)}")
    return ((*dims[:-1], *weight[:-1]),)


def _distances(call: Call) -> Sequence[Dims]:
    first, second = call.dims(0), call.dims(1)
    return ((*broadcast(first[:-2], second[:-2]), first[-2], second[-2]),)


def _own_distances(call: Call) -> Sequence[Dims]:
    count = call.dims(0)[0]
    return ((count * (count - 1) // 2,),)


def _embedding_packed(per_byte: int) -> ShapeRule:
    """A table whose rows hold several numbers in a byte; the indices are argument 5."""

    def rule(call: Call) -> Sequence[Dims]:
        return ((*call.dims(5), call.dims(0)[-1] * per_byte),)

    return rule


def _spectrum(call: Call) -> Sequence[Dims]:
    dims, axes = call.dims(0), call.integers(1)
    axis = axis_of(axes[-1], len(dims)) if axes else 0
    return (with_dim(dims, axis, dims[axis] // 2 + 1) if call.flag(3) and axes else dims,)


def _signal(call: Call) -> Sequence[Dims]:
    dims, axes = call.dims(0), call.integers(1)
    return (with_dim(dims, axis_of(axes[-1], len(dims)), call.integer(3)) if axes else dims,)


_REDUCE = _reduce_at(2)
RULES: Mapping[str, ShapeRule] = {
    **{f"aten::{name}": _REDUCE for name in ("all", "amax", "amin", "any", "argmax", "argmin")},
    **{f"aten::{name}": _REDUCE for name in ("mean", "sum")},
    "aten::max.dim_max": _REDUCE,
    "aten::min.dim_min": _REDUCE,
    "aten::prod.int_out": _REDUCE,
    "aten::all.dims_out": _reduce_some,
    "aten::any.dims_out": _reduce_some,
    "aten::var": _reduce_at(3),
    "aten::var_mean": _reduce_at(3),
    **{f"aten::{name}.all_out": _reduce_all for name in ("all", "any")},
    **{f"aten::{name}.unary_out": _reduce_all for name in ("max", "min")},
    "aten::mean.dtype_out": _reduce_all,
    "aten::prod.out": _reduce_all,
    "aten::topk": _top,
    "aten::native_layer_norm": _layer_norm,
    "aten::native_group_norm": _group_norm,
    "aten::_native_batch_norm_legit_no_training": _batch_norm,
    "aten::_native_batch_norm_legit.no_stats_out": _batch_norm_of_batch,
    "aten::convolution": _convolution,
    "aten::max_pool2d_with_indices": _max_pool,
    "aten::avg_pool2d": _average_pool,
    "aten::_adaptive_avg_pool2d": _adaptive_pool,
    "aten::upsample_nearest2d.vec_out": _nearest,
    "aten::upsample_bilinear2d.vec_out": _bilinear,
    "aten::_upsample_bilinear2d_aa": _bilinear,
    "aten::grid_sampler_2d": _sampled,
    **{f"aten::{name}": _multiply for name in ("mm", "bmm", "matmul")},
    "aten::addmm": _multiply_add,
    "aten::linear": _linear,
    "quantized_decomposed::mixed_mm": _multiply,
    "quantized_decomposed::mixed_linear": _linear,
    "aten::_cdist_forward": _distances,
    "aten::_pdist_forward": _own_distances,
    "quantized_decomposed::embedding_byte": _embedding_packed(1),
    "quantized_decomposed::embedding_4bit": _embedding_packed(2),
    "quantized_decomposed::embedding_2bit": _embedding_packed(4),
    "aten::_fft_r2c": _spectrum,
    "aten::_fft_c2r": _signal,
}
