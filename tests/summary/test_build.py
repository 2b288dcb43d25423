"""Summaries of real programs: every number against the file itself."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch

from onearena import optimize
from onearena.lifetime import intersects
from onearena.program import analyse_method, inner_values
from onearena.pte.reader import open_pte
from onearena.pte.schema import Tensor
from onearena.summary.build import summarize
from onearena.summary.model import Kind, MethodSummary, ProgramSummary, StepKind
from tests.advice import nets
from tests.cases.lowering import lower, planned, portable


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("summary") / "model.pte"
    inputs = (torch.zeros(1, 3, 32, 32),)
    path.write_bytes(lower(nets.Upsampling("nearest"), inputs))
    return path


@pytest.fixture(scope="module")
def optimized(path: Path) -> Path:
    output = path.with_name("optimized.pte")
    optimize(path, output)
    return output


def only(summary: ProgramSummary) -> MethodSummary:
    (method,) = summary.methods
    return method


def test_every_planned_tensor_is_there_once(path: Path, optimized: Path) -> None:
    for program in (path, optimized):
        method = only(summarize(program))
        with open_pte(program) as file:
            plan = (file.program.execution_plan or ())[0]
        expected = {
            k: (v.val.allocation_info.memory_id, v.val.allocation_info.offset)
            for k, v in enumerate(plan.values or ())
            if isinstance(v.val, Tensor) and v.val.allocation_info is not None
        }
        assert {t.value: (t.arena, t.offset) for t in method.tensors} == expected
        assert [b.number for b in method.blocks] == list(range(len(method.blocks)))
        named = [t for block in method.blocks for t in block.tensors]
        assert sorted(named) == list(range(len(method.tensors)))


def test_sizes_agree_with_the_file(path: Path, optimized: Path) -> None:
    for program in (path, optimized):
        summary = summarize(program)
        method = only(summary)
        with open_pte(program) as file:
            plan = (file.program.execution_plan or ())[0]
            analysed = analyse_method(file, plan)
        assert summary.file_bytes == program.stat().st_size
        assert method.arena_bytes == sum((plan.non_const_buffer_sizes or ())[1:])
        assert method.workspace.global_bytes == analysed.workspace_bytes
        for arena in method.arenas:
            assert arena.peak_bytes <= arena.size_bytes
            assert len(arena.live_bytes) == len(method.steps)
            assert arena.live_bytes[arena.peak_step or 0] == arena.peak_bytes


def _pairs(method: MethodSummary) -> Iterator[tuple[int, int]]:
    yield from ((a, b) for a in range(len(method.blocks)) for b in range(a))


def test_blocks_that_are_alive_together_lie_apart(path: Path) -> None:
    method = only(summarize(path))
    for first, second in _pairs(method):
        for one in method.blocks[first].rectangles:
            for other in method.blocks[second].rectangles:
                together = one.start < other.end and other.start < one.end
                assert not (together and one.low < other.high and other.low < one.high)


def test_kinds(path: Path, optimized: Path) -> None:
    before, after = only(summarize(path)), only(summarize(optimized))
    assert {t.kind for t in before.tensors} == {Kind.INPUT, Kind.OUTPUT, Kind.ACTIVATION}
    inner = [t for t in after.tensors if t.kind is Kind.INNER]
    assert len(inner) == len(after.tensors) - len(before.tensors) > 0
    assert {d.is_opened for d in before.delegates} == {False}
    assert any(d.is_opened for d in after.delegates)
    assert (before.optimized_by is None, after.optimized_by is None) == (True, False)


def test_inner_tensors_are_known_without_a_record(optimized: Path) -> None:
    """What a call writes and only itself reads was opened, whoever opened it."""
    method = only(summarize(optimized))
    for tensor in method.tensors:
        writers = {method.steps[s].instruction for s in tensor.producers}
        readers = {method.steps[s].instruction for s in tensor.consumers}
        if tensor.kind is Kind.INNER and readers:
            assert readers <= writers


def test_a_record_of_more_values_than_there_are(path: Path) -> None:
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        steps = analyse_method(file, plan).steps
    count = len(steps.plan.values or ())
    assert inner_values(steps, (count - 1, 1 << 60)) == {count - 1}
    assert inner_values(steps, (-(1 << 60), 1)) == {0}


def test_steps_are_told_apart(path: Path) -> None:
    method = only(summarize(path))
    kernels = [step for step in method.steps if step.kind is StepKind.KERNEL]
    assert [step.label for step in kernels] == ["aten::upsample_nearest2d.vec_out"]
    assert method.steps[0].kind is StepKind.ENTRY
    assert method.steps[-1].kind is StepKind.EXIT


def test_what_the_caller_brings(tmp_path: Path) -> None:
    path = tmp_path / "model.pte"
    config = planned(alloc_graph_input=False, alloc_graph_output=False)
    inputs = (torch.zeros(2, 8), torch.zeros(2, 8))
    path.write_bytes(lower(nets.Joining(), inputs, partitioners=portable, config=config))
    method = only(summarize(path))
    found = [(u.name, u.size_bytes) for u in method.unplanned]
    assert found == [("input 0", 64), ("input 1", 64), ("output 0", 16)]


def test_alive_at_lists_each_memory_once(path: Path) -> None:
    method = only(summarize(path))
    arena = method.peak_arena()
    assert arena is not None
    assert arena.peak_step is not None
    alive = method.alive_at(arena.peak_step, arena.memory_id)
    assert sum(t.size_bytes for t in alive) == arena.peak_bytes
    assert [t.size_bytes for t in alive] == sorted((t.size_bytes for t in alive), reverse=True)
    step = arena.peak_step
    for tensor in alive:
        assert any(i.start <= step < i.end for i in tensor.lifetime)
    assert all(intersects(t.lifetime, alive[0].lifetime) for t in alive)
