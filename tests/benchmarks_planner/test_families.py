"""The generated problems are what they say; nothing of the planners is used."""

from __future__ import annotations

import itertools

import pytest
from benchmarks.planner import checking
from benchmarks.planner.families import FAMILIES, TEST_ONLY, TUNE, make
from benchmarks.planner.greedy import executorch, first_fit
from benchmarks.planner.instances import Instance, height, load, published
from benchmarks.planner.tasks import Task, Unsupported

from onearena.problem import Buffer

SIZES = (12, 60)
SEEDS = (*TUNE[:4], *TEST_ONLY[:4])
CASES = list(itertools.product(FAMILIES, SIZES, SEEDS))


def _bytes_at(buffer: Buffer, offset: int, step: int) -> range:
    if not any(life.start <= step < life.end for life in buffer.lifetime):
        return range(0)
    for window in buffer.windows:
        if window.lifetime.start <= step < window.lifetime.end:
            return range(offset + window.start_byte, offset + window.end_byte)
    return range(offset, offset + buffer.size_bytes)


def _naive_load(instance: Instance, *, aligned: bool) -> int:
    """The most that is needed at one step, by going through all of them.

    `aligned`: all alignments are equal. What lies under another buffer needs a multiple.
    """
    loads = []
    buffers = instance.problem.buffers
    for step in sorted({life.start for b in buffers for life in b.lifetime}):
        sizes = [len(_bytes_at(b, 0, step)) for b in buffers]
        losses = [-size % buffers[0].alignment if aligned else 0 for size in sizes]
        loads.append(sum(sizes) + sum(losses) - max(losses))
    return max(loads)


@pytest.mark.parametrize(("family", "buffers", "seed"), CASES)
def test_witness_is_a_plan(family: str, buffers: int, seed: int) -> None:
    instance = make(family, buffers, seed)
    steps = {
        step for b in instance.problem.buffers for life in b.lifetime for step in (life.start,)
    }
    steps |= {w.lifetime.start for b in instance.problem.buffers for w in b.windows}
    steps |= {w.lifetime.end for b in instance.problem.buffers for w in b.windows}
    pairs = list(zip(instance.problem.buffers, instance.witness, strict=True))
    for step in steps:
        spans = sorted((s.start, s.stop) for b, o in pairs if (s := _bytes_at(b, o, step)))
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))
    for buffer, offset in pairs:
        assert offset >= 0
        assert offset % buffer.alignment == 0
        assert buffer.offset in (None, offset)
    assert checking.fault(instance.problem, instance.witness) is None


@pytest.mark.parametrize(("family", "buffers", "seed"), CASES)
def test_optimum_is_what_one_step_needs(family: str, buffers: int, seed: int) -> None:
    instance = make(family, buffers, seed)
    assert instance.optimum == height(instance.problem, instance.witness)
    assert instance.optimum == _naive_load(instance, aligned=family == "aligned")
    if family != "aligned":
        assert instance.optimum == load(instance.problem)


@pytest.mark.parametrize("family", FAMILIES)
def test_deterministic_and_about_as_large_as_asked_for(family: str) -> None:
    first, second = make(family, 200, 7), make(family, 200, 7)
    assert first == second
    assert first.problem != make(family, 200, 8).problem
    assert 150 <= first.buffers <= 270


@pytest.mark.parametrize(("family", "buffers", "seed"), CASES)
def test_greedy_planners_make_plans(family: str, buffers: int, seed: int) -> None:
    instance = make(family, buffers, seed)
    assert checking.fault(instance.problem, first_fit(instance.problem)) is None
    try:
        (answer,) = executorch(Task(instance, 1.0))
    except Unsupported:
        assert family in ("mixed", "pinned", "gapped")
    else:
        assert checking.fault(instance.problem, answer.offsets) is None


def test_seeds_are_apart() -> None:
    assert not set(TUNE) & set(TEST_ONLY)


def test_published_instances() -> None:
    counts = {name: len(published(name)) for name in ("minimalloc", "plans", "idealloc")}
    assert counts == {"minimalloc": 11, "plans": 7, "idealloc": 3}
    (a, *others) = published("minimalloc")
    assert (a.name, a.buffers, a.capacity) == ("A", 154, 1_048_576)
    assert all(load(other.problem) <= 1_048_576 for other in others)


def test_checker_finds_faults() -> None:
    instance = make("aligned", 12, 0)
    good = list(instance.witness)
    assert "overlap" in (checking.fault(instance.problem, [0] * len(good)) or "")
    assert "multiple" in (checking.fault(instance.problem, [good[0] + 1, *good[1:]]) or "")
    assert "offsets for" in (checking.fault(instance.problem, good[1:]) or "")
