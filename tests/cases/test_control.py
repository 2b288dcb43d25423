"""Branches and loops, as the exporter writes them."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.map import map as torch_map
from torch._higher_order_ops.scan import scan
from torch.nn.functional import softplus

from onearena.pipeline import verify
from tests.cases.checking import Checked, check
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, portable, xnnpack
from tests.cases.running import Call, difference, forward, play, random_calls

BACKENDS = pytest.mark.parametrize("backend", [portable, xnnpack])


class Block(Module):
    """Convolutions with a graph break: two delegate calls and kernels between them."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        return self.second(softplus(self.first(x)) * 2)


def both_ways(*examples: Any) -> list[Call]:
    """Runs with sums of both signs, in an order that takes each branch after each other one."""
    calls = []
    for call in random_calls(*examples, runs=5):
        x, *rest = call.inputs
        calls += [forward(x.abs(), *rest), forward(-x.abs() - 1, *rest)]
    return calls[:6] + calls[7:]


def branches(
    program: Program, net: nn.Module, backend: Any, *inputs: Any, close: bool = True
) -> Checked:
    stock = program(lambda: lower(net, inputs, partitioners=backend))
    checked = check(stock, both_ways(*inputs), same_as=net.eval() if close else None)
    assert difference(checked.outputs[:1], checked.outputs[1:2]) is not None
    return checked


@BACKENDS
def test_both_branches(program: Program, backend: Any) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.before, self.yes, self.no, self.after = (Block() for _ in range(4))

        def forward(self, x: Any) -> Any:
            y = self.before(x)
            z = torch.cond(x.sum() > 0, lambda a: self.yes(a), lambda a: self.no(a) + a, (y,))
            return self.after(z) + y

    checked = branches(program, Net(), backend, torch.zeros(1, 4, 16, 16))
    if backend is xnnpack:
        assert checked.saved_bytes > 0


@BACKENDS
def test_branches_in_sequence(program: Program, backend: Any) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c, self.d = (Block() for _ in range(4))

        def forward(self, x: Any) -> Any:
            y = torch.cond(x.sum() > 0, lambda t: self.a(t), lambda t: self.b(t), (x,)).cumsum(2)
            z = torch.cond(y.sum() > 0, lambda t: self.c(t) * 2, lambda t: t.cumsum(2), (y,)) + y
            return z.cumsum(3) + y, torch.cond(
                x.max() > 1, lambda t, u: self.d(t) + u, lambda t, u: t - u, (z, y)
            )

    branches(program, Net(), backend, torch.zeros(1, 4, 16, 16))


@BACKENDS
def test_nested_branches(program: Program, backend: Any) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.a, self.b, self.c, self.d = (Block() for _ in range(4))

        def forward(self, x: Any) -> Any:
            def inner(t: Any, u: Any) -> Any:
                return torch.cond(
                    u.sum() > 30, lambda v, w: self.a(v) + w, lambda v, w: self.b(w) - v, (t, u)
                )

            def outer(t: Any, u: Any) -> Any:
                v = torch.cond(
                    u.sum() > -30, lambda w: self.c(w).cumsum(2), lambda w: self.d(w), (t,)
                )
                return v.cumsum(3) + u

            y = x.cumsum(2)
            return torch.cond(x.sum() > 0, inner, outer, (y, x)) + y

    stock = program(lambda: lower(Net(), (torch.zeros(1, 4, 8, 8),), partitioners=backend))
    calls = both_ways(torch.zeros(1, 4, 8, 8))
    calls += [forward(call.inputs[0] / 100) for call in calls]
    check(stock, calls)


