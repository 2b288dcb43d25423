"""The calls that prove the table of in-place kernels: shapes, broadcasting, types, arguments."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import product

from onearena.pte.tensors import ScalarType
from onearena.timeline.in_place_kernels import COPIES, IN_PLACE_KERNELS, InPlaceKernel, Types
from tests.runtime.in_place_kernels import Argument, At, Case, Operand, Tensors

Shape = tuple[int, ...]
A, B, C = At(0), At(1), At(2)
CHANNELS_LAST = (0, 2, 3, 1)
PARALLEL = 70_001
"""Elements of which the element-wise kernels make several threads' work (32,768 each)."""
VECTORS = tuple(range(1, 71))
"""Lengths around those of vectors: 4 to 64 elements, and what is left over."""
FEW_VECTORS = (1, 5, 16, 31, 37, 64, 70)

_TEMPLATES: dict[str, list[tuple[Argument, ...]]] = {
    "aten::gelu.out": [(A, "none"), (A, "tanh")],
    "aten::leaky_relu.out": [(A, 0.01)],
    "aten::logit.out": [(A, None), (A, 0.1)],
    "aten::elu.out": [(A, 1.0, 1, 1), (A, 0.5, 2, 3)],
    "aten::hardtanh.out": [(A, -1, 1), (A, 0, 6)],
    "aten::clamp.out": [(A, 0, None), (A, None, 1), (A, 0, 1)],
    **{f"aten::{name}.Scalar_out": [(A, 2, 1), (A, 3, 2)] for name in ("add", "sub", "rsub")},
    "aten::pow.Tensor_Scalar_out": [(A, 2), (A, 3)],
    "aten::pow.Scalar_out": [(2, A)],
    "aten::div.Scalar_mode_out": [(A, 3, "floor"), (A, 3, "trunc")],
    "aten::fill.Scalar_out": [(A, 1)],
    "aten::full_like.out": [(A, 1, None)],
    "aten::add.out": [(A, B, 1), (A, B, 2)],
    "aten::sub.out": [(A, B, 1), (A, B, 2)],
    "aten::div.out_mode": [(A, B, "floor"), (A, B, "trunc")],
    "aten::masked_fill.Scalar_out": [(A, B, 1)],
}
_DIVIDING = ("div", "fmod", "remainder", "floor_divide", "pow")


def small_shapes(largest: int, rank: int) -> list[Shape]:
    """All shapes of at most so many dimensions, each from 1 to the largest size."""
    sizes = range(1, largest + 1)
    return [shape for count in range(rank + 1) for shape in product(sizes, repeat=count)]


def broadcast_to(shape: Shape) -> list[Shape]:
    """All shapes that are broadcast to this one, itself first."""
    found = [
        tuple(1 if one else size for one, size in zip(ones, shape[dropped:], strict=True))
        for dropped in range(len(shape) + 1)
        for ones in product((False, True), repeat=len(shape) - dropped)
    ]
    return list(dict.fromkeys(found))


def cases_of(name: str, types: Types, is_full: bool) -> list[Case]:
    """All calls of an operator of the table with these element types.

    Args:
        is_full: all shapes and lengths, instead of some of every kind.
    """
    if name in COPIES:
        return list(_copies(name, types[0], is_full))
    kernel = IN_PLACE_KERNELS[name]
    special = _SPECIAL.get(name)
    if special is not None:
        return list(special(name, types, is_full))
    return list(_elementwise(name, kernel, types, is_full))


def _templates(name: str, kernel: InPlaceKernel) -> list[tuple[Argument, ...]]:
    found = _TEMPLATES.get(name)
    if found is None:
        assert kernel.arguments <= 3
        tensors = (A, B, C)[: len(kernel.tensors)]
        found = [tensors if len(tensors) == kernel.arguments else (*tensors, 3)]
    return found


def _elementwise(name: str, kernel: InPlaceKernel, types: Types, full: bool) -> Iterator[Case]:
    is_common = types[-1] in (ScalarType.FLOAT, ScalarType.BOOL)
    for position in kernel.taken:
        taken = kernel.tensors.index(position)
        for shapes in _shapes(len(kernel.tensors), taken, full or is_common, full):
            for template in _templates(name, kernel):
                yield _case(name, types, shapes, template, taken)
    for template in _templates(name, kernel) if kernel.any_order else ():
        taken = kernel.tensors.index(kernel.taken[0])
        everywhere = ((2, 3, 2, 3),) * len(kernel.tensors)
        yield _case(name, types, everywhere, template, taken, CHANNELS_LAST)
    yield from _named_twice(name, kernel, types, full or is_common)


