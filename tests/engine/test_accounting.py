"""What is said of the arena's memory is what the operating system says."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch

from onearena.engine.arena import Arena
from onearena.engine.runtime import Planning, Runtime
from tests.cases.conftest import Program
from tests.cases.lowering import portable
from tests.engine.shaped import BOUND, Convolutions, UNet, images

PAGE_BYTES = 4096
RESERVE_BYTES = (5 << 30) + 7 * PAGE_BYTES
"""A size that no other mapping has: it tells the arena's."""


@dataclass
class Area:
    """A line of /proc/self/smaps, and what it says about residence."""

    start: int
    end: int
    resident_bytes: int = 0


def areas() -> list[Area]:
    """All of this process, in order."""
    found: list[Area] = []
    for line in Path("/proc/self/smaps").read_text().splitlines():
        first, *rest = line.split()
        if first == "Rss:":
            found[-1].resident_bytes = int(rest[0]) * 1024
        elif not first.endswith(":"):
            start, end = (int(part, 16) for part in first.split("-"))
            found.append(Area(start, end))
    return found


def told_by_the_system() -> int:
    """Resident bytes of the arena: neighbouring areas that are `RESERVE_BYTES` together."""
    every = areas()
    for first in range(len(every)):
        resident = 0
        for last in range(first, len(every)):
            if last > first and every[last].start != every[last - 1].end:
                break
            resident += every[last].resident_bytes
            if every[last].end - every[first].start == RESERVE_BYTES:
                return resident
    raise AssertionError("the arena is not mapped")


def whole_pages(size_bytes: int) -> int:
    return size_bytes + -size_bytes % PAGE_BYTES


def image(edge: int) -> Any:
    return torch.randn(1, 3, edge, edge)


@pytest.mark.parametrize("planning", ["static", "shapes", "simple"])
@pytest.mark.parametrize("net", [UNet, Convolutions])
def test_resident_pages(program: Program, net: Callable[[], Any], planning: Planning) -> None:
    path = images(program, net)
    for edge in (8, 32, BOUND):
        arena = Arena(reserve_bytes=RESERVE_BYTES)
        model = Runtime(arena).load(path, planning=planning)
        for _ in range(2):  # the second time in memory that was given back
            model(image(edge))
            memory = model.memory()
            assert arena.resident_bytes() == told_by_the_system() == memory.arena_resident_bytes
            assert 0 < arena.resident_bytes() <= whole_pages(memory.arena_bytes)
            arena.trim()
            assert arena.resident_bytes() == told_by_the_system() == 0
        del model, arena


@pytest.mark.parametrize("planning", ["shapes", "simple"])
def test_the_peak_is_what_was_planned(program: Program, planning: Planning) -> None:
    """Nothing is given back during a run with a plan: what is resident after it is its peak. The
    plan is tight: nearly all of it is written."""
    arena = Arena(reserve_bytes=RESERVE_BYTES)
    model = Runtime(arena).load(images(program, UNet), planning=planning)
    planned = []
    for edge in (BOUND, 32, 16):
        arena.trim()
        model(image(edge))
        planned.append(model.memory().arena_bytes)
        # 64 bytes behind the plan are only read, and may have a page that is not there
        assert planned[-1] - PAGE_BYTES <= told_by_the_system() <= whole_pages(planned[-1])
    assert planned == sorted(planned, reverse=True)
    assert arena.size_bytes == planned[0]


def test_a_run_without_a_plan_gives_back_what_is_dead(program: Program) -> None:
    """While it runs, no more is resident than it says, in whole pages for each tensor."""
    arena = Arena(reserve_bytes=RESERVE_BYTES)
    model = Runtime(arena).load(images(program, Convolutions, portable))
    method = model.default
    method._sizes = None  # as where they depend on data
    most = 0
    is_done = threading.Event()

    def watch() -> None:
        nonlocal most
        while not is_done.is_set():
            most = max(most, arena.resident_bytes())

    watcher = threading.Thread(target=watch)
    watcher.start()
    for edge in range(16, BOUND + 1, 2):  # each size for the first time
        method.run(image(edge))
    is_done.set()
    watcher.join()
    memory = method.memory()
    assert memory.lazy_runs == memory.runs
    tensors = 16  # more than the method has planned ones
    assert most <= memory.arena_bytes + tensors * PAGE_BYTES
    assert arena.resident_bytes() == told_by_the_system() == 0
