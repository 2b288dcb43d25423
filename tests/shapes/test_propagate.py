"""Programs built by hand: numbers, jumps, loops, and what cannot be known."""

from __future__ import annotations

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.errors import UsageError
from onearena.program import AnalysedMethod, analyse_method
from onearena.pte.container import PteFile
from onearena.shapes import propagate
from onearena.shapes.live import LiveShapes, live_sizes
from onearena.shapes.rules.call import Dims
from tests.delegates.nets import Net
from tests.pte.build import BOOL, DYNAMIC_BOUND, DYNAMIC_UNBOUND, LONG, Method, pte_file
from tests.timeline.build import program, xnnpack


class Program(Method):
    """A method whose tensors have room of their own."""

    def __init__(self) -> None:
        super().__init__()
        self._end = 0

    def dynamic(self, *bound: int, shape_dynamism: int = DYNAMIC_BOUND, **fields: int) -> int:
        """A planned tensor of at most this shape."""
        self._end += 4096
        return self.tensor(*bound, offset=self._end - 4096, shape_dynamism=shape_dynamism, **fields)

    def analysed(self, file: PteFile | None = None) -> AnalysedMethod:
        file = file or pte_file(self)
        return analyse_method(file, (file.program.execution_plan or ())[0])

    def live(self, *dims: int) -> LiveShapes:
        """At this shape of the first input."""
        return live_sizes(self.analysed(), {0: dims})


def test_numbers_become_shapes() -> None:
    """view(x, [x.size(0) // 2, -1]), whose rows are then counted."""
    method = Program()
    a, b = method.dynamic(8, 6), method.dynamic(4, 12)
    size, half = method.integer(0), method.integer(0)
    method.input(a).output(b)
    method.call("aten::sym_size.int", a, method.integer(0), size)
    method.call("executorch_prim::floordiv.Scalar", size, method.integer(2), half)
    shape = method.int_list(half, method.integer(-1))
    method.call("aten::view_copy.out", a, shape, b, b)
    live = method.live(6, 6)
    assert live.dims[b] == (3, 12)
    assert live.size_bytes[b] == 3 * 12 * 4
    with pytest.raises(UsageError, match=r"instruction 2 \(aten::view_copy.out\)"):
        method.live(7, 5)


def test_views_and_in_place_operators_and_moves_hand_on_shapes() -> None:
    method = Program()
    a, view, handle, moved, out = (method.dynamic(8, 6) for _ in range(5))
    method.input(a).output(out)
    shape = method.int_list(method.integer(-1), method.integer(6))
    method.call("executorch_prim::et_view.default", a, shape, view)
    method.call("aten::relu_", view, handle)
    method.move(handle, moved)
    method.call("aten::exp.out", moved, out, out)
    live = method.live(3, 6)
    assert [live.dims[v] for v in (view, handle, moved, out)] == [(3, 6)] * 4
    assert not live.unknown


def test_static_tensors_and_bounds_are_kept() -> None:
    method = Program()
    a, fixed, small = method.dynamic(8, 6), method.tensor(8, 6, offset=9000), method.dynamic(4, 6)
    method.input(a).output(a)
    method.call("aten::exp.out", a, fixed, fixed)
    with pytest.raises(UsageError, match="value 1 is 8x6 and static"):
        method.live(4, 6)
    method.instructions.clear()
    method.call("aten::exp.out", a, small, small)
    assert method.live(4, 6).dims[small] == (4, 6)
    with pytest.raises(UsageError, match="value 2 is 4x6 at the most"):
        method.live(5, 6)


def _branches(first: str, second: str, on_size: bool) -> tuple[Program, int, int]:
    """`first(x) if c else second(x)`, c computed from a size or from data, as exporters emit it."""
    method = Program()
    a, kept = method.dynamic(8, 6), method.dynamic(8, 6)
    out, after = method.dynamic(8, 6), method.dynamic(8, 6)
    condition = method.boolean(False)
    method.input(a).output(after)
    if on_size:
        size = method.integer(0)
        method.call("aten::sym_size.int", a, method.integer(0), size)
        method.call("executorch_prim::gt.Scalar", size, method.integer(4), condition)
    else:
        truth, answer = method.tensor(scalar_type=BOOL, offset=60000), method.integer(0)
        method.call("aten::any.all_out", a, truth, truth)
        method.call("aten::_local_scalar_dense", truth, answer)
        method.call("executorch_prim::eq.Scalar", answer, method.integer(1), condition)
    jump = len(method.instructions)
    method.jump_if_false(condition, jump + 4)
    for operator in (first, second):
        extra = (method.integer(1),) * 2 if operator == "aten::narrow_copy.out" else ()
        args = (method.integer(0), *extra) if extra else ()
        method.call(operator, a, *args, kept, kept)
        method.move(kept, out)
        if operator == first:
            method.jump_if_false(method.boolean(False), jump + 6)
    method.call("aten::exp.out", out, after, after)
    return method, out, after


