"""Which integers a method accepts at its inputs, from the operators that consume them.

A table of 50 rows wants indices in [0, 50), a cache of 16 positions written 4 at a time
wants a start in [0, 13). Where nothing says more, [0, 2) suits masks, flags and ids alike.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from onearena.pte.schema import ExecutionPlan, Int, Tensor
from onearena.pte.tensors import ScalarType
from onearena.runtime.flow import MethodFlow, Use

_EIGHT_BITS = {ScalarType.BYTE: (0, 256), ScalarType.CHAR: (-128, 128)}
_FLOATS = frozenset((ScalarType.HALF, ScalarType.FLOAT, ScalarType.DOUBLE, ScalarType.BFLOAT16))


@dataclass(frozen=True)
class IntRange:
    """Integers in [low, high).

    `is_position`: they say where a sequence is written, so runs should go on where the last
    one stopped.
    """

    low: int = 0
    high: int = 2
    is_position: bool = False


DEFAULT_RANGE = IntRange()


def input_ranges(plan: ExecutionPlan, flow: MethodFlow) -> Mapping[int, IntRange]:
    """The range of each input for which the method's operators set one, by input position."""
    limits: dict[int, int] = {}
    positions: set[int] = set()
    images: dict[int, IntRange] = {}
    for use in flow.uses:
        limit = _limit(plan, use)
        for position in use.inputs:
            if limit is not None:
                limits[position] = min(limits.get(position, limit[0]), limit[0])
                if limit[1]:
                    positions.add(position)
            elif whole := _whole_range(plan, use, position):
                images[position] = whole
    ranges = dict(images)
    for position, high in limits.items():
        ranges[position] = IntRange(0, max(high, 1), position in positions)
    return MappingProxyType(ranges)


_Limit = tuple[int, bool]
"""(exclusive upper bound, is it a position)."""


def _limit(plan: ExecutionPlan, use: Use) -> _Limit | None:
    """What the consumer of a value says about its numbers; None when nothing."""
    name = use.operator.partition(".")[0]
    rule = _RULES.get(name.removesuffix("_") if name not in _RULES else name)
    return rule(plan, use) if rule and not use.is_delegate else None


def _rows(index_argument: int) -> Callable[[ExecutionPlan, Use], _Limit | None]:
    """`op(table, ..., index, ...)`: one number per row of the table."""

    def rule(plan: ExecutionPlan, use: Use) -> _Limit | None:
        size = _size(plan, use, 0, 0)
        return (size, False) if use.position == index_argument and size is not None else None

    return rule


def _index_list(is_written: bool) -> Callable[[ExecutionPlan, Use], _Limit | None]:
    """`op(self, indices, ...)`: the k-th tensor of the list indexes dimension k."""

    def rule(plan: ExecutionPlan, use: Use) -> _Limit | None:
        if use.position != 1 or use.item is None:
            return None
        size = _size(plan, use, 0, use.item)
        return (size, is_written) if size is not None else None

    return rule


def _along(is_written: bool) -> Callable[[ExecutionPlan, Use], _Limit | None]:
    """`op(self, dim, index, ...)`: positions along one dimension."""

    def rule(plan: ExecutionPlan, use: Use) -> _Limit | None:
        dim = _integer(plan, use, 1)
        if use.position != 2 or dim is None:
            return None
        size = _size(plan, use, 0, dim)
        return (size, is_written) if size is not None else None

    return rule


def _slice(plan: ExecutionPlan, use: Use) -> _Limit | None:
    """`slice(self, dim, start, end, step, out)`: the slice must lie inside."""
    dim = _integer(plan, use, 1)
    if use.position != 2 or dim is None or len(use.args) < 6:
        return None
    size, length = _size(plan, use, 0, dim), _size(plan, use, 5, dim)
    return (size - length + 1, True) if size is not None and length is not None else None


def _cache(cache: int, written: int, start: int) -> Callable[[ExecutionPlan, Use], _Limit | None]:
    """A sequence (dimension 1 of an argument) begins at `start` in dimension 1 of a cache."""

    def rule(plan: ExecutionPlan, use: Use) -> _Limit | None:
        size, length = _size(plan, use, cache, 1), _size(plan, use, written, 1)
        if use.position != start or size is None or length is None:
            return None
        return size - length + 1, True

    return rule


_RULES: Mapping[str, Callable[[ExecutionPlan, Use], _Limit | None]] = {
    "aten::embedding": _rows(1),
    "quantized_decomposed::embedding_byte": _rows(5),
    "quantized_decomposed::embedding_4bit": _rows(5),
    "quantized_decomposed::embedding_2bit": _rows(5),
    "aten::index": _index_list(is_written=False),
    "aten::index_put": _index_list(is_written=True),
    "aten::index_select": _along(is_written=False),
    "aten::gather": _along(is_written=False),
    "aten::select_copy": _along(is_written=False),
    "aten::scatter": _along(is_written=False),
    "aten::scatter_add": _along(is_written=False),
    "aten::index_add": _along(is_written=False),
    "aten::index_copy": _along(is_written=True),
    "aten::slice_copy": _slice,
    "llama::update_cache": _cache(cache=1, written=0, start=2),
    "llama::custom_sdpa": _cache(cache=1, written=0, start=3),
    "llama::custom_quantized_sdpa": _cache(cache=1, written=0, start=3),
    "llama::sdpa_with_kv_cache": _cache(cache=3, written=0, start=5),
}


def _whole_range(plan: ExecutionPlan, use: Use, position: int) -> IntRange | None:
    """The whole range of an 8-bit input that is taken as measured or quantised numbers."""
    source = (plan.values or ())[(plan.inputs or ())[position]].val
    if not isinstance(source, Tensor) or source.scalar_type not in _EIGHT_BITS:
        return None
    out = _tensor(plan, use, -1)
    becomes_float = out is not None and out.scalar_type in _FLOATS
    if use.is_delegate or becomes_float:
        low, high = _EIGHT_BITS[ScalarType(source.scalar_type)]
        return IntRange(low, high)
    return None


def _tensor(plan: ExecutionPlan, use: Use, position: int) -> Tensor | None:
    if not -len(use.args) <= position < len(use.args):
        return None
    value = (plan.values or ())[use.args[position]].val
    return value if isinstance(value, Tensor) else None


def _size(plan: ExecutionPlan, use: Use, position: int, dim: int) -> int | None:
    tensor = _tensor(plan, use, position)
    sizes = (tensor.sizes or ()) if tensor else ()
    return sizes[dim] if -len(sizes) <= dim < len(sizes) else None


def _integer(plan: ExecutionPlan, use: Use, position: int) -> int | None:
    if position >= len(use.args):
        return None
    value = (plan.values or ())[use.args[position]].val
    return value.int_val if isinstance(value, Int) else None