def _shapes(count: int, taken: int, more: bool, full: bool) -> Iterator[tuple[Shape, ...]]:
    """The shapes of the operands; the taken one has the output's."""
    shapes = small_shapes(3, 4) if full else [*small_shapes(2, 2), (2, 3, 1, 3), (3, 2, 3)]
    for shape in shapes if more else [(), (2, 3), (2, 1, 3, 2)]:
        yield from _beside(shape, count, taken, full, few=not more)
    for length in VECTORS if full else FEW_VECTORS if more else (37,):
        yield from _beside((length,), count, taken, full)
        yield from _beside((3, length), count, taken, full, few=not more)
        if full:
            yield from _beside((2, 3, length), count, taken, full=False)
    for shape in ((PARALLEL,), (7, 10_001), (10_001, 7), (3, 4_001, 6)) if full else ():
        yield from _beside(shape, count, taken, full=False, few=True)
    if more and not full:
        yield from list(_beside((7, 10_001), count, taken, full=False))[:3]


def _beside(
    shape: Shape, count: int, taken: int, full: bool, few: bool = False
) -> Iterator[tuple[Shape, ...]]:
    others = broadcast_to(shape)
    if few:
        others = [others[0], others[len(others) // 2], others[-1]]
    if count == 1:
        yield (shape,)
    elif count == 2:
        for other in others:
            yield (shape, other) if taken == 0 else (other, shape)
    else:
        mixed = zip(others, reversed(others), strict=True)
        for one, two in product(others, repeat=2) if full and len(others) < 12 else mixed:
            found = [one, two]
            found.insert(taken, shape)
            yield tuple(found)


def _case(
    name: str,
    types: Types,
    shapes: Sequence[Shape],
    template: tuple[Argument, ...],
    taken: int,
    order: tuple[int, ...] | None = None,
) -> Case:
    divides = len(shapes) == 2 and name.partition("::")[2].startswith(_DIVIDING)
    operands = tuple(
        Operand(shape, kind, bound=5 if divides else 0, order=order)
        for shape, kind in zip(shapes, types, strict=False)
    )
    return Case(name, operands, template, (Operand(shapes[taken], types[-1], order=order),), taken)


def _named_twice(name: str, kernel: InPlaceKernel, types: Types, is_common: bool) -> Iterator[Case]:
    """One value as two operands."""
    if len(kernel.taken) < 2:
        return
    first, second = (kernel.tensors.index(position) for position in kernel.taken)
    for shape in ((2, 3, 3), (70,), (PARALLEL,)) if is_common else ((2, 3, 3), (70,)):
        for template in _templates(name, kernel):
            case = _case(name, types, (shape,) * len(kernel.tensors), template, first)
            args = tuple(At(first) if argument == At(second) else argument for argument in template)
            yield Case(name, case.operands, args, case.outputs, first)


# -- rows and scattering ------------------------------------------------------------------


def _softmax(name: str, types: Types, full: bool) -> Iterator[Case]:
    shapes = small_shapes(3, 4) if full else [*small_shapes(2, 3), (3, 2, 3), (2, 3, 2, 3)]
    shapes += [(3, length) for length in (VECTORS if full else FEW_VECTORS)]
    shapes += [(length, 3) for length in (VECTORS if full else FEW_VECTORS)]
    for shape in [*shapes, (PARALLEL,), (7, 10_001), (10_001, 7)]:
        for dim in range(max(1, len(shape))):
            yield _case(name, types, (shape,), (A, dim, False), 0)


def _layer_norm(name: str, types: Types, full: bool) -> Iterator[Case]:
    shapes = [s for s in small_shapes(3, 4 if full else 2) if s]
    shapes += [(3, length) for length in (VECTORS if full else FEW_VECTORS)]
    # optimized kernels take another way from 256 elements on
    shapes += [(3, 255), (3, 256), (5, 300), (2, 3, 1000)]
    kind = types[0]
    for shape in shapes:
        for count in range(1, len(shape) + 1):
            inner = shape[len(shape) - count :]
            outer = (*shape[: len(shape) - count], *(1,) * count)
            x, weight, bias = (Operand(sizes, kind) for sizes in (shape, inner, inner))
            outputs = (Operand(shape, kind), Operand(outer, kind), Operand(outer, kind))
            yield Case(name, (x, weight, bias), (A, inner, B, C, 1e-5), outputs, 0)
            yield Case(name, (x,), (A, inner, None, None, 1e-5), outputs, 0)


def _some(types: Types, full: bool) -> list[Shape]:
    largest, rank = (3, 4) if full else (2, 3 if types[0] == ScalarType.FLOAT else 2)
    return [shape for shape in small_shapes(largest, rank) if shape]


def _scatter(name: str, types: Types, full: bool) -> Iterator[Case]:
    kind = types[0]
    for shape in _some(types, full):
        for dim in range(len(shape)):
            index = Operand(shape, ScalarType.LONG, bound=shape[dim], is_index=True)
            x, source = Operand(shape, kind), Operand(shape, kind)
            if name.endswith("value_out"):
                yield Case(name, (x, index), (A, dim, B, 1), (x,), 0)
            else:
                yield Case(name, (x, index, source), (A, dim, B, C), (x,), 0)


def _select_scatter(name: str, types: Types, full: bool) -> Iterator[Case]:
    kind = types[0]
    for shape in _some(types, full):
        for dim in range(len(shape)):
            rest = (*shape[:dim], *shape[dim + 1 :])
            for index in range(shape[dim]):
                operands = (Operand(shape, kind), Operand(rest, kind))
                yield Case(name, operands, (A, B, dim, index), operands[:1], 0)


def _slice_scatter(name: str, types: Types, full: bool) -> Iterator[Case]:
    kind = types[0]
    for shape in [*_some(types, full), (7,), (2, 7, 3)]:
        for dim in range(len(shape)):
            for start, step in ((0, 1), (1, 1), (0, 2)):
                size = len(range(start, shape[dim], step))
                if size:
                    part = (*shape[:dim], size, *shape[dim + 1 :])
                    operands = (Operand(shape, kind), Operand(part, kind))
                    arguments = (A, B, dim, start, shape[dim], step)
                    yield Case(name, operands, arguments, operands[:1], 0)


def _index_put(name: str, types: Types, full: bool) -> Iterator[Case]:
    kind = types[0]
    for shape in _some(types, full):
        for dim, add in product(range(len(shape)), (False, True)):
            index = Operand((2,), ScalarType.LONG, bound=shape[dim], is_index=True)
            x, values = Operand(shape, kind), (*shape[:dim], 2, *shape[dim + 1 :])
            lists = Tensors((*(None,) * dim, 1))
            for given in (values, (1,)):
                operands = (x, index, Operand(given, kind))
                yield Case(name, operands, (A, lists, C, add), (x,), 0)


def _converted(name: str, types: Types, full: bool) -> Iterator[Case]:
    """Conversions to the type that it is already."""
    return _copies(name, types[0], full)


_SPECIAL: dict[str, Callable[[str, Types, bool], Iterator[Case]]] = {
    "aten::_to_copy.out": _converted,
    "dim_order_ops::_to_dim_order_copy.out": _converted,
    "aten::_softmax.out": _softmax,
    "aten::_log_softmax.out": _softmax,
    "aten::native_layer_norm.out": _layer_norm,
    "aten::scatter.src_out": _scatter,
    "aten::scatter.value_out": _scatter,
    "aten::scatter_add.out": _scatter,
    "aten::select_scatter.out": _select_scatter,
    "aten::slice_scatter.out": _slice_scatter,
    "aten::index_put.out": _index_put,
}


# -- copies -------------------------------------------------------------------------------


def _copies(name: str, kind: int, full: bool) -> Iterator[Case]:
    shapes = [*small_shapes(3 if full else 2, 4 if full else 3), (70,), (3, 37)]
    if full or kind == ScalarType.FLOAT:
        shapes.append((PARALLEL,))
    for shape in shapes:
        for result, arguments in _copy_calls(name, shape):
            x, out = Operand(shape, kind), Operand(result, kind)
            yield Case(name, (x,), arguments, (out,), 0, is_copy=True)
    if "dim_order" in name:
        x = Operand((2, 3, 2, 3), kind, order=CHANNELS_LAST)
        yield Case(name, (x,), (A, False, None), (x,), 0, is_copy=True)


def _copy_calls(name: str, shape: Shape) -> Iterator[tuple[Shape, tuple[Argument, ...]]]:
    rank = len(shape)
    base = name.partition("::")[2].partition(".")[0]
    if base == "view_copy":
        for result in {shape, (-1,), (1, *shape), (*shape, 1), shape[::-1]}:
            count = 1
            for size in shape:
                count *= size
            yield tuple(count if size < 0 else size for size in result), (A, result)
    elif base == "unsqueeze_copy":
        for dim in range(rank + 1):
            yield (*shape[:dim], 1, *shape[dim:]), (A, dim)
    elif base == "squeeze_copy":
        for dim in range(rank):
            result = shape if shape[dim] != 1 else (*shape[:dim], *shape[dim + 1 :])
            yield result, (A, (dim,) if "dims" in name else dim)
    elif base == "expand_copy":
        yield shape, (A, shape, False)
        yield (1, *shape), (A, (1, *shape), False)
        yield shape, (A, (-1,) * rank, False)
    elif base in ("_to_copy", "_to_dim_order_copy", "_clone_dim_order"):
        yield shape, (A, False, None)
    else:
        yield shape, (A, None) if base == "clone" else (A,)
