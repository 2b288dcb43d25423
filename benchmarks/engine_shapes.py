"""Memory at sizes below the exported bound, and the time that a plan for new sizes takes.

``python -m benchmarks.engine_shapes`` exports three networks with dynamic sizes, with and without
XNNPACK, and runs them at an eighth, a quarter and half of the bound. All memory for activations
counts: what the operating system gave to the arena, and XNNPACK's workspace where it is outside.
The bound is the most of it that is alive at once; "static" is the file's plan in
memory that is committed lazily; "stock" is what the stock runtime allocates: the arenas that the
file declares, and a workspace for the exported bounds. The sizes come from the program before the
first run, or ("sizes unknown") from the first run itself; numbers are those of the second run.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tests.cases.lowering import Module, lower, portable, xnnpack
from tests.engine.shaped import Convolutions, Transformer, UNet

from onearena.engine.arena import Arena
from onearena.engine.memory import MethodMemory
from onearena.engine.model import LoadedMethod
from onearena.engine.runtime import Planning, Runtime
from onearena.joint import joint_bound, workspaces
from onearena.program import analyse_method, arena_bytes
from onearena.pte.reader import open_pte
from onearena.shapes.live_plan import graphs_at, plan_at

_SIDE, _LENGTH = 256, 512
_PARTS = (8, 4, 2)
_PAGE_BYTES = 4096
_NEW_SHAPES = 40
_REPEATS = 3
_NETWORKS = (("conv net", Convolutions), ("U-Net", UNet), ("transformer", Transformer))
_MODES: tuple[Planning, ...] = ("shapes", "simple", "static")


@dataclass(frozen=True)
class Row:
    """One network at one size; bytes."""

    network: str
    shape: tuple[int, ...]
    bound: int
    resident: dict[Planning, int]
    first_run: int
    stock: int

    @property
    def ratio(self) -> float:
        """Resident memory of the shapes mode to the pages of the bound."""
        return self.resident["shapes"] / (-(-self.bound // _PAGE_BYTES) * _PAGE_BYTES)


@dataclass(frozen=True)
class Replan:
    """Time for a plan and for binding the tensors to it; medians over new shapes, microseconds."""

    planning: Planning
    tensors: int
    plan_us: float
    bind_us: float


@dataclass(frozen=True)
class Moving:
    """Runs of which each needs a larger arena; medians."""

    arena: str
    run_ms: float
    bind_us: float


class Chain(Module):
    """Operators in a row; every fifth also reads what the one before the last wrote."""

    def __init__(self, count: int) -> None:
        super().__init__()
        self.count = count

    def forward(self, x: Any) -> Any:
        older = x
        for k in range(self.count):
            older, x = x, (x + older if k % 5 == 4 else torch.cumsum(x, 1))
        return x


def main() -> int:
    """Prints both tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the rows here")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(_HEADER, flush=True)
        rows = []
        for row in memory_rows(Path(folder)):
            rows.append(row)
            print(_line(row), flush=True)
        replans = [
            replan_times(Path(folder), count, mode)
            for mode in ("shapes", "simple")
            for count in (9, 499)
        ]
        moving = moving_times(Path(folder))
    print("\n| planning | planned tensors | re-plan µs | rebind µs |\n|---|---:|---:|---:|")
    for r in replans:
        print(f"| {r.planning} | {r.tensors} | {r.plan_us:.1f} | {r.bind_us:.1f} |")
    print("\n| arena | growing run ms | rebind µs |\n|---|---:|---:|")
    for m in moving:
        print(f"| {m.arena} | {m.run_ms:.3f} | {m.bind_us:.1f} |")
    if args.json is not None:
        found = {
            "memory": [asdict(r) for r in rows],
            "replan": [asdict(r) for r in replans],
            "moving": [asdict(m) for m in moving],
        }
        args.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


def memory_rows(folder: Path) -> Iterator[Row]:
    """All networks at all sizes."""
    for backend in (portable, xnnpack):
        for name, net in _NETWORKS:
            path = folder / f"{net.__name__}_{backend.__name__}.pte"
            path.write_bytes(_export(net(), backend))
            for part in _PARTS:
                yield _row(f"{name}, {backend.__name__}", path, _shape(net(), part))


