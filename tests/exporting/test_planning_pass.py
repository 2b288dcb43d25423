"""The planner inside ExecuTorch's memory planning: as its pass, and in its suite of algorithms."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.exir import ExecutorchBackendConfig
from executorch.exir.memory_planning import MemoryPlanningAlgorithmSuite, greedy
from executorch.exir.passes import MemoryPlanningPass as StockPass
from executorch.exir.tensor import TensorSpec

import onearena
from onearena import MemoryPlanningPass, planning_algorithm
from onearena.errors import PlanError
from tests.cases.lowering import quiet
from tests.cases.running import difference, forward, play
from tests.exporting import nets

EdgeMaker = Callable[[], Any]


def program(make: EdgeMaker, planning: Any, path: Path) -> Path:
    with quiet():
        config = ExecutorchBackendConfig(
            memory_planning_pass=planning, emit_mutable_buffer_names=True
        )
        path.write_bytes(make().to_executorch(config).buffer)
    return path


def arena_bytes(path: Path) -> int:
    (method,) = onearena.inspect(path).methods
    return method.before.arena_bytes


@pytest.mark.parametrize("make", [nets.breaks, nets.mapped])
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"alloc_graph_input": False},
        {"alloc_graph_output": False},
        {"alloc_graph_input": False, "alloc_graph_output": False},
        {"alloc_mutable_buffers": False},
        {"alignment": 64},
    ],
    ids=lambda options: "-".join(options) or "default",
)
def test_never_larger_than_greedy(make: EdgeMaker, options: dict[str, Any], tmp_path: Path) -> None:
    stock = program(make, StockPass(**options), tmp_path / "stock.pte")
    ours = program(make, MemoryPlanningPass(**options), tmp_path / "ours.pte")
    assert onearena.verify(ours).safe
    assert arena_bytes(ours) <= arena_bytes(stock)


def test_a_loop_needs_less(tmp_path: Path) -> None:
    """`greedy` keeps the loop's memory reserved when it is over."""
    stock = program(nets.mapped, StockPass(), tmp_path / "stock.pte")
    ours = program(nets.mapped, MemoryPlanningPass(), tmp_path / "ours.pte")
    assert arena_bytes(ours) < arena_bytes(stock)
    call = forward(nets.X, nets.X[0])
    assert difference(play(ours, [call]), play(stock, [call])) is None


def test_results_of_branches_survive(tmp_path: Path) -> None:
    """`greedy` puts the branches of both operators onto the same bytes (pytorch/executorch#21490);
    our verifier sees it, and our plan is right."""
    stock = program(nets.conds, StockPass(), tmp_path / "stock.pte")
    ours = program(nets.conds, MemoryPlanningPass(), tmp_path / "ours.pte")
    assert not onearena.verify(stock).safe
    assert onearena.verify(ours).safe
    for sign in (True, False):
        x, flag = nets.X + 0.25, torch.tensor(sign)
        (found,) = play(ours, [forward(x, flag)])
        torch.testing.assert_close(found[0], nets.TwoConds()(x, flag))


def test_in_a_suite(tmp_path: Path) -> None:
    """Beside ExecuTorch's algorithm the smaller result counts."""
    sizes = {
        name: arena_bytes(
            program(
                nets.mapped,
                StockPass(MemoryPlanningAlgorithmSuite(suite)),
                tmp_path / f"{name}.pte",
            )
        )
        for name, suite in {
            "greedy": [greedy],
            "ours": [planning_algorithm],
            "both": [greedy, planning_algorithm],
            "partial": [functools.partial(planning_algorithm, time_limit_s=0.1), greedy],
        }.items()
    }
    assert sizes["both"] == sizes["ours"] == sizes["partial"] < sizes["greedy"]


