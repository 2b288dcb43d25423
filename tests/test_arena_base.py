"""Large tensors begin at cache lines, wherever an allocator put the arena."""

from __future__ import annotations

import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from onearena.arena_base import (
    MALLOC_BASE,
    MALLOC_BLOCK_BYTES,
    recorded_leads,
    with_counted_lead,
    with_lead,
)
from onearena.delegates.xnnpack import schema as x
from onearena.engine.description import describe
from onearena.errors import UsageError
from onearena.memory_map import parse_memory_map
from onearena.options import ARENA_BASES, Options
from onearena.pipeline import inspect, optimize, verify
from onearena.problem import Plan
from onearena.program import arena_bytes
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte
from onearena.pte.schema import ExecutionPlan, Tensor
from onearena.pte.writer import write_pte
from onearena.record import MethodRecord
from onearena.results import MethodReport
from tests.delegates.nets import Net
from tests.engine.decoder import decode
from tests.pte.build import Method
from tests.timeline.build import program, timeline_of, xnnpack
from tests.verify.programs import Space

SMALL, LARGE = (1, 8, 8, 16), (1, 32, 32, 64)
"""4 KiB, of which several do not fill 128 KiB, and 256 KiB."""


def chain_method(dims: tuple[int, ...]) -> tuple[Method, Net]:
    """A call of three convolutions, with one tensor each inside."""
    net = Net()
    values = [net.input(*dims), net.inner(*dims), net.inner(*dims), net.output(*dims)]
    for source, target in pairwise(values):
        net.conv(source, target)
    method = Method()
    Space(method).only_call(*dims)
    return method, net


def chain(dims: tuple[int, ...]) -> PteFile:
    return program(*chain_method(dims))


def optimized(
    file: PteFile, directory: Path, options: Options | None = None
) -> tuple[MethodReport, ExecutionPlan]:
    write_pte(file, directory / "stock.pte")
    report = optimize(directory / "stock.pte", directory / "small.pte", options)
    assert report.changed
    assert not verify(directory / "small.pte").violations
    with open_pte(directory / "small.pte") as written:
        return report.methods[0], (written.program.execution_plan or ())[0]


def offsets(plan: ExecutionPlan) -> list[int]:
    return [
        entry.val.allocation_info.offset
        for entry in plan.values or ()
        if isinstance(entry.val, Tensor) and entry.val.allocation_info is not None
    ]


def test_large_arenas_are_taken_to_begin_behind_a_header_of_malloc(tmp_path: Path) -> None:
    report, plan = optimized(chain(LARGE), tmp_path)
    assert arena_bytes(plan) >= MALLOC_BLOCK_BYTES
    assert {(MALLOC_BASE + offset) % 64 for offset in offsets(plan)} == {0}
    assert min(offsets(plan)) == 64 - MALLOC_BASE
    # what is kept free is of the plan, and of the bound
    assert report.optimal
    assert report.gap == 0
    assert report.lower_bound_bytes == report.order_bound_bytes == 2 * 256 * 1024 + 48


def test_small_arenas_are_taken_to_begin_at_a_cache_line(tmp_path: Path) -> None:
    _, plan = optimized(chain(SMALL), tmp_path)
    assert arena_bytes(plan) < MALLOC_BLOCK_BYTES
    assert {offset % 64 for offset in offsets(plan)} == {0}
    assert min(offsets(plan)) == 0


@pytest.mark.parametrize("base", ARENA_BASES)
@pytest.mark.parametrize("dims", [SMALL, LARGE])
def test_base_can_be_chosen(tmp_path: Path, base: int, dims: tuple[int, ...]) -> None:
    report, plan = optimized(chain(dims), tmp_path, Options(arena_base=base))
    assert {(base + offset) % 64 for offset in offsets(plan)} == {0}
    assert min(offsets(plan)) == -base % 64
    assert report.optimal
    # what reads the file finds the same
    (found,) = inspect(tmp_path / "small.pte").methods
    assert found.before.arena_bytes == arena_bytes(plan)
    assert report.after is not None
    assert report.after.arena_bytes == arena_bytes(plan)
    # our own runtime puts arenas at cache lines and needs no bytes in front
    with open_pte(tmp_path / "small.pte") as file:
        (method,) = decode(describe(file)).methods
    planned = [value["offset"] for value in method.values if "offset" in value]
    assert planned == [offset - -base % 64 for offset in offsets(plan)]
    assert method.arena_bytes == (0, arena_bytes(plan) - -base % 64)


