"""Programs of every kind: the native runtime computes the same bits as the stock one."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch.nn.functional import softplus

from onearena.engine.runtime import Runtime
from onearena.pipeline import optimize
from tests.cases.conftest import Program
from tests.cases.lowering import (
    Method,
    Module,
    lower,
    lower_methods,
    planned,
    portable,
    quantized,
    xnnpack,
)
from tests.cases.running import Call, difference, random_calls
from tests.cases.test_control import Block, both_ways
from tests.cases.test_dynamic import Segments, at_sizes
from tests.cases.test_kernels import Of
from tests.cases.test_methods import Convs, Kept, Shared, by_size, interleaved
from tests.cases.test_state import Cache, decode, initialised
from tests.engine.agreeing import agree, native

X = torch.zeros(1, 4, 16, 16)
BACKENDS = pytest.mark.parametrize("backend", [portable, xnnpack])


@BACKENDS
def test_delegate_calls_and_kernels(program: Program, backend: Any) -> None:
    stock = program(lambda: lower(Convs(), (X,), partitioners=backend))
    agree(stock, random_calls(X))
    small = stock.with_suffix(".small.pte")
    optimize(stock, small)
    assert agree(small, random_calls(X))[0][0].shape == (1, 4, 16, 16)


def test_int8(program: Program) -> None:
    net = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 4, 1))
    agree(program(lambda: lower(quantized(net, (X + 1,)), (X,))), random_calls(X))


@pytest.mark.parametrize("kept", [False, True])
def test_a_cache_over_several_calls(program: Program, kept: bool) -> None:
    config = initialised("cache") if kept else None
    stock = program(lambda: lower(Cache(), decode()[0].inputs, config=config))
    first = agree(stock, decode(8))
    model = Runtime().load(stock)
    call = decode(1)[0]
    one = model.method("forward").run(*call.inputs)
    model.method("forward").run(*decode(3)[2].inputs)
    model.reset_state()
    again = model.method("forward").run(*call.inputs)
    assert difference([one], [again]) is None, "the state was not reset"
    assert difference(first[:1], first[1:2]) is not None


def test_methods_that_share_state(program: Program) -> None:
    def make() -> bytes:
        kept = Kept()
        methods = {
            "write": Method(Shared(kept, True), (X,)),
            "read": Method(Shared(kept, False), (X,)),
        }
        return lower_methods(methods, config=planned(share_mutable_buffers=True))

    stock = program(make)
    agree(stock, interleaved("write", "read", runs=4))
    read = random_calls(X, method="read", runs=1)
    write = random_calls(X, method="write", runs=1)
    alone = native(Runtime(), stock, read)
    after = native(Runtime(), stock, [*write, *read])
    assert difference(alone, after[1:]) is not None, "what was written was not read"


def test_several_methods_and_constants(program: Program) -> None:
    methods = {"small": Method(Convs(4), (X,)), "large": Method(Convs(16), (X,))}
    constants = {"count": 42, "rate": 1.5, "flag": True, "table": torch.arange(12.0)}
    stock = program(lambda: lower_methods(methods, constants=constants))
    outputs = agree(
        stock, [*interleaved("small", "large"), *(Call(name, ()) for name in constants)]
    )
    assert outputs[-4:-1] == [(42,), (1.5,), (True,)]


@pytest.mark.parametrize("limit", [1 << 10, 4 << 10])
def test_several_arenas(program: Program, limit: int) -> None:
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite

    config = planned(memory_planning_algo=MemoryPlanningAlgorithmSuite([by_size(limit)]))
    agree(
        program(lambda: lower(Convs(), (X,), config=config)),
        random_calls(X),
    )


@BACKENDS
def test_branches(program: Program, backend: Any) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.yes, self.no = Block(), Block()

        def forward(self, x: Any) -> Any:
            return torch.cond(x.sum() > 0, self.yes, self.no, (x.cumsum(0),)).cumsum(1)

    agree(program(lambda: lower(Net(), (X,), partitioners=backend)), both_ways(X))


@BACKENDS
def test_loops(program: Program, backend: Any) -> None:
    class Net(Module):
        def forward(self, x: Any, y: Any) -> Any:
            def step(row: Any, other: Any) -> Any:
                return softplus(row.cumsum(0) * other).cumsum(0)

            return torch_map(step, x.cumsum(0), y).cumsum(0)

    inputs = (torch.zeros(6, 8, 16), torch.zeros(8, 16))
    agree(program(lambda: lower(Net(), inputs, partitioners=backend)), random_calls(*inputs))


def test_sizes_up_to_the_bound(program: Program) -> None:
    height, width = (torch.export.Dim(name, min=2, max=24) * 2 for name in ("h", "w"))
    inputs = (torch.zeros(1, 3, 32, 24),)
    stock = program(lambda: lower(Segments(), inputs, dynamic=({2: height, 3: width},)))
    shapes = [(1, 3, h, w) for h, w in ((48, 48), (4, 4), (20, 48), (46, 6), (48, 48), (32, 24))]
    assert [out[0].shape[2] * 2 for out in agree(stock, at_sizes(*shapes))] == [
        shape[2] for shape in shapes
    ]


def test_sizes_that_depend_on_the_data(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            return torch.nonzero(x.cumsum(0) > 0), x.cumsum(1)

    inputs = (torch.zeros(8, 16),)
    agree(program(lambda: lower(Net(), inputs, partitioners=portable)), random_calls(*inputs))


def test_lists_of_tensors_and_of_maybe_tensors(program: Program) -> None:
    def function(x: Any, rows: Any) -> Any:
        parts = torch.split(x.cumsum(0), 3)
        return torch.cat([parts[1], *parts], 0), x.cumsum(0)[:, rows], torch.stack(parts[:2], 1)

    inputs = (torch.zeros(9, 8), torch.zeros(4, dtype=torch.int64))
    stock = program(lambda: lower(Of(function), inputs, partitioners=portable))
    agree(stock, random_calls(*inputs, high=8))


def test_tensors_without_elements_and_without_dimensions(program: Program) -> None:
    def function(x: Any, nothing: Any, scalar: Any) -> Any:
        empty = torch.cat([x.cumsum(0), nothing], 0).cumsum(1)[:0]
        return empty, nothing.cumsum(0), scalar * x.sum(), torch.cat([empty, x], 0).cumsum(0)

    inputs = (torch.zeros(8, 16), torch.zeros(0, 16), torch.zeros(()))
    stock = program(lambda: lower(Of(function), inputs, partitioners=portable))
    outputs = agree(stock, random_calls(*inputs))
    assert outputs[0][0].shape == (0, 16)
    assert outputs[0][2].shape == ()


def test_numbers_among_the_inputs(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any, n: int, scale: float, flag: bool, nothing: Any = None) -> Any:
            return (x.cumsum(0) * n + scale).cumsum(1) + int(flag)

    inputs = (torch.zeros(8, 16), 3, 2.5, True, None)
    agree(program(lambda: lower(Net(), inputs, partitioners=portable)), random_calls(*inputs))


@pytest.mark.parametrize("planned_io", [False, True])
def test_inputs_and_outputs_of_the_caller(program: Program, planned_io: bool) -> None:
    config = planned(alloc_graph_input=planned_io, alloc_graph_output=True)
    agree(program(lambda: lower(Convs(), (X,), config=config)), random_calls(X))


def test_channels_last(program: Program) -> None:
    x = X.to(memory_format=torch.channels_last)
    net = nn.Sequential(nn.Conv2d(4, 8, 3, padding=1), nn.ReLU())
    stock = program(lambda: lower(net, (x,)))
    agree(stock, random_calls(x))


def test_methods_in_one_arena_do_not_disturb_each_other(program: Program) -> None:
    """Two programs and two methods take turns; each has its results copied in time."""
    methods = {"small": Method(Convs(4), (X,)), "large": Method(Convs(16), (X,))}
    stock = program(lambda: lower_methods(methods))
    runtime = Runtime()
    first = agree(stock, interleaved("small", "large"), runtime)
    second = agree(stock, interleaved("small", "large"), runtime)
    assert difference(first, second) is None
