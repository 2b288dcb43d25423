"""Programs spread over several memories run on the stock runtime as the originals do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from onearena import inspect, verify
from onearena.errors import UsageError
from onearena.memory_map import MemoryMap, Region
from onearena.options import Options
from onearena.pipeline import optimize
from onearena.pte.reader import open_pte
from onearena.pte.schema import AllocationDetails, EValue, ExecutionPlan, Tensor
from tests.cases.editing import edited
from tests.cases.lowering import Method, Module, lower, lower_methods, planned, portable, xnnpack
from tests.cases.nets import NETS, Convolutions, Residuals
from tests.cases.running import Call, difference, forward, play, random_calls
from tests.cases.test_methods import Convs, Kept, Shared
from tests.cases.test_state import CACHE_INPUTS, Cache, Counter, decode, initialised

IMAGE = torch.zeros(1, 4, 16, 16)
CONV_INPUTS = NETS["convolutions"][1]
Make = Callable[[], bytes]


def _residuals(backend: Any) -> bytes:
    return lower(Residuals(), (IMAGE,), partitioners=backend)


def _unplanned() -> bytes:
    config = planned(alloc_graph_input=False, alloc_graph_output=False)
    return lower(Residuals(), (IMAGE,), config=config)


def _initialised() -> bytes:
    config = initialised("keys", "values")
    return lower(Cache(), CACHE_INPUTS, partitioners=portable, config=config)


def _dynamic() -> bytes:
    rows = torch.export.Dim("rows", min=2, max=24)
    return lower(Counting(), (torch.zeros(8, 32),), dynamic=({0: rows},), partitioners=portable)


class Counting(Module):
    """Kernels whose shapes are known when they run."""

    def forward(self, x: Any) -> Any:
        a = x.cumsum(0)
        b = torch.nn.functional.softplus(a) + x
        return b.cumsum(1), (a * b).cumsum(0)


def _branches() -> bytes:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            z = torch.cond(
                y.sum() > 0, lambda v: v.cumsum(1).sin(), lambda v: (v * 2).cos().cumsum(0), (y,)
            )
            return z.cumsum(0) + y

    return lower(Net(), (torch.zeros(8, 32),), partitioners=portable)


CACHE_CALLS = decode(4)
PROGRAMS: dict[str, tuple[Make, list[Call]]] = {
    "residuals": (lambda: _residuals(portable), random_calls(IMAGE)),
    "residuals_xnnpack": (lambda: _residuals(xnnpack), random_calls(IMAGE)),
    "convolutions": (lambda: lower(Convolutions(), CONV_INPUTS), random_calls(*CONV_INPUTS)),
    "unplanned": (_unplanned, random_calls(IMAGE)),
    "cache": (lambda: lower(Cache(), CACHE_INPUTS, partitioners=portable), CACHE_CALLS),
    "cache_xnnpack": (lambda: lower(Cache(), CACHE_INPUTS), CACHE_CALLS),
    "cache_initialised": (_initialised, CACHE_CALLS),
    "counter": (
        lambda: lower(Counter(), (torch.zeros(8, 32),), partitioners=portable),
        random_calls(torch.zeros(8, 32), runs=5),
    ),
    "dynamic": (
        _dynamic,
        [
            forward(*call.inputs)
            for rows in (8, 24, 2)
            for call in random_calls(torch.zeros(rows, 32), runs=1, seed=rows)
        ],
    ),
    "branches": (_branches, random_calls(torch.zeros(8, 32), runs=6)),
}


@pytest.fixture(scope="module")
def stock(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """Makes a program once and returns its path."""
    directory = tmp_path_factory.mktemp("memory_map")

    def build(name: str) -> Path:
        path = directory / f"{name}.pte"
        if not path.exists():
            torch.manual_seed(0)
            path.write_bytes(PROGRAMS[name][0]())
        return path

    return build


def needed_bytes(path: Path) -> int:
    """What the largest method needs in one arena with its delegates opened."""
    small = path.with_suffix(".one.pte")
    report = optimize(path, small)
    return max(m.after.arena_bytes for m in report.methods if m.after is not None)


def memories_of(path: Path) -> list[tuple[int, ...]]:
    with open_pte(path) as file:
        plans = file.program.execution_plan or ()
        return [plan.non_const_buffer_sizes or () for plan in plans]


@pytest.mark.parametrize("ids", [(1, 2), (7, 3)], ids=str)
@pytest.mark.parametrize("name", PROGRAMS)
def test_spilled_programs_run_the_same(
    name: str, ids: tuple[int, int], stock: Callable[[str], Path]
) -> None:
    path = stock(name)
    needed = needed_bytes(path)
    calls = PROGRAMS[name][1]
    expected = play(path, calls)
    for share in (3, 2):
        fast = Region("fast", max(needed // share, 200), ids[0], 1)
        memory_map = MemoryMap((fast, Region("slow", 4 * needed + 4096, ids[1], 4)))
        small = path.with_suffix(f".{share}.pte")
        report = optimize(path, small, Options(memory_map=memory_map))
        assert verify(small).violations == ()
        assert difference(expected, play(small, calls)) is None
        (method,) = report.methods
        assert method.memory_map is not None
        (sizes,) = memories_of(small)
        assert len(sizes) == max(ids) + 1
        for region, use in zip(memory_map.regions, method.memory_map.regions, strict=True):
            assert 0 < sizes[region.memory_id] == use.size_bytes <= region.capacity_bytes
            assert use.tensors > 0
        assert sum(sizes) == sizes[ids[0]] + sizes[ids[1]]
        again = inspect(small).methods[0]
        assert dict(again.memory_bytes) == {k: n for k, n in enumerate(sizes) if n}
        assert again.region_names == {ids[0]: "fast", ids[1]: "slow"}


def test_three_memories_and_again_into_another_map(stock: Callable[[str], Path]) -> None:
    path = stock("residuals_xnnpack")
    calls = PROGRAMS["residuals_xnnpack"][1]
    expected = play(path, calls)
    first, second = path.with_suffix(".first.pte"), path.with_suffix(".second.pte")
    regions = (Region("a", 9000, 4, 1), Region("b", 9000, 1, 2), Region("c", 1 << 20, 2, 9))
    optimize(path, first, Options(memory_map=MemoryMap(regions)))
    assert difference(expected, play(first, calls)) is None
    assert [k for k, size in enumerate(memories_of(first)[0]) if size] == [1, 2, 4]
    other = MemoryMap((Region("a", 12000, 2, 1), Region("z", 1 << 20, 5, 2)))
    report = optimize(first, second, Options(memory_map=other))
    assert difference(expected, play(second, calls)) is None
    assert [k for k, size in enumerate(memories_of(second)[0]) if size] == [2, 5]
    assert report.methods[0].opened_calls == inspect(second).methods[0].opened_calls > 0


def _shared() -> bytes:
    kept = Kept()
    methods = {
        "write": Method(Shared(kept, writes=True), (IMAGE,)),
        "read": Method(Shared(kept, writes=False), (IMAGE,)),
    }
    return lower_methods(methods, config=planned(share_mutable_buffers=True))


def _in_turn(*names: str) -> list[Call]:
    each = [random_calls(IMAGE, method=name, seed=k) for k, name in enumerate(names)]
    return [call for calls in zip(*each, strict=True) for call in calls]


def test_methods_that_share_state(tmp_path: Path) -> None:
    """State that another method knows by its address stays there."""
    torch.manual_seed(0)
    path, small = tmp_path / "shared.pte", tmp_path / "small.pte"
    path.write_bytes(_shared())
    calls = _in_turn("write", "read")
    regions = (Region("fast", 6000, 1, 1), Region("slow", 1 << 20, 2, 3))
    optimize(path, small, Options(memory_map=MemoryMap(regions)))
    assert difference(play(path, calls), play(small, calls)) is None
    assert all(sizes[1] and sizes[2] for sizes in memories_of(small))
    without = MemoryMap((Region("fast", 6000, 1, 1), Region("slow", 1 << 20, 3, 3)))
    with pytest.raises(UsageError, match="must stay in memory_id 2, which the memory map does not"):
        optimize(path, tmp_path / "none.pte", Options(memory_map=without))
    assert not (tmp_path / "none.pte").exists()


def test_methods_that_share_arenas(tmp_path: Path) -> None:
    torch.manual_seed(0)
    path, small = tmp_path / "two.pte", tmp_path / "small.pte"
    methods = {"small": Method(Convs(4), (IMAGE,)), "large": Method(Convs(16), (IMAGE,))}
    path.write_bytes(lower_methods(methods, constants={"count": 42}))
    regions = (Region("fast", 12000, 1, 1), Region("slow", 1 << 20, 2, 3))
    report = optimize(path, small, Options(memory_map=MemoryMap(regions)))
    calls = [*_in_turn("small", "large"), Call("count", ())]
    assert difference(play(path, calls), play(small, calls)) is None
    by_name = {method.name: method for method in report.methods}
    assert by_name["count"].memory_map is None
    assert by_name["large"].memory_map is not None


# -- faults -------------------------------------------------------------------------------


def _placed(plan: ExecutionPlan) -> list[tuple[int, int, int]]:
    """(value, memory_id, offset) of the planned values."""
    found = []
    for index, entry in enumerate(plan.values or ()):
        tensor = entry.val
        if isinstance(tensor, Tensor) and tensor.allocation_info is not None:
            info = tensor.allocation_info
            found.append((index, info.memory_id, info.offset))
    return found


def _with_place(plan: ExecutionPlan, value: int, memory_id: int, offset: int) -> ExecutionPlan:
    values = list(plan.values or ())
    tensor = values[value].val
    assert isinstance(tensor, Tensor)
    place = AllocationDetails.at(memory_id, offset)
    values[value] = EValue(replace(tensor, allocation_info=place))
    return replace(plan, values=tuple(values))


def _replaced(new: ExecutionPlan, _: ExecutionPlan) -> ExecutionPlan:
    return new


@pytest.mark.parametrize("name", ["residuals", "residuals_xnnpack", "cache"])
def test_planted_faults_are_found(name: str, stock: Callable[[str], Path]) -> None:
    """Every value put at its offset in the other memory: either the verifier objects, or the
    stock runtime computes the same."""
    path = stock(name)
    calls: Sequence[Call] = PROGRAMS[name][1][:3]
    needed = needed_bytes(path)
    small, broken = path.with_suffix(".good.pte"), path.with_suffix(".bad.pte")
    slow = Region("slow", 4 * needed, 2, 4)
    fast = Region("fast", needed // 2, 1, 1)
    optimize(path, small, Options(memory_map=MemoryMap((fast, slow))))
    expected = play(path, calls)
    refused = 0
    with open_pte(small) as file:
        (plan,) = file.program.execution_plan or ()
    for value, memory_id, offset in _placed(plan):
        moved = _with_place(plan, value, 3 - memory_id, offset)
        edited(small, broken, partial(_replaced, moved))
        if verify(broken).violations:
            refused += 1
        else:
            assert difference(expected, play(broken, calls)) is None, f"value {value}"
    assert refused > 2


def test_a_file_larger_than_its_map_is_not_safe(stock: Callable[[str], Path]) -> None:
    path = stock("residuals")
    small, broken = path.with_suffix(".good.pte"), path.with_suffix(".bad.pte")
    regions = (Region("fast", 9008, 1, 1), Region("slow", 1 << 20, 2, 3))
    optimize(path, small, Options(memory_map=MemoryMap(regions)))
    edited(small, broken, lambda plan: replace(plan, non_const_buffer_sizes=(0, 9024, 1 << 20)))
    found = [str(violation) for violation in verify(broken).violations]
    assert len(found) == 1
    assert "fast (9,008 B, memory_id 1) is asked for 9,024 B" in found[0]
