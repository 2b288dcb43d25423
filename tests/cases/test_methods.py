"""Several methods in one file, methods of constants, and what memory planning can be asked for."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from executorch.exir import ExecutorchBackendConfig
from torch import nn
from torch.nn.functional import softplus

from onearena.pte import open_pte
from onearena.pte.schema import ExecutionPlan, Tensor
from tests.cases.checking import check
from tests.cases.conftest import Program
from tests.cases.lowering import NEEDS_1_5, Method, Module, lower, lower_methods, planned, portable
from tests.cases.running import Call, difference, random_calls


class Convs(Module):
    """Delegate calls around kernels."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, channels, 3, padding=1)
        self.second = nn.Conv2d(channels, channels, 3, padding=1)
        self.third = nn.Conv2d(channels, 4, 1)

    def forward(self, x: Any) -> Any:
        y = softplus(self.second(self.first(x).relu()))
        return self.third(y + y.cumsum(2)), y


X = torch.zeros(1, 4, 16, 16)


def interleaved(*names: str, runs: int = 3) -> list[Call]:
    """Runs of several methods in turn."""
    each = [random_calls(X, method=name, runs=runs, seed=k) for k, name in enumerate(names)]
    return [call for calls in zip(*each, strict=True) for call in calls]


def test_two_methods_in_turn(program: Program) -> None:
    methods = {"small": Method(Convs(4), (X,)), "large": Method(Convs(16), (X,))}
    checked = check(program(lambda: lower_methods(methods)), interleaved("small", "large"))
    assert {m.name for m in checked.report.methods} == {"small", "large"}
    assert all(m.after != m.before for m in checked.report.methods)


def test_methods_that_share_payloads(program: Program) -> None:
    """The same module twice: the exporter stores each payload once."""

    def make() -> bytes:
        net = Convs()
        return lower_methods({"one": Method(net, (X,)), "two": Method(net, (X,))})

    check(program(make), interleaved("one", "two"))


def test_only_one_method_improves(program: Program) -> None:
    methods = {"plain": Method(nn.Softplus(), (X,)), "deep": Method(Convs(16), (X,))}
    checked = check(program(lambda: lower_methods(methods)), interleaved("plain", "deep"))
    by_name = {m.name: m for m in checked.report.methods}
    assert by_name["plain"].after == by_name["plain"].before
    assert by_name["deep"].after != by_name["deep"].before


def test_methods_of_constants(program: Program) -> None:
    constants = {"count": 42, "rate": 1.5, "flag": True, "table": torch.arange(12.0)}
    methods = {"forward": Method(Convs(), (X,))}
    stock = program(lambda: lower_methods(methods, constants=constants))
    calls = random_calls(X) + [Call(name, ()) for name in constants]
    checked = check(stock, calls)
    assert checked.outputs[3:6] == [(42,), (1.5,), (True,)]


class Shared(Module):
    """State that one method writes and another reads."""

    def __init__(self, kept: nn.Module, writes: bool) -> None:
        super().__init__()
        self.kept, self.writes = kept, writes
        self.mix = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        y = softplus(self.mix(x))
        if self.writes:
            self.kept.memory.copy_(y + x)
            return self.mix(y.cumsum(2))
        z = self.mix(self.kept.memory.cumsum(3) + y)
        self.kept.other.add_(z)
        return softplus(z) + self.kept.other


