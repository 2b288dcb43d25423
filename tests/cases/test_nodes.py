"""What XNNPACK calls may hold: every kind of node, and the rewrites that XNNPACK applies."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn.functional import softplus

from tests.cases.checking import check
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, xnnpack, xnnpack_per_op
from tests.cases.nets import NETS
from tests.cases.running import random_calls

OPENED = {"pads", "unaries", "binaries", "products", "reductions", "convolutions", "residuals"}
"""Networks whose calls hold enough to gain something."""


@pytest.mark.parametrize("name", NETS)
def test_network(program: Program, name: str) -> None:
    make, inputs = NETS[name]
    checked = check(program(lambda: lower(make(), inputs)), random_calls(*inputs))
    if name in OPENED:
        assert checked.method.opened_calls > 0
        assert checked.saved_bytes > 0


@pytest.mark.parametrize("name", ["unaries", "binaries", "shapes", "straight"])
def test_payloads_of_one_node(program: Program, name: str) -> None:
    """Nothing to open, but the arena is planned anew around what each call really reads."""
    make, inputs = NETS[name]
    stock = program(lambda: lower(make(), inputs, partitioners=xnnpack_per_op))
    check(stock, random_calls(*inputs))


def test_arg_max_has_an_int64_output(program: Program) -> None:
    """Its index is 32 bits wide inside XNNPACK and widened in place after the call."""

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(4, 8, 3, padding=1)

        def forward(self, x: Any) -> Any:
            y = self.conv(x)
            value, where = torch.max(y, 2, keepdim=True)
            other, place = torch.max(y.relu(), 3, keepdim=True)
            return value.relu(), where, softplus(other), place + 1, y

    inputs = (torch.zeros(1, 4, 16, 16),)
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs))


def test_channels_last(program: Program) -> None:
    """The caller's layout is NHWC: no transposes at the edges of the calls."""

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

        def forward(self, x: Any) -> Any:
            y = softplus(self.first(x).relu())
            z = self.second(y).to(memory_format=torch.channels_last)
            return (self.first(z) + y).relu(), z

    example = torch.zeros(1, 4, 16, 16).to(memory_format=torch.channels_last)
    check(program(lambda: lower(Net(), (example,))), random_calls(example))


def test_half_precision_stays_closed(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

        def forward(self, x: Any) -> Any:
            y = self.second(self.first(x).relu())
            return (y.cumsum(2) + y.cumsum(3)).cumsum(2)

    inputs = (torch.zeros(1, 4, 16, 16, dtype=torch.float16),)
    checked = check(program(lambda: lower(Net().half(), inputs)), random_calls(*inputs))
    assert checked.method.opened_calls == 0
    assert any("fp16 values" in note for note in checked.method.notes)


def test_half_and_single_precision_in_one_program(program: Program) -> None:
    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.narrow = nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 4, 3)).half()
            self.wide = nn.Sequential(nn.Conv2d(4, 8, 3), nn.Sigmoid(), nn.Conv2d(8, 4, 3))

        def forward(self, x: Any) -> Any:
            y = softplus(self.wide(x))
            z = self.narrow(y.cumsum(2).to(torch.float16))
            return self.wide(softplus(z.to(torch.float32)))

    inputs = (torch.zeros(1, 4, 24, 24),)
    checked = check(program(lambda: lower(Net(), inputs)), random_calls(*inputs))
    assert 0 < checked.method.opened_calls < checked.method.delegate_calls
    assert any("fp16 values" in note for note in checked.method.notes)


def test_one_output_is_the_other_ones_operand(program: Program) -> None:
    """An output of the call that later nodes of the call read."""

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.convs = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in range(4))

        def forward(self, x: Any) -> Any:
            made = []
            for conv in self.convs:
                x = conv(x).relu()
                made.append(x)
            return made[1], made[0], made[3], made[2] + made[0]

    inputs = (torch.zeros(1, 4, 16, 16),)
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs))


def test_calls_in_a_row_without_kernels(program: Program) -> None:
    """Two partitioners: the output of one call is only read by the next one."""

    def twice() -> list[Any]:
        return [*xnnpack_per_op(), *xnnpack()]

    make, inputs = NETS["residuals"]
    check(program(lambda: lower(make(), inputs, partitioners=twice)), random_calls(*inputs))


def test_rank_zero_arguments(program: Program) -> None:
    """XNNPACK's payload says that they have one dimension; at run time they have none."""

    class Net(Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(4, 4, 3, padding=1)

        def forward(self, x: Any, scale: Any, shift: Any) -> Any:
            small = (scale.sigmoid() + shift.relu()).tanh()
            y = self.conv(x * small).relu() + small * scale
            return softplus(y), small, self.conv(y - shift.abs())

    inputs = (torch.zeros(1, 4, 16, 16), torch.zeros(()), torch.zeros(()))
    check(program(lambda: lower(Net(), inputs)), random_calls(*inputs))