def test_a_jump_on_a_size_is_followed() -> None:
    method, _, after = _branches("aten::exp.out", "aten::narrow_copy.out", on_size=True)
    assert method.live(6, 6).dims[after] == (6, 6)
    assert method.live(4, 6).dims[after] == (1, 6)


def test_after_a_jump_on_data_only_what_both_ways_agree_on_is_known() -> None:
    method, _, after = _branches("aten::exp.out", "aten::sin.out", on_size=False)
    assert method.live(6, 6).dims[after] == (6, 6)
    method, out, after = _branches("aten::exp.out", "aten::narrow_copy.out", on_size=False)
    live = method.live(6, 6)
    assert {out, after} <= live.unknown.keys()
    assert "depends on" in live.unknown[after].reason
    assert after not in live.size_bytes


def _loop(steps: int | None) -> tuple[Program, int, int]:
    """out[i] = exp(x[i]) for every row, as the exporter emits `map`; None: a count from data."""
    method = Program()
    a, row, out = method.dynamic(8, 6), method.dynamic(6), method.dynamic(8, 6)
    method.input(a).output(out)
    count, index, done = method.integer(0), method.integer(0), method.boolean(False)
    if steps is None:
        method.call("aten::_local_scalar_dense", a, count)
    else:
        method.call("aten::sym_size.int", a, method.integer(0), count)
    method.call("aten::select_copy.int_out", a, method.integer(0), index, row, row)
    method.call("executorch_prim::et_copy_index.tensor", out, row, index)
    method.call("executorch_prim::add.Scalar", index, method.integer(1), index)
    method.call("executorch_prim::eq.Scalar", index, count, done)
    method.jump_if_false(done, 1)
    return method, row, out


def test_a_loop_over_rows_is_run() -> None:
    method, row, out = _loop(5)
    live = method.live(5, 6)
    assert live.dims[row] == (6,)
    assert live.dims[out] == (5, 6)


def test_a_loop_whose_count_depends_on_the_data_ends() -> None:
    method, row, out = _loop(None)
    live = method.live(5, 6)
    assert live.dims[row] == (6,)
    assert out in live.unknown


def test_an_endless_loop_is_given_up() -> None:
    """A jump that is always taken backwards; a number that would grow without end."""
    method = Program()
    a, out, number = method.dynamic(8, 6), method.dynamic(8, 6), method.integer(3)
    method.input(a).output(out)
    method.call("executorch_prim::mul.Scalar", number, number, number)
    method.call("aten::exp.out", a, out, out)
    method.jump_if_false(method.boolean(False), 0)
    live = method.live(5, 6)
    assert live.dims[out] == (5, 6)


def test_a_method_that_takes_too_long_to_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    method, row, out = _loop(None)
    monkeypatch.setattr(propagate, "_MAX_OPERANDS", 4)
    live = method.live(5, 6)
    assert {row, out} <= live.unknown.keys()
    assert "too long to follow" in live.unknown[row].reason


def test_a_call_in_a_loop_counts_with_its_largest_shapes() -> None:
    """tanh over the first 3, then 2, then 1 rows: the last run is not the largest."""
    net = Net()
    source, target = net.input(8, 6), net.output(8, 6)
    net.unary(x.XNNTanh, source, target)
    method = Program()
    a, part, out = method.dynamic(8, 6), method.dynamic(8, 6), method.dynamic(8, 6)
    method.input(a).output(out)
    count, done, zero = method.integer(3), method.boolean(False), method.integer(0)
    method.call("aten::narrow_copy.out", a, zero, zero, count, part, part)
    xnnpack(method, part, out)
    method.call("executorch_prim::sub.Scalar", count, method.integer(1), count)
    method.call("executorch_prim::eq.Scalar", count, zero, done)
    method.jump_if_false(done, 0)
    live = live_sizes(method.analysed(program(method, net)), {0: (5, 6)})
    assert live.dims[part] == live.dims[out] == (3, 6)
    assert live.inner[1] == {0: (3, 6), 1: (3, 6)}