def test_branch_that_returns_its_input(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            z = torch.cond(x.sum() > 0, lambda t: t.clone(), lambda t: t.cumsum(1), (y,))
            return z.cumsum(0), y.cumsum(1)

    branches(program, Net(), portable, torch.zeros(16, 16))


def test_result_of_a_branch_overwritten_by_the_exporter(program: Program) -> None:
    """A bug of ExecuTorch's planner (pytorch/executorch#21490): branches of a second `cond` get
    memory that still holds the result of the first one. Such a file is not safe as it stands."""

    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            z = torch.cond(x.sum() > 0, lambda t: t.clone(), lambda t: t.cumsum(1), (y,))
            w = z.cumsum(0)
            v = torch.cond(x.max() > 1, lambda s, t: s.cumsum(0), lambda s, t: t.clone(), (w, z))
            return v.cumsum(0), y.cumsum(1), z

    net, inputs = Net(), (torch.zeros(16, 16),)
    stock = program(lambda: lower(net, inputs, partitioners=portable))
    call = random_calls(*inputs, runs=1)
    (outputs,) = play(stock, call)
    assert not torch.allclose(outputs[2], net(*call[0].inputs)[2]), "ExecuTorch has been fixed"
    assert "overlap" in {violation.kind for violation in verify(stock).violations}


def test_branches_with_several_results(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)

            def swap(s: Any, t: Any) -> Any:
                return t.cumsum(0), s.cumsum(0), s.view(-1).cumsum(0)

            def keep(s: Any, t: Any) -> Any:
                u = s.cumsum(1).cumsum(0)
                return u.cumsum(0), t.cumsum(1), (t - u).view(-1).cumsum(0)

            a, b, c = torch.cond(x.sum() > 0, swap, keep, (x, y))
            return a.cumsum(0) + b, c, y.cumsum(0)

    branches(program, Net(), portable, torch.zeros(16, 16))


def test_branches_with_views(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            flat = y.view(-1)
            z = torch.cond(
                x.sum() > 0,
                lambda t: t.cumsum(0).view(4, -1).cumsum(1).view(-1),
                lambda t: t.view(8, -1).cumsum(1).cumsum(0).view(-1),
                (flat,),
            )
            w = z + 1
            return w.view(2, -1).cumsum(1), w.view(16, 16).cumsum(0) + y

    branches(program, Net(), portable, torch.zeros(16, 16))


def test_view_of_a_handle(program: Program) -> None:
    """A bug of ExecuTorch's emitter: the elided view lies over memory that the handle left, so
    it holds whatever was there before, be it from an earlier run: that is read like state.
    Such a file is not safe as it stands."""

    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0).view(-1)
            z = torch.cond(x.sum() > 0, lambda t: t.cumsum(0), lambda t: t * 2 + t, (y,))
            return z.view(2, -1).cumsum(1), z.view(16, 16).cumsum(0) + x.cumsum(1)

    stock = program(lambda: lower(Net(), (torch.zeros(16, 16),), partitioners=portable))
    assert {violation.kind for violation in verify(stock).violations} == {"overlap", "state"}


def test_predicate_from_outside_and_constant_result(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any, flag: Any) -> Any:
            y = x.cumsum(0)
            z = torch.cond(flag, lambda t: t.cumsum(1), lambda t: torch.zeros_like(t) + 3, (y,))
            return z.cumsum(0), y

    inputs = (torch.zeros(16, 16), torch.tensor(True))
    stock = program(lambda: lower(Net(), inputs, partitioners=portable))
    calls = [
        forward(call.inputs[0], torch.tensor(flag))
        for call, flag in zip(random_calls(*inputs, runs=5), [1, 0, 0, 1, 0], strict=True)
    ]
    calls = [forward(call.inputs[0], call.inputs[1].bool()) for call in calls]
    check(stock, calls, same_as=Net())


@BACKENDS
def test_map(program: Program, backend: Any) -> None:
    class Net(Module):
        def forward(self, x: Any, y: Any) -> Any:
            before = x.cumsum(0)

            def step(row: Any, other: Any) -> Any:
                return softplus(row.cumsum(0) * other).cumsum(0) + other.cumsum(0)

            return torch_map(step, before, y).cumsum(0) + before, y.cumsum(0)

    inputs = (torch.zeros(6, 8, 16), torch.zeros(8, 16))
    net = Net()
    stock = program(lambda: lower(net, inputs, partitioners=backend))
    check(stock, random_calls(*inputs), same_as=net)


@BACKENDS
def test_loop_with_two_carried_tensors(program: Program, backend: Any) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = nn.Linear(16, 16)

        def forward(self, x: Any, first: Any, second: Any) -> Any:
            a, b = first.cumsum(0), second.cumsum(0)

            def step(carried: tuple[Any, Any], row: Any) -> Any:
                s, t = carried
                u = softplus(self.mix(s)) * 0.5 + row.cumsum(0)
                v = t + u.cumsum(1) * 0.01
                return (v.clone(), u.clone()), v.cumsum(0)

            (s, t), rows = scan(step, (a, b), x, dim=0)
            return s.cumsum(0), t.cumsum(0) + a, rows.cumsum(0)

    inputs = (torch.zeros(5, 4, 16), torch.zeros(4, 16), torch.zeros(4, 16))
    stock = program(lambda: lower(Net(), inputs, partitioners=backend))
    check(stock, random_calls(*inputs, runs=4))


def test_branch_inside_a_loop(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any, first: Any) -> Any:
            start = first.cumsum(0)

            def step(carried: Any, row: Any) -> Any:
                moved = torch.cond(
                    row.sum() > 0,
                    lambda s, r: (s + r).cumsum(0) * 0.1,
                    lambda s, r: (s - r.cumsum(0)).cumsum(1) * 0.1,
                    (carried, row),
                )
                return moved.clone(), moved.cumsum(0)

            last, rows = scan(step, start, x, dim=0)
            return last.cumsum(0), rows, start

    inputs = (torch.zeros(6, 4, 16), torch.zeros(4, 16))
    stock = program(lambda: lower(Net(), inputs, partitioners=portable))
    check(stock, random_calls(*inputs, runs=4))


def test_dynamic_branch(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            z = torch.cond(x.sum() > 0, lambda t: t.cumsum(1), lambda t: t * 2 + t, (y,))
            return z.view(-1, 2).cumsum(0), y

    batch = torch.export.Dim("batch", min=2, max=32)
    inputs = (torch.zeros(8, 16),)
    stock = program(lambda: lower(Net(), inputs, dynamic=({0: batch},), partitioners=portable))
    calls = [c for n in (32, 2, 17) for c in both_ways(torch.zeros(n, 16))[:4]]
    check(stock, calls, same_as=Net())
