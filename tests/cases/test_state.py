"""State: what one run writes and a later one reads."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from executorch.exir import ExecutorchBackendConfig
from torch import nn
from torch.nn.functional import softplus

from tests.cases.checking import check, optimize_and_verify
from tests.cases.conftest import Program
from tests.cases.lowering import NEEDS_1_5, Module, lower, portable, xnnpack
from tests.cases.running import Call, difference, forward, random_calls

BACKENDS = pytest.mark.parametrize("backend", [portable, xnnpack])


def initialised(*names: str, **options: Any) -> ExecutorchBackendConfig:
    """A configuration that keeps the initial content of these buffers."""
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    return ExecutorchBackendConfig(passes=[InitializedMutableBufferPass(list(names))], **options)


class Cache(Module):
    """Attention over a cache that each run writes at one position."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("keys", torch.randn(1, 2, 16, 8))
        self.register_buffer("values", torch.randn(1, 2, 16, 8))
        self.query, self.key, self.value = (nn.Linear(16, 16) for _ in range(3))
        self.last = nn.Sequential(nn.Linear(16, 64), nn.Softplus(), nn.Linear(64, 16))

    def forward(self, x: Any, position: Any) -> Any:
        q, k, v = (
            f(x).view(1, 1, 2, 8).transpose(1, 2) for f in (self.query, self.key, self.value)
        )
        self.keys.index_copy_(2, position, k)
        self.values[:, :, position] = v
        weights = torch.softmax(q @ self.keys.transpose(2, 3), -1)
        return self.last((weights @ self.values).transpose(1, 2).reshape(1, 16))


def decode(runs: int = 5) -> list[Call]:
    """Runs at positions 0, 1, 2, …, then the first ones once more."""
    calls = random_calls(torch.zeros(1, 16), runs=2 * runs)
    return [forward(c.inputs[0], torch.tensor([k % runs])) for k, c in enumerate(calls)]


CACHE_INPUTS = (torch.zeros(1, 16), torch.zeros(1, dtype=torch.int64))


@BACKENDS
def test_cache_without_initial_state(program: Program, backend: Any) -> None:
    stock = program(lambda: lower(Cache(), CACHE_INPUTS, partitioners=backend))
    checked = check(stock, decode())
    assert checked.method.state_bytes == 2 * 4 * 2 * 16 * 8


@BACKENDS
def test_cache_with_initial_state(program: Program, backend: Any) -> None:
    config = initialised("keys", "values")
    stock = program(lambda: lower(Cache(), CACHE_INPUTS, partitioners=backend, config=config))
    torch.manual_seed(0)
    checked = check(stock, decode(), same_as=Cache())
    assert checked.method.state_bytes == 2 * 4 * 2 * 16 * 8


def test_one_buffer_with_initial_state_and_one_without(program: Program) -> None:
    config = initialised("values")
    stock = program(lambda: lower(Cache(), CACHE_INPUTS, config=config))
    check(stock, decode())


class Counter(Module):
    """A buffer that is read before and after it is written."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.ones(8, 32))

    def forward(self, x: Any) -> Any:
        before = self.total.cumsum(0)
        self.total.add_(x.cumsum(1))
        after = softplus(self.total.cumsum(0))
        return before.cumsum(1), after + before


@BACKENDS
@pytest.mark.parametrize("state", ["fresh", "initialised"])
def test_buffer_read_then_written(program: Program, backend: Any, state: str) -> None:
    config = initialised("total") if state == "initialised" else None
    inputs = (torch.zeros(8, 32),)
    stock = program(lambda: lower(Counter(), inputs, partitioners=backend, config=config))
    reference = Counter() if state == "initialised" else None
    checked = check(stock, random_calls(*inputs, runs=5), same_as=reference)
    assert checked.method.state_bytes == 8 * 32 * 4
    same = checked.outputs[0][0]
    assert difference([(same,)], [(checked.outputs[1][0],)]) is not None, "nothing survived"


def test_views_of_views_of_state(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("kept", torch.zeros(8, 32))

        def forward(self, x: Any) -> Any:
            flat = self.kept.view(-1)
            old = flat.view(4, 64).cumsum(0)
            self.kept.copy_((flat.view(32, 8).cumsum(0).view(8, 32) + x).cumsum(0) * 0.1)
            return old.cumsum(0), flat.view(2, 128).cumsum(1), flat.view(16, 16)

    inputs = (torch.zeros(8, 32),)
    stock = program(lambda: lower(Net(), inputs, partitioners=portable))
    check(stock, random_calls(*inputs, runs=5), same_as=Net())


def test_written_but_never_read(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("seen", torch.zeros(8, 32))

        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            self.seen.copy_(y)
            z = y
            for _ in range(4):
                z = softplus(z).cumsum(1)
            return z

    inputs = (torch.zeros(8, 32),)
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs), same_as=Net())


def test_written_at_the_end_read_at_the_start(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("last", torch.zeros(8, 32))
            self.mix = nn.Linear(32, 32)

        def forward(self, x: Any) -> Any:
            y = softplus(self.mix(self.last))
            z = softplus(self.mix(y + x))
            self.last.copy_(z * 0.5)
            return (z.cumsum(0) + y).relu()

    inputs = (torch.zeros(8, 32),)
    net = Net()
    stock = program(lambda: lower(net, inputs))
    check(stock, random_calls(*inputs, runs=5))


def test_state_updated_inside_a_delegate(program: Program) -> None:
    """All of it in XNNPACK: the buffer is the delegate's argument, and a copy follows."""

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("smooth", torch.zeros(1, 4, 16, 16))
            self.first = nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x: Any) -> Any:
            y = self.first(x) + self.smooth
            self.smooth.copy_(self.smooth * 0.5 + y * 0.5)
            return self.first(y.relu())

    inputs = (torch.zeros(1, 4, 16, 16),)
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs, runs=5))