class Kept(Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("memory", torch.zeros(1, 4, 16, 16))
        self.register_buffer("other", torch.zeros(1, 4, 16, 16))

    def forward(self) -> None:
        """Nothing."""


def test_state_shared_by_methods(program: Program) -> None:
    def make() -> bytes:
        kept = Kept()
        methods = {
            "write": Method(Shared(kept, True), (X,)),
            "read": Method(Shared(kept, False), (X,)),
        }
        return lower_methods(methods, config=planned(share_mutable_buffers=True))

    checked = check(program(make), interleaved("write", "read", runs=4))
    assert checked.saved_bytes > 0
    same = random_calls(X, method="read", runs=1) * 2
    from tests.cases.running import play

    alone, again = play(checked.small, same)
    assert difference([alone], [again]) is not None, "nothing survived"


IO = [(a, b) for a in (True, False) for b in (True, False)]


@pytest.mark.parametrize(("inputs", "outputs"), IO)
def test_partly_planned_inputs_and_outputs(program: Program, inputs: bool, outputs: bool) -> None:
    config = planned(alloc_graph_input=inputs, alloc_graph_output=outputs)
    stock = program(lambda: lower(Convs(), (X,), config=config))
    checked = check(stock, random_calls(X))
    assert checked.saved_bytes > 0


def test_unplanned_views(program: Program) -> None:
    """Views of unplanned inputs, and unplanned outputs that are views."""

    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.view(-1, 64)
            z = y.cumsum(0)
            return z.view(-1), (z.view(16, -1) + x.view(16, -1)).cumsum(0), x.view(-1)

    config = planned(alloc_graph_input=False, alloc_graph_output=False)
    stock = program(lambda: lower(Net(), (X,), config=config, partitioners=portable))
    check(stock, random_calls(X), same_as=Net())


def by_size(limit: int) -> Any:
    """A planning algorithm that first sends tensors to arenas 1, 2 and 3."""
    from executorch.exir.memory_planning import greedy

    def two_banks(
        alignment: int, specs: Any, graph_module: Any, graph_signature: Any, extra_padding: int = 0
    ) -> Any:
        ordered = sorted(specs, key=lambda s: (s.allocated_memory, tuple(s.shape)))
        for number, spec in enumerate(ordered):
            spec.mem_id = 1 if spec.allocated_memory > limit else 2 + number % 2
        return greedy(alignment, specs, graph_module, graph_signature, extra_padding)

    return two_banks


@pytest.mark.parametrize("limit", [4096, 100_000])
def test_several_arenas(program: Program, limit: int) -> None:
    from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite

    config = planned(memory_planning_algo=MemoryPlanningAlgorithmSuite([by_size(limit)]))
    stock = program(lambda: lower(Convs(16), (X,), config=config))
    checked = check(stock, random_calls(X))
    with open_pte(checked.stock) as old, open_pte(checked.small) as new:
        (before,), (after,) = old.program.execution_plan or (), new.program.execution_plan or ()
        assert len(before.non_const_buffer_sizes or ()) == 4
        assert _arenas(before) == _arenas(after)[: len(_arenas(before))]


def _arenas(plan: ExecutionPlan) -> list[int | None]:
    """By value, the arena it lives in."""
    tensors = [value.val for value in plan.values or ()]
    return [
        t.allocation_info.memory_id if isinstance(t, Tensor) and t.allocation_info else None
        for t in tensors
    ]


@NEEDS_1_5
def test_banked_memory(program: Program) -> None:
    """The exporter's own planner for targets with fast and slow memory."""
    from executorch.exir import banked_memory_planning as banked

    memory = banked.TargetMemoryMap(
        [banked.Bank("fast", 20_000, 1), banked.Bank("slow", 1_000_000, 2)]
    )
    planning = banked.banked_memory_planning_pass(memory)
    config = ExecutorchBackendConfig(memory_planning_pass=planning)
    stock = program(lambda: lower(Convs(16), (X,), config=config))
    check(stock, random_calls(X))


def test_aligned_coarsely(program: Program) -> None:
    stock = program(lambda: lower(Convs(), (X,), config=planned(alignment=512)))
    assert check(stock, random_calls(X)).saved_bytes > 0


def test_payloads_inside_the_flatbuffer(program: Program) -> None:
    config = ExecutorchBackendConfig(extract_delegate_segments=False)
    stock = program(lambda: lower(Convs(), (X,), config=config))
    assert check(stock, random_calls(X)).saved_bytes > 0


def test_stack_traces_and_other_segments_survive(program: Program) -> None:

    config = ExecutorchBackendConfig(emit_stacktrace=True, segment_alignment=4096)
    net = nn.Sequential(nn.Conv2d(4, 8, 3), nn.ReLU(), nn.Conv2d(8, 8, 3), nn.Sigmoid())
    stock = program(lambda: lower(net, (X,), config=config))
    checked = check(stock, random_calls(X))
    with open_pte(checked.stock) as old, open_pte(checked.small) as new:
        chains = [(f.program.execution_plan or ())[0].chains or () for f in (old, new)]
        assert chains[0][0].stacktrace == chains[1][0].stacktrace
