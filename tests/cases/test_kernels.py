"""Portable kernels with unusual arguments: several outs, lists, optional lists, scratch memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.nn import functional

from tests.cases.checking import check
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, portable
from tests.cases.running import Call, random_calls


class Of(Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs)


def kernels(
    program: Program, function: Callable[..., Any], *inputs: Any, calls: list[Call] | None = None
) -> Any:
    """Checks a function in portable kernels against itself."""
    stock = program(lambda: lower(Of(function), inputs, partitioners=portable))
    return check(stock, calls or random_calls(*inputs), same_as=function)


def test_layer_norm_has_three_outs(program: Program) -> None:
    def function(x: Any) -> Any:
        weight, bias = torch.linspace(0, 2, 32), torch.linspace(-1, 1, 32)
        first = functional.layer_norm(x, (32,), weight, bias)
        every = torch.ops.aten.native_layer_norm(first.cumsum(0), (32,), weight, bias, 1e-5)
        second = functional.layer_norm(every[0].cumsum(0) + every[1], (8, 32))
        return second, every[2]

    kernels(program, function, torch.zeros(4, 8, 32))


def test_group_and_batch_norm(program: Program) -> None:
    def function(x: Any) -> Any:
        every = torch.ops.aten.native_group_norm(x, None, None, 2, 8, 64, 4, 1e-5)
        mean, variance = every[0].mean((0, 2)), every[0].var((0, 2))
        normed = functional.batch_norm(every[0].cumsum(0), mean, variance)
        return normed.cumsum(0), every[2]

    kernels(program, function, torch.zeros(2, 8, 64))


def test_cat_stack_and_repeated_items(program: Program) -> None:
    def function(x: Any, y: Any) -> Any:
        a, b = x.cumsum(0), y.cumsum(1)
        outer = torch.cat([a, b, a, x], 0)
        inner = torch.cat([outer, outer.cumsum(0)], -1)
        return torch.stack([a.cumsum(0), b], 1).cumsum(0), inner.cumsum(1), torch.cat([y, y], 1)

    kernels(program, function, torch.zeros(8, 16), torch.zeros(8, 16))


def test_split_into_lists(program: Program) -> None:
    def function(x: Any) -> Any:
        a, b, c = x.cumsum(0).split([2, 3, 3], 0)
        d, e = torch.chunk(b.cumsum(1), 2, 1)
        rows = torch.unbind(torch.cat([a, c], 0).cumsum(0), 0)
        _, used = torch.split(e.cumsum(0), 8, 1)
        return rows[0].cumsum(0) + rows[4], d.cumsum(0), used, rows[2]

    kernels(program, function, torch.zeros(8, 32))


def test_index_with_optional_lists(program: Program) -> None:
    def function(x: Any, rows: Any, columns: Any, mask: Any) -> Any:
        y = x.cumsum(0)
        a = y[:, rows]
        b = y[rows, columns]
        c = torch.ops.aten.index(y.cumsum(1), [None, columns, None])
        return a.cumsum(0), b.cumsum(0), c.cumsum(2), torch.where(mask, y, -y).cumsum(0)

    rows, columns = torch.zeros(5, dtype=torch.int64), torch.zeros(5, dtype=torch.int64)
    inputs = (torch.zeros(8, 8, 16), rows, columns, torch.zeros(8, 8, 16, dtype=torch.bool))
    kernels(program, function, *inputs, calls=random_calls(*inputs, high=8))


def test_scatter_and_gather(program: Program) -> None:
    def function(x: Any, rows: Any) -> Any:
        y = x.cumsum(0)
        put = torch.index_put(y, (rows,), y[:5].cumsum(1))
        added = torch.index_put(put.cumsum(0), (rows,), y[3:], accumulate=True)
        spread = torch.scatter(y.cumsum(1), 1, rows.view(1, 5).expand(8, 5).contiguous(), x[:, :5])
        chosen = torch.gather(added.cumsum(0), 1, rows.view(1, 5).expand(8, 5).contiguous())
        return added, spread.cumsum(1), chosen.cumsum(0), torch.index_select(x, 0, rows)

    inputs = (torch.zeros(8, 16), torch.zeros(5, dtype=torch.int64))
    kernels(program, function, *inputs, calls=random_calls(*inputs, high=8))


def test_topk_and_sort_take_scratch(program: Program) -> None:
    def function(x: Any) -> Any:
        best, where = torch.topk(x.cumsum(0), 7, -1)
        least, _ = torch.topk(best.cumsum(1), 3, -1, largest=False)
        highest, place = torch.max(x.cumsum(1), 1)
        picked = torch.gather(best.cumsum(0), 1, where.clamp(0, 6))
        return least, picked.cumsum(0), highest.cumsum(0), place, torch.argmin(best, 0)

    kernels(program, function, torch.zeros(16, 64))


def test_empty_tensors(program: Program) -> None:
    def function(x: Any, nothing: Any) -> Any:
        y = torch.cat([x.cumsum(0), nothing], 0)
        empty = y.cumsum(1)[:0]
        return y.cumsum(0), empty, nothing.cumsum(0), torch.cat([empty, x], 0).cumsum(0)

    kernels(program, function, torch.zeros(8, 16), torch.zeros(0, 16))


def test_dims_of_size_zero_and_scalars(program: Program) -> None:
    def function(x: Any, scalar: Any) -> Any:
        total = x.cumsum(0).sum()
        return total * scalar, (x * total).cumsum(0), scalar + 1, x.new_zeros((3, 0)) + 1

    kernels(program, function, torch.zeros(8, 16), torch.zeros(()))


NUMBERS = {
    "float64": torch.float64,
    "int64": torch.int64,
    "int32": torch.int32,
    "int16": torch.int16,
    "int8": torch.int8,
    "uint8": torch.uint8,
}


@pytest.mark.parametrize("name", NUMBERS)
def test_element_types(program: Program, name: str) -> None:
    def function(x: Any, y: Any) -> Any:
        wide = x.to(torch.float32).cumsum(0)
        flags = (x > y).logical_or(wide > 3)
        narrow = wide.to(x.dtype) + y
        return narrow.flatten(), flags, torch.cumsum(narrow.to(torch.float64), 0), x.view(-1)

    inputs = [torch.zeros(8, 24, dtype=NUMBERS[name]) for _ in range(2)]
    kernels(program, function, *inputs, calls=random_calls(*inputs, high=50))


@pytest.mark.parametrize("name", ["float16", "bfloat16", "bool"])
def test_small_element_types(program: Program, name: str) -> None:
    dtype: torch.dtype = getattr(torch, name)

    def function(x: Any, y: Any) -> Any:
        wide = torch.cat([x, y], 0).to(torch.float32).cumsum(0)
        return wide.to(dtype).view(-1), wide > 2, torch.where(x > y, x, y).view(4, -1)

    kernels(program, function, *(torch.zeros(8, 24, dtype=dtype) for _ in range(2)))


def test_mixed_alignments(program: Program) -> None:
    """Odd sizes of one byte next to doubles."""

    def function(x: Any, flags: Any) -> Any:
        small = flags.to(torch.int8).cumsum(0).to(torch.int8)
        wide = x.cumsum(0) * small.to(torch.float64)
        half = wide.to(torch.int16)
        return wide.cumsum(0), half.view(-1), small[1:].to(torch.int64), (half > 1).view(-1)

    inputs = (torch.zeros(7, 3, dtype=torch.float64), torch.zeros(7, 3, dtype=torch.bool))
    kernels(program, function, *inputs)


def test_numbers_among_inputs_and_outputs(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any, n: int, scale: float, flag: bool, nothing: Any = None) -> Any:
            return (x.cumsum(0) * n + scale).cumsum(1) + int(flag), x.cumsum(1)

    inputs = (torch.zeros(8, 16), 3, 2.5, True, None)
    stock = program(lambda: lower(Net(), inputs, partitioners=portable))
    check(stock, random_calls(*inputs), same_as=Net())


def test_long_chain_of_broadcasts(program: Program) -> None:
    def function(x: Any, row: Any) -> Any:
        column = x.cumsum(0)[:, :1]
        y = column.cumsum(0) * row
        z = y.cumsum(0) + y.cumsum(1)[:1]
        return z.expand(3, 8, 16).cumsum(0), (z.cumsum(1) + row.cumsum(0)).repeat(2, 1)

    kernels(program, function, torch.zeros(8, 16), torch.zeros(16))
