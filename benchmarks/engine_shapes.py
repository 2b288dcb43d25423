"""Memory at sizes below the exported bound, and the time that a plan for new sizes takes.

``python -m benchmarks.engine_shapes`` exports three networks with dynamic sizes, with and without
XNNPACK, and runs them at an eighth, a quarter and half of the bound. Resident memory is what the
operating system gave to the arena for one run; the exact plan is made as if the program had been
exported for these sizes; "static" is the file's plan in memory that is committed lazily; "file"
is what the file declares, which is what the stock runtime allocates.
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from tests.cases.lowering import Module, lower, portable, xnnpack
from tests.engine.shaped import Convolutions, Transformer, UNet

from onearena.engine.arena import Arena
from onearena.engine.model import LoadedMethod
from onearena.engine.runtime import Planning, Runtime
from onearena.program import analyse_method, arena_bytes
from onearena.pte.reader import open_pte
from onearena.shapes.live_plan import plan_at

_SIDE, _LENGTH = 256, 512
_PARTS = (8, 4, 2)
_PAGE_BYTES = 4096
_NEW_SHAPES = 40
_NETWORKS = (("conv net", Convolutions), ("U-Net", UNet), ("transformer", Transformer))
_MODES: tuple[Planning, ...] = ("shapes", "simple", "static")


@dataclass(frozen=True)
class Row:
    """One network at one size; bytes."""

    network: str
    shape: tuple[int, ...]
    exact: int
    resident: dict[Planning, int]
    first_run: int
    file: int

    @property
    def ratio(self) -> float:
        """Resident memory of the shapes mode to the pages of the exact plan."""
        return self.resident["shapes"] / (-(-self.exact // _PAGE_BYTES) * _PAGE_BYTES)


@dataclass(frozen=True)
class Replan:
    """Time for a plan and for binding the tensors to it; medians over new shapes, microseconds."""

    tensors: int
    plan_us: float
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
        replans = [replan_times(Path(folder), count) for count in (9, 499)]
    print("\n| planned tensors | re-plan µs | rebind µs |\n|---:|---:|---:|")
    for r in replans:
        print(f"| {r.tensors} | {r.plan_us:.1f} | {r.bind_us:.1f} |")
    if args.json is not None:
        found = {"memory": [asdict(r) for r in rows], "replan": [asdict(r) for r in replans]}
        args.json.write_text(json.dumps(found, indent=2) + "\n")
    return 0


def memory_rows(folder: Path) -> Iterator[Row]:
    """All networks at all sizes."""
    for backend in (portable, xnnpack):
        for name, net in (
            ("conv net", Convolutions),
            ("U-Net", UNet),
            ("transformer", Transformer),
        ):
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
        exact = plan_at(method, {0: shape}).footprint.arena_bytes
        declared = arena_bytes(plan)
    resident = {mode: _resident(path, mode, shape)[0] for mode in _MODES}
    first_run = _resident(path, "shapes", shape, known=False)[1]
    return Row(network, shape, exact, resident, first_run, declared)


def _resident(
    path: Path, mode: Planning, shape: tuple[int, ...], *, known: bool = True
) -> tuple[int, int]:
    """Resident bytes after the first run, and what it took of the arena."""
    arena = Arena()
    method = Runtime(arena).load(path, planning=mode).method("forward")
    if not known:
        method._sizes = None
    method.run(torch.randn(shape))
    return arena.resident_bytes(), method.memory().arena_bytes


def replan_times(folder: Path, count: int) -> Replan:
    """Times of a chain of `count` operators at shapes that it never had before."""
    path = folder / f"chain{count}.pte"
    rows = torch.export.Dim("rows", max=_LENGTH)
    x = torch.zeros(8, 16)
    path.write_bytes(lower(Chain(count), (x,), dynamic=({0: rows},), partitioners=portable))
    method = Runtime().load(path, cached_plans=4).method("forward")
    times = list(_new_shapes(method))
    plans, binds = zip(*times[1:], strict=True)  # the first plan begins with nothing
    return Replan(count + 1, statistics.median(plans), statistics.median(binds))


def _new_shapes(method: LoadedMethod) -> Iterator[tuple[float, float]]:
    for rows in range(2, 2 + _NEW_SHAPES):
        method.run(torch.zeros(rows, 16))
        memory = method.memory()
        assert memory.lazy_runs == 0
        yield memory.plan_us, memory.bind_us


_HEADER = (
    "| network | shape | exact plan | shapes: resident | ratio | first run, sizes unknown | "
    "simple | static, lazily | file |\n|---|---|---:|---:|---:|---:|---:|---:|---:|"
)


def _line(row: Row) -> str:
    shape = "x".join(map(str, row.shape))
    resident = row.resident
    return (
        f"| {row.network} | {shape} | {row.exact:,} | {resident['shapes']:,} | {row.ratio:.3f} | "
        f"{row.first_run:,} | {resident['simple']:,} | {resident['static']:,} | {row.file:,} |"
    )


if __name__ == "__main__":
    raise SystemExit(main())