@pytest.mark.parametrize(
    "options",
    [
        Options(arena_base=16, memory_map=parse_memory_map("ram:4M:1")),
        Options(arena_base=16, target="cortex-m55"),
    ],
    ids=["memory map", "microcontroller"],
)
def test_addresses_are_the_applications_business(tmp_path: Path, options: Options) -> None:
    _, plan = optimized(chain(LARGE), tmp_path, options)
    assert min(offsets(plan)) == 0


def test_a_smaller_plan_would_have_nothing_in_front() -> None:
    """Around 128 KiB: what only some plans have is not in the bound of all."""
    timeline = timeline_of(*chain_method(SMALL), is_open=True)
    count, least = len(timeline.problem.buffers), MALLOC_BLOCK_BYTES
    for bound, counted in ((least - 16, 0), (least, 48)):
        plan = Plan((0,) * count, {1: least}, {1: bound}, "test", joint_bound_bytes=bound)
        found = with_lead(plan, timeline, Options())
        assert found.height_bytes == {1: least + 48}
        assert found.lower_bound_bytes == {1: bound + counted}
        assert found.joint_bound_bytes == bound + counted
        assert with_counted_lead(bound, found.lead_bytes) == bound + counted
    always = with_lead(plan, timeline, Options(arena_base=32))
    assert always.lower_bound_bytes == {1: bound + 32}


def test_what_lies_behind_sixteen_bytes_by_chance_has_nothing_in_front(tmp_path: Path) -> None:
    method = Method()
    space = Space(method)
    space.end = 16
    given, odd = space.tensor(1024), space.tensor(1024)
    method.input(given)
    method.call("test::odd", given, odd)  # not understood: both stay where they are
    small = space.kernel("aten::exp.out", odd, dims=(8,))
    for _ in range(3):
        small = space.kernel("test::use.out", small, dims=(8,))
    made = space.tensor(8)
    net = Net()
    net.unary(x.XNNSigmoid, net.input(8), net.output(8))
    xnnpack(method, small, made)
    method.output(made)
    report, _ = optimized(program(method, net), tmp_path)
    (found,) = inspect(tmp_path / "small.pte").methods
    assert report.lower_bound_bytes == found.lower_bound_bytes
    assert report.order_bound_bytes == found.order_bound_bytes


@pytest.mark.parametrize("lead", [(1, 64), (1, -16), (1, 1 << 60), (2, 48), (0, 16)])
def test_records_that_lie_about_what_is_free(lead: tuple[int, int]) -> None:
    method, net = chain_method(LARGE)
    (plan,) = program(method, net).program.execution_plan or ()
    entry = MethodRecord((), 0, (), (), (0, 0), (), leads=(lead, (1, 16)))
    assert recorded_leads(plan, entry) == {}  # the first tensor is at 0
    assert recorded_leads(plan, None) == {}


@pytest.mark.parametrize("base", [-16, 8, 64])
def test_no_other_bases(tmp_path: Path, base: int) -> None:
    write_pte(chain(SMALL), tmp_path / "stock.pte")
    with pytest.raises(UsageError, match="arena_base must be of"):
        optimize(tmp_path / "stock.pte", tmp_path / "small.pte", Options(arena_base=base))
    assert not (tmp_path / "small.pte").exists()


_ADDRESS = """
import sys, torch
from executorch.extension.pybindings.portable_lib import _load_for_executorch
module = _load_for_executorch(sys.argv[1])
(made,) = module.forward([torch.zeros(1, 3, 64, 64)], clone_outputs=False)
print(made.data_ptr() % 64)
"""


def test_on_the_stock_runtime(tmp_path: Path) -> None:
    """An arena of more than 32 MiB is a block of its own in every process (mallopt(3))."""
    torch = pytest.importorskip("torch")
    pytest.importorskip("executorch")
    from tests.cases.lowering import lower

    layers = [torch.nn.Conv2d(3, 1024, 1), torch.nn.ReLU(), torch.nn.Softplus()]
    data = lower(torch.nn.Sequential(*layers), (torch.zeros(1, 3, 64, 64),))
    (tmp_path / "stock.pte").write_bytes(data)
    optimize(tmp_path / "stock.pte", tmp_path / "small.pte")
    with open_pte(tmp_path / "small.pte") as file:
        assert arena_bytes((file.program.execution_plan or ())[0]) > 32 << 20
    done = subprocess.run(
        [sys.executable, "-c", _ADDRESS, str(tmp_path / "small.pte")],
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.split()[-1] == "0"