def test_two_buffers_swapped(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("a", torch.zeros(8, 32))
            self.register_buffer("b", torch.ones(8, 32))

        def forward(self, x: Any) -> Any:
            old_a, old_b = self.a.clone(), self.b.clone()
            self.a.copy_(old_b + x)
            self.b.copy_(old_a.cumsum(0) * 0.5)
            return self.a.cumsum(0), self.b.cumsum(1)

    inputs = (torch.zeros(8, 32),)
    stock = program(lambda: lower(Net(), inputs, config=initialised("a", "b")))
    check(stock, random_calls(*inputs, runs=5), same_as=Net())


def test_mutated_input(program: Program) -> None:
    """The exporter copies the new content into the caller's input at the end."""

    class Net(Module):
        def forward(self, x: Any, out: Any) -> Any:
            y = x.cumsum(0)
            out.add_(y)
            return (y.cumsum(1) + out).cumsum(0)

    inputs = (torch.zeros(8, 32), torch.zeros(8, 32))
    stock = program(lambda: lower(Net(), inputs, partitioners=portable))
    check(stock, random_calls(*inputs), same_as=lambda x, y: (z := y.clone(), Net()(x, z)))


def test_state_beside_a_branch(program: Program) -> None:
    """The result of a branch is a handle, whose own memory is free: but not to lie in state."""

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("small", torch.zeros(4, 16))
            self.register_buffer("large", torch.zeros(16, 32))

        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            self.small.mul_(0.5).add_(y)
            z = torch.cond(x.sum() > 0, lambda t: t.cumsum(0), lambda t: t.cumsum(1), (y,)) + y
            wide = torch.cat([z, z], 1).repeat(4, 1).cumsum(0)
            self.large.mul_(0.5).add_(wide)
            return self.large.cumsum(1), self.small.cumsum(0)

    inputs = (torch.zeros(4, 16),)
    stock = program(lambda: lower(Net(), inputs, partitioners=portable))
    check(stock, random_calls(*inputs, runs=6))


class InPlace(Module):
    """Updates that the exporter may do where the operand is."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("kept", torch.zeros(16, 32))

    def forward(self, x: Any, rows: Any) -> Any:
        y = x.cumsum(0)
        self.kept.index_put_((rows,), y)
        z = torch.index_put(y.cumsum(1), (rows.clamp(0, 3),), x)
        low = torch.minimum(torch.softmax(z.cumsum(0), 1).cumsum(1), y)
        return (self.kept.cumsum(0) * 0.5).relu(), z.view(-1).cumsum(0), low.cumsum(0)


def test_in_place_operators(program: Program) -> None:
    """`run_reinplace_pass`: operators whose names end in `_`."""
    config = ExecutorchBackendConfig(run_reinplace_pass=True)
    inputs = (torch.zeros(4, 32), torch.zeros(4, dtype=torch.int64))
    stock = program(lambda: lower(InPlace(), inputs, partitioners=portable, config=config))
    check(stock, random_calls(*inputs, runs=5, high=16))


@NEEDS_1_5
def test_outputs_placed_over_inputs(program: Program) -> None:
    """The same pass, for operators without such a name: the output gets its operand's offset."""
    from executorch.exir.dialects._ops import ops

    aten = ops.edge.aten
    extra = {aten.minimum.default, aten._softmax.default, aten.index_put.default}
    config = ExecutorchBackendConfig(run_reinplace_pass=True, reinplace_extra_ops=frozenset(extra))
    inputs = (torch.zeros(4, 32), torch.zeros(4, dtype=torch.int64))
    stock = program(lambda: lower(InPlace(), inputs, partitioners=portable, config=config))
    check(stock, random_calls(*inputs, runs=5, high=16))


class InsideBase:
    """A pass that puts every slice of rows where it lies inside its operand."""

    def __init__(self, row_bytes: int) -> None:
        self.row_bytes, self.placed = row_bytes, 0

    def __call__(self, graph_module: Any) -> Any:
        from torch.fx.passes.infra.pass_base import PassResult

        for node in graph_module.graph.nodes:
            if "slice_copy" in str(node.target):
                node.meta["_share_alloc_with_arg_idx"] = 0
                node.meta["_shared_alloc_offset"] = node.args[2] * self.row_bytes
                self.placed += 1
        return PassResult(graph_module, True)


@NEEDS_1_5
def test_tensors_inside_others(program: Program) -> None:
    """`_share_alloc_with_arg_idx` with an offset: the slices are copied onto themselves."""

    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            upper, lower_ = y[2:6], y[4:]
            z = upper.cumsum(0)
            return (z + lower_).cumsum(1), y.cumsum(1), lower_.view(-1).cumsum(0)

    inputs = (torch.zeros(8, 32),)
    inside = InsideBase(32 * 4)
    config = ExecutorchBackendConfig(passes=[inside])
    stock = program(lambda: lower(Net(), inputs, partitioners=portable, config=config))
    check(stock, random_calls(*inputs), same_as=Net(), sound=False)


def test_state_that_the_caller_owns(program: Program) -> None:
    """`alloc_mutable_buffers=False`: the buffer is not planned, and the runtime cannot run it."""
    from executorch.exir.passes import MemoryPlanningPass

    config = ExecutorchBackendConfig(
        memory_planning_pass=MemoryPlanningPass(alloc_mutable_buffers=False),
        emit_mutable_buffer_names=True,
    )
    stock = program(lambda: lower(Counter(), (torch.zeros(8, 32),), config=config))
    optimize_and_verify(stock, stock.with_suffix(".small.pte"))
