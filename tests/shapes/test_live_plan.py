"""Arenas and workspaces at live shapes, on programs whose plans are known by hand."""

from __future__ import annotations

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.errors import UsageError
from onearena.shapes.effects import live_footprint
from onearena.shapes.live import inner_sizes, live_sizes
from onearena.shapes.live_plan import plan_at
from tests.delegates.nets import Net
from tests.pte.build import LONG, pte_file
from tests.shapes.test_propagate import Program
from tests.timeline.build import program, xnnpack


def _chain() -> tuple[Program, int]:
    """Three kernels in a row, in place: one tensor is alive at any time."""
    method = Program()
    a, b, c, d = (method.dynamic(16, 64) for _ in range(4))
    method.input(a).output(d)
    for source, target in ((a, b), (b, c), (c, d)):
        method.call("aten::exp.out", source, target, target)
    return method, a


def test_one_tensor_is_alive_at_any_time() -> None:
    analysed = _chain()[0].analysed()
    found = plan_at(analysed, {0: (4, 64)})
    assert found.footprint.arena_bytes == 4 * 64 * 4
    assert found.footprint.workspace_bytes == 0
    assert found.optimal
    assert not found.notes
    answer = live_footprint(analysed, {0: (4, 64)})
    assert answer.in_file.arena_bytes == 4 * 4096
    assert answer.bound.arena_bytes == answer.bound_exactly.arena_bytes == 4096
    assert answer.live == found.footprint
    (effect,) = answer.by_dimension
    assert effect.saved_bytes == 12 * 64 * 4
    assert [(d.input, d.dim, d.bound, d.live) for d in effect.dimensions] == [(0, 0, 16, 4)]


def test_small_sizes_are_aligned_as_in_any_plan() -> None:
    assert plan_at(_chain()[0].analysed(), {0: (1, 1)}).footprint.arena_bytes == 16
    assert plan_at(_chain()[0].analysed(), {0: (5, 55)}).footprint.arena_bytes == 1152


def test_an_unknown_tensor_counts_with_its_bound() -> None:
    method = Program()
    a, found = method.dynamic(16, 64), method.dynamic(1024, 2, scalar_type=LONG)
    method.input(a).output(found)
    method.call("aten::nonzero.out", a, found, found)
    plan = plan_at(method.analysed(), {0: (4, 64)})
    assert plan.footprint.arena_bytes == 4 * 64 * 4 + 1024 * 2 * 8
    assert plan.notes == (
        "tensors of unknown shape that count with their bounds: 1 (instruction 0 "
        "(aten::nonzero.out): its size depends on the data)",
    )
    assert live_footprint(method.analysed(), {0: (4, 64)}).unknown.keys() == {found}


def test_tensors_inside_others_keep_their_distance() -> None:
    """The second half of a buffer, written by a kernel, read as part of the whole."""
    method = Program()
    a, whole = method.dynamic(16, 64), method.tensor(16, 64, offset=40960)
    half = method.tensor(8, 64, offset=40960 + 2048, shape_dynamism=1)
    out = method.dynamic(16, 64)
    method.input(a).output(out)
    shape, zero = method.int_list(method.integer(16), method.integer(64)), method.integer(0)
    method.call("aten::full.out", shape, zero, whole, whole)
    method.call("aten::narrow_copy.out", a, zero, zero, method.integer(2), half, half)
    method.call("aten::exp.out", whole, out, out)
    plan = plan_at(method.analysed(), {0: (4, 64)})
    assert any("keep the distances of the bound: 1 (values" in note for note in plan.notes)
    groups = plan.timeline.problem.groups
    assert [[member.delta for member in group] for group in groups] == [[0, 2048]]


def test_what_is_not_understood_keeps_its_offset() -> None:
    method = Program()
    a, b = method.dynamic(16, 64), method.dynamic(16, 64)
    method.input(a).output(b)
    method.call("acme::twirl", a, b, method.none(), a)
    plan = plan_at(method.analysed(), {0: (4, 64)})
    assert any("keep their offsets" in note for note in plan.notes)
    assert plan.footprint.arena_bytes >= 4096


def test_a_delegate_that_is_not_known() -> None:
    method = Program()
    a, b = method.dynamic(16, 64), method.dynamic(16, 64)
    method.input(a).output(b)
    method.call_delegate(method.delegate("AcmeBackend", 0), a, b)
    file = pte_file(method, segments=[b"?"])
    notes = plan_at(method.analysed(file), {0: (4, 64)}).notes
    assert any("whose workspace is not counted: 1 (instruction 0)" in note for note in notes)


def _hidden() -> tuple[Program, Net]:
    """Two tensors inside an XNNPACK call, that is: in its workspace."""
    net = Net()
    source, target = net.input(16, 64), net.output(16, 32)
    first, second = net.inner(16, 128), net.inner(16, 128)
    net.linear(source, first)
    net.unary(x.XNNTanh, first, second)
    net.linear(second, target)
    method = Program()
    a, b = method.dynamic(16, 64), method.dynamic(16, 32)
    method.input(a).output(b)
    xnnpack(method, a, b)
    return method, net


