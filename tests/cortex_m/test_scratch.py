"""Scratch in the timeline: written during one instruction, dead before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from onearena import optimize
from onearena.cortex_m.calls import cortex_calls
from onearena.lifetime import Interval
from onearena.program import analyse_method
from onearena.pte.reader import open_pte
from onearena.pte.tensors import tensor_bytes
from onearena.timeline.build import Timeline, build_timeline
from onearena.timeline.steps import method_steps
from tests.cortex_m.programs import TARGETS, committed, pool_call
from tests.pte.build import BYTE, Method


def timeline_of(method: Method) -> Timeline:
    return build_timeline(method_steps(method.plan(), {}, "test"))


def test_it_lives_for_one_instruction() -> None:
    method, values = pool_call(256)
    timeline = timeline_of(method)
    roles = timeline.method.steps[1].roles
    assert (roles.reads, roles.scratch) == ((values["input"],), (values["scratch"],))
    assert roles.writes == (values["scratch"], values["out"])
    assert timeline.storage.lifetimes[values["scratch"]] == (Interval(1, 2),)
    assert not timeline.storage.state
    assert not timeline.storage.pinned


def test_between_two_instructions_that_have_it_it_is_dead() -> None:
    method, values = pool_call(256)
    between = method.tensor(64, scalar_type=BYTE, offset=2048)
    method.call("aten::relu.out", values["input"], between, between)
    method.instructions.append(method.instructions[0])
    timeline = timeline_of(method)
    assert timeline.storage.lifetimes[values["scratch"]] == (Interval(1, 2), Interval(3, 4))


def test_without_bytes_it_is_nothing() -> None:
    method, values = pool_call(0)
    timeline = timeline_of(method)
    roles = timeline.method.steps[1].roles
    assert (roles.reads, roles.writes) == ((values["input"],), (values["out"],))
    assert values["scratch"] not in timeline.buffer_of


def test_a_constant_is_no_scratch() -> None:
    method, values = pool_call(256, offset=None, data_buffer_idx=1)
    roles = timeline_of(method).method.steps[1].roles
    assert roles.reads == (values["input"], values["scratch"])
    assert not roles.scratch


def test_scratch_that_is_an_operand_too_is_still_read() -> None:
    method = Method()
    image = method.tensor(1, 64, 2, 2, scalar_type=BYTE, offset=0)
    out = method.tensor(1, 64, 1, 1, scalar_type=BYTE, offset=512)
    other = [method.int_list()] * 3 + [method.boolean(False)] + [method.integer(0)] * 3
    method.input(image).output(out)
    method.call("cortex_m::quantized_avg_pool2d.out", image, *other, image, out, out)
    roles = timeline_of(method).method.steps[1].roles
    assert (roles.reads, roles.writes, roles.scratch) == ((image,), (image, out), (image,))


def test_an_exporters_overlap_is_no_alias() -> None:
    """Scratch over the input would be overwritten while it is read: they are put apart."""
    method, values = pool_call(256, offset=0)
    timeline = timeline_of(method)
    assert not timeline.storage.groups
    buffers = timeline.problem.buffers
    a, b = (buffers[timeline.buffer_of[values[name]]] for name in ("input", "scratch"))
    assert a.lifetime[0].start <= b.lifetime[0].start < a.lifetime[-1].end


def test_an_unknown_form_is_read_like_any_operator() -> None:
    method = Method()
    x, y, z = (method.tensor(16, scalar_type=BYTE, offset=16 * k) for k in range(3))
    method.input(x).output(z)
    method.call("cortex_m::quantized_conv2d.out", x, y, z, z)
    roles = timeline_of(method).method.steps[1].roles
    assert (roles.reads, roles.writes, roles.scratch) == ((x, y), (z,), ())


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", ["conv2d_x3", "operators"])
def test_exported_programs(name: str, target: str) -> None:
    """Every scratch of every call is found, and nothing is pinned or taken for state."""
    with open_pte(committed(name, target)) as file:
        plan = (file.program.execution_plan or ())[0]
        analysed = analyse_method(file, plan)
        storage, steps = analysed.timeline.storage, analysed.steps.steps
        assert not storage.pinned
        assert not storage.state
        for call in cortex_calls(plan):
            assert call.schema is not None
            given = [call.args[k] for k in call.schema.scratch]
            sized = tuple(v for v in given if tensor_bytes(analysed.steps.tensor(v)))
            position = analysed.steps.first_step[call.instruction]
            assert steps[position].roles.scratch == sized
            for value in sized:
                assert storage.lifetimes[value] == (Interval(position, position + 1),)


def test_large_values_are_aligned_as_the_core_needs_it() -> None:
    """64 bytes are for caches and vectors that no Cortex-M has."""
    small, _ = pool_call(0, channels=1000)
    alignments = {b.alignment for b in timeline_of(small).problem.buffers}
    assert alignments == {16}


@pytest.mark.parametrize(
    ("name", "target", "before", "after"),
    [
        ("conv2d_x3", "cortex-m55", 2560, 2560),
        ("conv2d_x3", "cortex-m4", 2560, 2560),
        ("conv2d_x3", "cortex-m0", 2560, 2560),
        ("operators", "cortex-m55", 5040, 5040),
    ],
)
def test_plans_reach_their_bound(
    name: str, target: str, before: int, after: int, tmp_path: Path
) -> None:
    report = optimize(committed(name, target), tmp_path / "small.pte").methods[0]
    assert report.after is not None
    assert (report.before.arena_bytes, report.after.arena_bytes) == (before, after)
    assert report.lower_bound_bytes == after
