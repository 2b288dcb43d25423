"""The method allocator and the temp allocator against the installed runtime, byte for byte.

The measuring program is built against the libraries and headers in the executorch wheel.
"""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from onearena.pte.reader import open_pte
from onearena.sizes.pools import program_pools
from tests.runtime.models import EXPORTS
from tests.sizes.models import random_program, runnable, topk
from tests.sizes.sdk import compile_flags, link_flags

SOURCE = Path(__file__).with_name("measure.cc")

Measured = dict[str, tuple[int, int, int]]
Measure = Callable[..., Measured]


@pytest.fixture(scope="session")
def measure(tmp_path_factory: pytest.TempPathFactory) -> Measure:
    """Runs the measuring program: by method, what it took from its allocators."""
    compiler = shutil.which("g++")
    if compiler is None:
        pytest.skip("there is no g++")
    flags = [*compile_flags(), *link_flags()]
    binary = tmp_path_factory.mktemp("measure") / "measure"
    subprocess.run([compiler, str(SOURCE), "-o", str(binary), *flags], check=True)

    def run(path: Path, *arguments: str) -> Measured:
        done = subprocess.run(
            [str(binary), str(path), *arguments], capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr
        # the runtime prints notes of its own, without tabs
        rows = [line.split("\t") for line in done.stdout.splitlines() if line.count("\t") == 3]
        return {row[0]: (int(row[1]), int(row[2]), int(row[3])) for row in rows}

    return run


def predicted(path: Path) -> dict[str, tuple[int | None, int | None]]:
    with open_pte(path) as file:
        methods = program_pools(file).methods
    return {
        m.name: (m.method_allocator_bytes, m.method_allocator_alone.size_bytes) for m in methods
    }


def loading(measured: Measured) -> dict[str, tuple[int, int]]:
    return {name: sizes[:2] for name, sizes in measured.items()}


@pytest.mark.parametrize("seed", range(4))
def test_values_and_calls_of_every_kind(seed: int, tmp_path: Path, measure: Measure) -> None:
    path = tmp_path / "random.pte"
    path.write_bytes(random_program(seed, methods=25))
    measured = loading(measure(path))
    assert len(measured) == 25
    assert predicted(path) == measured


@pytest.mark.parametrize("name", ["network", "dynamic", "lookup", "several", "scalars"])
def test_exported_programs(name: str, tmp_path: Path, measure: Measure) -> None:
    pytest.importorskip("torch")
    path = tmp_path / f"{name}.pte"
    path.write_bytes(EXPORTS[name]())
    assert predicted(path) == loading(measure(path))


def test_temp_memory_of_topk(tmp_path: Path, measure: Measure) -> None:
    methods = [
        topk(3, 700, dimension=1, name="last"),
        topk(3, 700, dimension=-2, name="first"),
        topk(9, dimension=0, name="vector", dynamic=True),
        topk(0, 700, dimension=1, name="nothing"),
    ]
    path = tmp_path / "topk.pte"
    path.write_bytes(runnable(*methods))
    with open_pte(path) as file:
        pools = program_pools(file).methods
    measured = {name: sizes[2] for name, sizes in measure(path, "run").items()}
    assert {m.name: m.temp_uses[0].size_bytes for m in pools} == measured
    assert measured == {"last": 700 * 16, "first": 3 * 16, "vector": 9 * 16, "nothing": 0}