class Pools(StockPass):
    """Puts every second tensor into memory 3, as a pass for a chip with two memories would."""

    def __init__(self, **options: Any) -> None:
        suite = MemoryPlanningAlgorithmSuite([planning_algorithm])
        super().__init__(suite, **options)

    def run(self, graph_module: Any, graph_signature: Any = None) -> Any:
        seen: dict[int, Any] = {}
        for node in graph_module.graph.nodes:
            spec = node.meta.get("spec")
            if isinstance(spec, TensorSpec) and node.op == "call_function":
                seen.setdefault(id(spec), spec)
        for number, spec in enumerate(seen.values()):
            spec.mem_id = 3 if number % 2 else 1
        return super().run(graph_module, graph_signature)


def test_memories_that_a_pass_chose(tmp_path: Path) -> None:
    path = program(nets.breaks, Pools(), tmp_path / "pools.pte")
    assert onearena.verify(path).safe
    (method,) = onearena.inspect(path).methods
    assert sorted(method.memory_bytes) == [1, 3]
    stock = program(nets.breaks, StockPass(), tmp_path / "stock.pte")
    call = forward(nets.IMAGE)
    assert difference(play(path, [call]), play(stock, [call])) is None


def test_shared_state(tmp_path: Path) -> None:
    """State that methods share is planned by ExecuTorch's pass, in a memory of its own."""
    path = program(
        nets.breaks, MemoryPlanningPass(share_mutable_buffers=True), tmp_path / "shared.pte"
    )
    (method,) = onearena.inspect(path).methods
    assert sorted(method.memory_bytes) == [1, 2]
    assert onearena.verify(path).safe


class Graph:
    """A graph without control flow."""

    def __init__(self) -> None:
        self.graph = torch.fx.Graph()


def spec(elements: int, first: int, last: int, base: Any = None, offset: int = 0) -> Any:
    made = TensorSpec(torch.float32, torch.Size([elements]))
    made.lifetime = [first, last]
    if base is not None:
        made.storage_base, made.storage_base_offset = base, offset
    return made


def place(*specs: Any, alignment: int = 16, padding: int = 0) -> tuple[list[int], list[int]]:
    """Offsets by spec, and the sizes of the memories."""
    found = planning_algorithm(alignment, list(specs), Graph(), None, padding)
    return [found.spec_dict[s].mem_offset for s in specs], found.bufsizes


def test_the_smallest_plan() -> None:
    """`greedy` makes blocks of 96 and 32 bytes; 80 and 32 behind each other are enough."""
    specs = [spec(24, 0, 0), spec(20, 1, 1), spec(8, 1, 1)]
    stock = greedy(16, specs, Graph(), None, 64)
    assert stock.bufsizes == [0, 128 + 64]
    offsets, sizes = place(*specs, padding=64)
    assert sizes == [0, 112 + 64]
    assert offsets[1] != offsets[2]


def test_nothing_to_plan() -> None:
    assert place() == ([], [0, 0])


def test_a_storage_is_kept_while_a_part_of_it_lives() -> None:
    base = spec(32, 0, 1)
    part = spec(8, 1, 3, base, 64)
    other = spec(32, 2, 3)
    offsets, sizes = place(base, part, other)
    assert offsets[1] == offsets[0] + 64
    assert sizes == [0, 256]


@pytest.mark.parametrize(
    ("part", "message"),
    [
        (lambda base: spec(8, 0, 1, base, 8), "8 bytes into a storage are not aligned"),
        (lambda base: spec(8, 0, 1, base, 112), "does not fit into the storage of tensor float32"),
        (lambda base: spec(8, 0, 1, spec(64, 0, 1)), "the tensor whose storage it uses is not"),
    ],
)
def test_a_part_that_does_not_fit(part: Callable[[Any], Any], message: str) -> None:
    base = spec(32, 0, 1)
    with pytest.raises(PlanError, match=message):
        place(base, part(base))


def test_a_spec_that_nothing_touches() -> None:
    unused = TensorSpec(torch.float32, torch.Size([4]))
    with pytest.raises(PlanError, match="nothing reads or writes it"):
        place(unused)


def test_a_circle_of_storages() -> None:
    first, second = spec(4, 0, 1), spec(4, 0, 1)
    first.storage_base, second.storage_base = second, first
    with pytest.raises(PlanError, match="in a circle"):
        place(first, second)
