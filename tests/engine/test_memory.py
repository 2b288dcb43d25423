"""The arena: shared, lazily taken, given back, limited; and nothing leaks."""

from __future__ import annotations

import gc
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from onearena.engine.arena import Arena
from onearena.engine.errors import ArenaBusyError, ArenaLimitError, UsageError
from onearena.engine.model import LoadedMethod
from onearena.engine.runtime import Runtime
from tests.cases.conftest import Program
from tests.cases.lowering import Module, lower, portable, xnnpack
from tests.cases.running import difference, random_calls
from tests.cases.test_kernels import Of
from tests.engine.agreeing import run_call
from tests.engine.edits import SEEDS
from tests.engine.test_errors import run_with_zeros

PAGE_BYTES = 4096
LARGE = torch.zeros(256, 1024)


def chain(x: Any) -> Any:
    """Kernels that are not delegated, on a tensor of a megabyte."""
    return x.cumsum(0).cumsum(1).cumsum(0)


def large(program: Program) -> Path:
    """A program that needs megabytes of the arena."""
    return program(lambda: lower(Of(chain), (LARGE,), partitioners=portable), "engine_large")


def test_only_what_is_written_is_taken(program: Program) -> None:
    arena = Arena()
    model = Runtime(arena).load(large(program))
    method = model.method("forward")
    assert arena.resident_bytes() == 0
    assert arena.size_bytes >= LARGE.nbytes
    (expected,) = method.run(LARGE + 1)
    memory = model.memory()
    assert LARGE.nbytes <= arena.resident_bytes() <= memory.arena_bytes + PAGE_BYTES
    assert memory.arena_resident_bytes == arena.resident_bytes()
    assert memory.runs == 1
    assert memory.planned_bytes <= memory.arena_bytes
    arena.trim()
    assert arena.resident_bytes() == 0
    assert torch.equal(method.run(LARGE + 1)[0], expected)


def test_two_programs_take_no_more_than_the_larger(program: Program) -> None:
    arena = Arena()
    runtime = Runtime(arena)
    small = runtime.load(SEEDS / "convnet.pte")
    run_with_zeros(small)
    big = runtime.load(large(program))
    big.method("forward").run(LARGE)
    run_with_zeros(small)
    assert arena.size_bytes == max(small.memory().arena_bytes, big.memory().arena_bytes)
    assert arena.resident_bytes() <= arena.size_bytes + PAGE_BYTES


def test_an_arena_that_must_move(program: Program) -> None:
    arena = Arena(reserve_bytes=PAGE_BYTES)
    runtime = Runtime(arena)
    small = runtime.load(SEEDS / "convnet.pte")
    before = run_with_zeros(small)
    runtime.load(large(program)).method("forward").run(LARGE)
    assert np.array_equal(before[0], run_with_zeros(small)[0])


def test_a_limit_is_told_before_anything_runs(program: Program) -> None:
    path = large(program)
    runtime = Runtime(Arena(limit_bytes=100_000))
    run_with_zeros(runtime.load(SEEDS / "convnet.pte"))
    pattern = r"method 'forward': needs \d+ bytes .* limit is 100000; largest at the peak: value \d"
    with pytest.raises(ArenaLimitError, match=pattern):
        runtime.load(path).method("forward")
    Runtime(Arena(limit_bytes=10_000_000)).load(path).method("forward").run(LARGE)


@pytest.mark.parametrize("size", [0, -1, 1 << 48, 1 << 70])
def test_sizes_without_sense(size: int) -> None:
    with pytest.raises(UsageError, match="limit_bytes must be"):
        Arena(limit_bytes=size)
    with pytest.raises(UsageError, match="reserve_bytes must be"):
        Arena(reserve_bytes=size)


def test_temporary_memory_is_counted_by_instruction(program: Program) -> None:
    def function(x: Any) -> Any:
        best, places = torch.topk(x.cumsum(0), 5, 1)
        return best.cumsum(0), places

    x = torch.zeros(16, 64)
    model = Runtime().load(program(lambda: lower(Of(function), (x,), partitioners=portable)))
    method = model.method("forward")
    assert sum(method.temp_bytes_by_instruction()) == 0
    method.run(torch.randn(16, 64))
    marks = method.temp_bytes_by_instruction()
    assert 0 < max(marks) == model.memory().temp_bytes


@pytest.mark.parametrize("shared", [True, False])
def test_threads_on_one_arena_and_on_their_own(program: Program, shared: bool) -> None:
    class Net(Module):
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.softplus(x.cumsum(0) * 0.1).cumsum(1)

    x = torch.zeros(64, 64)
    path = program(lambda: lower(Net(), (x,), partitioners=xnnpack))
    runtime = Runtime()
    models = [(runtime if shared else Runtime()).load(path) for _ in range(2)]
    calls = random_calls(x, runs=8)
    expected = [run_call(models[0], call) for call in calls]
    problems: list[str | None] = []

    def work(number: int) -> None:
        for _ in range(20):
            found = [run_call(models[number % 2], call) for call in calls]
            problems.append(difference(expected, found))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert problems == [None] * 60


def run_often(method: LoadedMethod, image: Any) -> None:
    """Until somebody else has the arena: the other thread has it nearly always."""
    for _ in range(100_000):
        method.run(image, wait=False)


def test_who_does_not_want_to_wait_is_told(program: Program) -> None:
    runtime = Runtime()
    model = runtime.load(large(program))
    method = model.method("forward")
    stop = threading.Event()

    def work() -> None:
        while not stop.is_set():
            method.run(LARGE)

    thread = threading.Thread(target=work)
    thread.start()
    other = runtime.load(SEEDS / "convnet.pte").method("forward")
    image = np.zeros(other._inputs[0][1], np.float32)
    try:
        with pytest.raises(ArenaBusyError, match="in use by another run"):
            run_often(other, image)
    finally:
        stop.set()
        thread.join()
    other.run(image, wait=False)


def resident_bytes() -> int:
    """Of this process."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * PAGE_BYTES


def test_loading_and_unloading_leaves_nothing(program: Program) -> None:
    path = large(program)

    def cycle() -> None:
        for source in (SEEDS / "convnet.pte", SEEDS / "stateful.pte"):
            run_with_zeros(Runtime().load(source))
        Runtime().load(path).method("forward").run(LARGE)

    for _ in range(10):
        cycle()
    gc.collect()
    before = resident_bytes()
    for _ in range(50):
        cycle()
    gc.collect()
    # 50 leaked arenas would be 100 MB
    assert resident_bytes() - before < 8 << 20


def test_a_program_outlives_its_runtime() -> None:
    method = Runtime().load(SEEDS / "convnet.pte").method("forward")
    gc.collect()
    assert method.run(np.zeros(method._inputs[0][1], np.float32))[0].size > 0