def test_tensors_inside_a_call_and_its_workspace() -> None:
    method, net = _hidden()
    analysed = method.analysed(program(method, net))
    live = live_sizes(analysed, {0: (4, 64)})
    inner = inner_sizes(analysed, live)[0]
    assert [inner[k] for k in range(4)] == [4 * 64 * 4, 4 * 32 * 4, 4 * 128 * 4, 4 * 128 * 4]
    at_bound, at_live = plan_at(analysed, {}).footprint, plan_at(analysed, {0: (4, 64)}).footprint
    assert at_bound.workspace_bytes == analysed.workspace_bytes
    saved = at_bound.workspace_bytes - at_live.workspace_bytes
    assert saved == 12 * 128 * 4  # the tanh works in place


def test_a_program_that_refuses_its_own_bound() -> None:
    """x reshaped to rows of 6, where the bound of x is 8 numbers."""
    method = Program()
    a, b = method.dynamic(8), method.dynamic(2, 6)
    method.input(a).output(b)
    shape = method.int_list(method.integer(-1), method.integer(6))
    method.call("aten::view_copy.out", a, shape, b, b)
    analysed = method.analysed()
    with pytest.raises(UsageError):
        plan_at(analysed, {})
    answer = live_footprint(analysed, {0: (6,)})
    assert answer.live.arena_bytes == 32  # the copy is made in place
    assert answer.bound_exactly == answer.bound
    assert any("refuses its own bound" in note for note in answer.notes)


def test_dimensions_that_the_program_refuses_apart() -> None:
    """x and y are added: neither can be shorter alone; rows of z can."""
    method = Program()
    a, b, c, out = (method.dynamic(16, 64) for _ in range(4))
    z, last = method.dynamic(16, 64), method.dynamic(16, 64)
    method.input(a, b, z).output(out, last)
    method.call("aten::add.out", a, b, method.integer(1), c, c)
    method.call("aten::exp.out", c, out, out)
    method.call("aten::exp.out", z, last, last)
    shapes = {0: (4, 64), 1: (4, 64), 2: (8, 64)}
    effects = live_footprint(method.analysed(), shapes).by_dimension
    assert [[(d.input, d.dim) for d in e.dimensions] for e in effects] == [
        [(0, 0), (1, 0)],
        [(2, 0)],
    ]
    # a, b and z are alive together; the kernels work in place
    assert effects[0].saved_bytes == 3 * 4096 - (4096 + 2 * 1024)
    assert effects[1].saved_bytes == 4096 - 2048


def test_only_dimensions_of_one_bound_are_tied() -> None:
    method = Program()
    a, b, first = (method.dynamic(16, 64) for _ in range(3))
    c, d, second = (method.dynamic(8, 64) for _ in range(3))
    method.input(a, b, c, d).output(first, second)
    method.call("aten::add.out", a, b, method.integer(1), first, first)
    method.call("aten::add.out", c, d, method.integer(1), second, second)
    shapes = dict.fromkeys(range(4), (4, 64))
    effects = live_footprint(method.analysed(), shapes).by_dimension
    assert [[d.input for d in effect.dimensions] for effect in effects] == [[0, 1], [2, 3]]


def test_a_known_shape_lets_a_sum_work_in_place() -> None:
    """One plan for all shapes must expect that an operand is broadcast; an exact one knows."""
    net = Net()
    one, two, total = net.input(16, 64), net.input(16, 64), net.output(16, 64)
    net.binary(x.XNNAdd, one, two, total)
    method = Program()
    a, b, c = (method.dynamic(16, 64) for _ in range(3))
    method.input(a, b).output(c)
    xnnpack(method, a, b, c)
    answer = live_footprint(method.analysed(program(method, net)), {0: (8, 64), 1: (8, 64)})
    tail = 64
    assert answer.bound.arena_bytes == 3 * 4096 + tail
    assert answer.bound_exactly.arena_bytes == 2 * 4096 + tail
    assert answer.live.arena_bytes == 2 * 2048 + tail
    assert [effect.saved_bytes for effect in answer.by_dimension] == [4096]


def test_an_input_without_memory_of_its_own() -> None:
    method = Program()
    a, b = method.tensor(16, 64, shape_dynamism=1), method.dynamic(16, 64)
    method.input(a).output(b)
    method.call("aten::exp.out", a, b, b)
    assert plan_at(method.analysed(), {0: (4, 64)}).footprint.arena_bytes == 4 * 64 * 4


def test_two_arenas_are_added_up() -> None:
    method = Program()
    a = method.dynamic(16, 64)
    b = method.tensor(16, 64, shape_dynamism=1, offset=0, memory_id=2)
    method.input(a).output(b)
    method.call("aten::exp.out", a, b, b)
    assert plan_at(method.analysed(), {0: (4, 64)}).footprint.arena_bytes == 2 * 4 * 64 * 4