def test_ignorance_names_where_it_began() -> None:
    method = Program()
    a, found = method.dynamic(8, 6), method.dynamic(48, 2, scalar_type=LONG)
    double, other, strange = method.dynamic(96, 2), method.dynamic(8, 6), method.dynamic(8, 6)
    method.input(a).output(double, other, strange)
    method.call("aten::nonzero.out", a, found, found)
    method.call(
        "aten::cat.out", method.tensor_list(found, found), method.integer(0), double, double
    )
    method.call("aten::exp.out", a, other, other)
    method.call("acme::twirl.out", a, strange, strange)
    never = method.dynamic(3)
    live = method.live(2, 6)
    assert live.dims[other] == (2, 6)
    assert live.unknown.keys() == {found, double, strange, never}
    for value in (found, double):
        assert (live.unknown[value].instruction, live.unknown[value].operator) == (
            0,
            "aten::nonzero.out",
        )
    assert str(live.unknown[strange]) == (
        "instruction 3 (acme::twirl.out): no rule for this operator"
    )


def test_a_delegate_that_is_not_known_gives_unknown_outputs() -> None:
    method = Program()
    a, out = method.dynamic(8, 6), method.dynamic(8, 6)
    method.input(a).output(out)
    method.call_delegate(method.delegate("AcmeBackend", 0), a, out)
    live = live_sizes(method.analysed(pte_file(method, segments=[b"?"])), {0: (4, 6)})
    assert str(live.unknown[out]) == ("instruction 0 (AcmeBackend): its payload is not understood")


def test_unbounded_tensors() -> None:
    method = Program()
    a = method.dynamic(8, 6)
    free = method.tensor(1, 1, shape_dynamism=DYNAMIC_UNBOUND)
    method.input(a).output(free)
    method.call("aten::repeat.out", a, method.int_list(method.integer(99)), free, free)
    with pytest.raises(UsageError, match="cannot repeat"):
        method.live(2, 6)
    method.instructions.clear()
    twice = method.int_list(method.integer(9), method.integer(9))
    method.call("aten::repeat.out", a, twice, free, free)
    assert method.live(2, 6).dims[free] == (18, 54)


def _through_xnnpack(order: tuple[int, ...]) -> tuple[Program, PteFile, int]:
    """exp, then XNNPACK doubles the channels (last in storage), then exp."""
    net = Net()
    source, target = net.input(2, 8, 6, 4), net.output(2, 8, 6, 8)
    net.concatenate([source, source], target, axis=3)
    method = Program()
    bound = [0, 0, 0, 0]
    wide = [0, 0, 0, 0]
    for axis, size in zip(order, (2, 8, 6, 4), strict=True):
        bound[axis] = size
        wide[axis] = 8 if size == 4 else size
    a = method.dynamic(*bound, dim_order=order)  # type: ignore[arg-type]
    b = method.dynamic(*wide, dim_order=order)  # type: ignore[arg-type]
    c = method.dynamic(*wide, dim_order=order)  # type: ignore[arg-type]
    method.input(a).output(c)
    xnnpack(method, a, b)
    method.call("aten::exp.out", b, c, c)
    return method, program(method, net), c


@pytest.mark.parametrize(
    ("order", "given", "expected"),
    [
        ((0, 1, 2, 3), (2, 5, 6, 4), (2, 5, 6, 8)),
        ((0, 2, 3, 1), (2, 4, 5, 3), (2, 8, 5, 3)),  # channels last
    ],
)
def test_payloads_see_shapes_in_storage_order(
    order: tuple[int, ...], given: Dims, expected: Dims
) -> None:
    method, file, last = _through_xnnpack(order)
    live = live_sizes(method.analysed(file), {0: given})
    assert live.dims[last] == expected
    assert sorted(live.inner[0].values()) == sorted(  # type: ignore[type-var]
        [tuple(given[axis] for axis in order), tuple(expected[axis] for axis in order)]
    )


def test_a_payload_that_refuses_its_arguments_names_the_node() -> None:
    net = Net()
    first, second, target = net.input(2, 8), net.input(2, 8), net.output(2, 8)
    net.binary(x.XNNAdd, first, second, target)
    method = Program()
    a, b, c = (method.dynamic(2, 8) for _ in range(3))
    method.input(a, b).output(c)
    xnnpack(method, a, b, c)
    analysed = method.analysed(program(method, net))
    assert live_sizes(analysed, {0: (2, 1)}).dims[c] == (2, 8)
    with pytest.raises(UsageError, match=r"node 0 \(XNNPACK Add\) cannot join shapes 2x3, 2x8"):
        live_sizes(analysed, {0: (2, 3)})