def _shape(net: Module, part: int) -> tuple[int, ...]:
    if isinstance(net, Transformer):
        return (1, _LENGTH // part, 16)
    return (1, 3, _SIDE // part, _SIDE // part)


def _export(net: Module, backend: Callable[[], Any]) -> bytes:
    x = torch.zeros(_shape(net, 4))
    if isinstance(net, Transformer):
        return lower(
            net, (x,), dynamic=({1: torch.export.Dim("n", max=_LENGTH)},), partitioners=backend
        )
    height, width = (torch.export.Dim(name, max=_SIDE // 2) * 2 for name in ("h", "w"))
    return lower(net, (x,), dynamic=({2: height, 3: width},), partitioners=backend)


def _row(network: str, path: Path, shape: tuple[int, ...]) -> Row:
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        method = analyse_method(file, plan)
        stock = arena_bytes(plan) + method.workspace_bytes
        exact = plan_at(method, {0: shape})
        bound = joint_bound(exact.timeline, workspaces(graphs_at(method, exact.live)))
    resident = {}
    for mode in _MODES:
        memory = _second_run(path, mode, shape)
        # where XNNPACK keeps its workspace to itself, that has the size of the bounds
        resident[mode] = memory.arena_resident_bytes + memory.workspace_bytes
    unknown = _second_run(path, "shapes", shape, known=False)
    first_run = unknown.arena_resident_bytes + unknown.workspace_bytes
    return Row(network, shape, bound, resident, first_run, stock)


def _second_run(
    path: Path, mode: Planning, shape: tuple[int, ...], *, known: bool = True
) -> MethodMemory:
    """What a method takes in its second run at a shape."""
    method = Runtime(Arena()).load(path, planning=mode).method("forward")
    if not known:
        method._sizes = None
    for _ in range(2):
        method.run(torch.randn(shape))
    return method.memory()


def moving_times(folder: Path) -> list[Moving]:
    """Runs at sizes that grow, in an arena with room for all of them and in one that must move."""
    path = folder / "growing.pte"
    rows = torch.export.Dim("rows", max=_LENGTH)
    x = torch.zeros(8, 1024)
    path.write_bytes(lower(Chain(9), (x,), dynamic=({0: rows},), partitioners=portable))
    found = []
    for name, reserve_bytes in (("has room", 1 << 30), ("moves", _PAGE_BYTES)):
        times: list[float] = []
        binds: list[float] = []
        for _ in range(_REPEATS):
            method = Runtime(Arena(reserve_bytes=reserve_bytes)).load(path).method("forward")
            for count in range(16, _LENGTH, 16):
                x = torch.zeros(count, 1024)
                start = time.perf_counter()
                method.run(x)
                times.append((time.perf_counter() - start) * 1e3)
                binds.append(method.memory().bind_us)
        found.append(Moving(name, statistics.median(times), statistics.median(binds)))
    return found


def replan_times(folder: Path, count: int, planning: Planning) -> Replan:
    """Times of a chain of `count` operators at shapes that it never had before."""
    path = folder / f"chain{count}.pte"
    rows = torch.export.Dim("rows", max=_LENGTH)
    x = torch.zeros(8, 16)
    path.write_bytes(lower(Chain(count), (x,), dynamic=({0: rows},), partitioners=portable))
    method = Runtime().load(path, planning=planning, cached_plans=4).method("forward")
    times = list(_new_shapes(method))
    plans, binds = zip(*times[1:], strict=True)  # the first plan begins with nothing
    return Replan(planning, count + 1, statistics.median(plans), statistics.median(binds))


def _new_shapes(method: LoadedMethod) -> Iterator[tuple[float, float]]:
    for rows in range(2, 2 + _NEW_SHAPES):
        method.run(torch.zeros(rows, 16))
        memory = method.memory()
        assert memory.lazy_runs == 0
        yield memory.plan_us, memory.bind_us


_HEADER = (
    "| network | shape | bound | shapes | ratio | sizes unknown | "
    "simple | static, lazily | stock |\n|---|---|---:|---:|---:|---:|---:|---:|---:|"
)


def _line(row: Row) -> str:
    shape = "x".join(map(str, row.shape))
    resident = row.resident
    return (
        f"| {row.network} | {shape} | {row.bound:,} | {resident['shapes']:,} | {row.ratio:.3f} | "
        f"{row.first_run:,} | {resident['simple']:,} | {resident['static']:,} | {row.stock:,} |"
    )


if __name__ == "__main__":
    raise SystemExit(main())
