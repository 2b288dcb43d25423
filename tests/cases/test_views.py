"""Views: tensors that nothing in the program says are the memory of another."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from executorch.exir import ExecutorchBackendConfig
from torch import nn
from torch.nn.functional import relu, softplus

from tests.cases.checking import check
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, planned, portable, xnnpack
from tests.cases.running import random_calls


class Between(Module):
    """Kernels with views between them, each read after other memory could have taken its place."""

    def forward(self, x: Any) -> Any:
        first = torch.cumsum(x, 1)  # cumsum: not for XNNPACK
        flat = first.view(-1, 64)
        second = torch.cumsum(flat, 0).view(4, 16, -1)
        third = torch.cumsum(second, 2)
        return torch.cumsum(third.view(-1), 0) + second.reshape(-1), flat.unsqueeze(0)


@pytest.mark.parametrize("views", ["elided", "copied"])
@pytest.mark.parametrize("backend", [portable, xnnpack])
def test_views_between_kernels(program: Program, views: str, backend: Any) -> None:
    inputs = (torch.zeros(4, 8, 128),)
    config = ExecutorchBackendConfig(remove_view_copy=views == "elided")
    stock = program(lambda: lower(Between(), inputs, partitioners=backend, config=config))
    check(stock, random_calls(*inputs), same_as=Between())


class Delegated(Module):
    """Views on both sides of delegate calls: some inside the payload, some outside."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 8, 3, padding=1)
        self.second = nn.Linear(64, 64)
        self.third = nn.Conv2d(8, 4, 1)

    def forward(self, x: Any) -> Any:
        a = softplus(self.first(x))
        b = self.second(a.view(8, -1, 64))
        c = softplus(b.view(1, 8, 32, 32))
        return self.third(c + a).view(-1), a.flatten(1)


def test_views_around_delegates(program: Program) -> None:
    inputs = (torch.zeros(1, 4, 32, 32),)
    checked = check(
        program(lambda: lower(Delegated(), inputs)), random_calls(*inputs), same_as=None
    )
    assert checked.saved_bytes > 0


def test_views_of_inputs_become_outputs(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any, y: Any) -> Any:
            once = x.view(8, 2, 16)
            return once, once.view(-1), softplus(y).view(-1), y

    inputs = (torch.zeros(16, 16), torch.zeros(4, 64))
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs), same_as=Net())


def test_one_tensor_returned_twice(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = softplus(x)
            z = torch.cumsum(y, 0)
            return y, y, z, y.view(-1), z

    inputs = (torch.zeros(16, 64),)
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs), same_as=Net())


def test_input_returned_and_overwritten_nowhere(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x
            for _ in range(4):
                y = torch.cumsum(softplus(y), 0)
            return x, y

    inputs = (torch.zeros(16, 64),)
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs), same_as=Net())


def test_identity(program: Program) -> None:
    inputs = (torch.zeros(16, 64),)
    check(program(lambda: lower(nn.Identity(), inputs)), random_calls(*inputs))


def test_dynamic_views(program: Program) -> None:
    """`et_view` at run time, chained, and as a method's output."""

    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = torch.cumsum(x, 0)
            flat = y.view(-1, 4)
            again = flat.view(y.shape[0], 8, 4)
            z = torch.cumsum(flat, 0)
            return again, (softplus(z).view(-1) + again.reshape(-1)).view(-1, 2, 2)

    batch = torch.export.Dim("batch", min=2, max=64)
    example = torch.zeros(16, 32)
    stock = program(lambda: lower(Net(), (example,), dynamic=({0: batch},), partitioners=portable))
    calls = [c for n in (64, 2, 37, 64, 5) for c in random_calls(torch.zeros(n, 32), runs=1)]
    check(stock, calls, same_as=Net())


def test_dynamic_views_around_delegates(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.mix = nn.Linear(16, 32)

        def forward(self, x: Any) -> Any:
            y = softplus(self.mix(x.view(-1, 16)))
            return relu(softplus(y.view(x.shape[0], -1)) * 2), y.view(-1)

    batch = torch.export.Dim("batch", min=2, max=64)
    net = Net()
    stock = program(lambda: lower(net, (torch.zeros(16, 32),), dynamic=({0: batch},)))
    calls = [c for n in (64, 2, 37, 64, 5) for c in random_calls(torch.zeros(n, 32), runs=1)]
    check(stock, calls)


def test_many_dimensions(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = torch.cumsum(x, 3)
            wide = y.view(2, 2, 2, 2, 2, 2, 2, 2, 2, 2)
            turned = torch.cumsum(wide.permute(9, 8, 7, 6, 5, 4, 3, 2, 1, 0), 4)
            return turned.reshape(2, -1), softplus(turned + wide)

    inputs = (torch.zeros(4, 4, 4, 16),)
    stock = program(lambda: lower(Net(), inputs, partitioners=portable))
    check(stock, random_calls(*inputs), same_as=Net())


def test_nothing_reused_by_the_exporter(program: Program) -> None:
    """The naive planner gives every tensor its own place; views still lie in their bases."""
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, naive

    inputs = (torch.zeros(4, 8, 128),)
    config = planned(memory_planning_algo=MemoryPlanningAlgorithmSuite([naive]))
    stock = program(lambda: lower(Between(), inputs, config=config))
    checked = check(stock, random_calls(*inputs), same_as=Between())
    assert checked.saved_bytes > 0


def test_slices_and_squeezes(program: Program) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = torch.cumsum(x, 1)
            rows = y[1:3]
            one = y[2].unsqueeze(0).unsqueeze(-1)
            z = torch.cumsum(rows.squeeze(0), 0)
            return z.view(-1)[:64], one.squeeze(-1), torch.cumsum(y.select(0, 1).view(-1), 0)

    inputs = (torch.zeros(4, 8, 64),)
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs), same_as=Net())


def test_no_inputs_but_views_of_constants(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.table = nn.Parameter(torch.randn(8, 32))

        def forward(self, x: Any) -> Any:
            return (
                self.table.view(-1),
                self.table.view(16, 16),
                torch.cumsum(self.table.view(16, 16), 0) + softplus(x),
            )

    inputs = (torch.zeros(16, 16),)
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs))
