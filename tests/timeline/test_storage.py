"""Views, state, values that share memory, and what is pinned."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from tests.pte.build import BOOL, DYNAMIC_BOUND, DYNAMIC_UNBOUND, Method
from tests.timeline.build import alive, storage_of

RELU = "aten::relu.out"
Work = Sequence[tuple[str, int, int]]


def cond(method: Method, first: Work, second: Work) -> None:
    """if c: first else: second; the condition is an input without a place."""
    start = len(method.instructions)
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(condition)
    method.jump_if_false(condition, start + len(first) + 2)
    for name, source, target in first:
        _work(method, name, source, target)
    method.jump_if_false(method.boolean(False), start + len(first) + len(second) + 2)
    for name, source, target in second:
        _work(method, name, source, target)


def _work(method: Method, name: str, source: int, target: int) -> None:
    if name == "move":
        method.move(source, target)
    else:
        method.call(name, source, target, target)


def _tensors(method: Method, count: int, offset: int = 0) -> list[int]:
    """Tensors of 16 bytes, one behind the other."""
    return [method.tensor(4, offset=offset + 16 * k) for k in range(count)]


# -- plain values -------------------------------------------------------------------------


def test_from_the_first_touch_to_the_last() -> None:
    method = Method()
    x, y, z = _tensors(method, 3)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call("aten::add.out", x, y, method.integer(1), z, z)
    storage = storage_of(method)
    assert [alive(storage, v) for v in (x, y, z)] == [[0, 1, 2], [1, 2], [2, 3]]
    assert (storage.groups, storage.state, storage.pinned) == ((), frozenset(), {})


def test_memory_that_nothing_touches_is_never_alive() -> None:
    method = Method()
    (x,) = _tensors(method, 1)
    storage = storage_of(method)
    assert alive(storage, x) == []
    assert x not in storage.pinned


def test_an_output_that_is_also_an_input_lives_throughout() -> None:
    method = Method()
    x, y = _tensors(method, 2)
    method.input(x).output(x, y)
    method.call(RELU, x, y, y)
    assert alive(storage_of(method), x) == [0, 1, 2]


def test_a_condition_lives_until_its_jump() -> None:
    """Found by reading the runtime: the jump reads the tensor."""
    method = Method()
    condition = method.tensor(1, scalar_type=BOOL, offset=64)
    x, y = _tensors(method, 2)
    method.input(x, condition).output(y)
    method.call(RELU, x, y, y)
    method.jump_if_false(condition, 3)
    method.call(RELU, x, y, y)
    assert alive(storage_of(method), condition) == [0, 1, 2]


# -- views --------------------------------------------------------------------------------


def test_an_elided_view_keeps_its_base_alive() -> None:
    """y = relu(x); view = y.view(...), no instruction; z = relu(view) after two other steps."""
    method = Method()
    x, y, a, z = _tensors(method, 4)
    view = method.tensor(2, 2, offset=16)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call(RELU, x, a, a)
    method.call(RELU, view, z, z)
    storage = storage_of(method)
    assert storage.groups == ((y, view),)
    assert alive(storage, y) == [1]
    assert alive(storage, view) == [1, 2, 3], "since its memory was written"
    assert storage.views == {view}


def test_a_chain_of_views() -> None:
    method = Method()
    x, y, z = _tensors(method, 3)
    flat, half = method.tensor(4, 1, offset=16), method.tensor(2, offset=24)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call("test::use.out", flat, half, z, z)
    storage = storage_of(method)
    assert storage.groups == ((y, flat, half),)
    assert alive(storage, half) == [1, 2]


def test_a_view_of_an_input() -> None:
    method = Method()
    x, y, z = _tensors(method, 3)
    view = method.tensor(2, 2, offset=0)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call(RELU, view, z, z)
    storage = storage_of(method)
    assert storage.groups == ((x, view),)
    assert alive(storage, view) == [0, 1, 2]


def test_a_view_that_is_an_output() -> None:
    method = Method()
    x, y = _tensors(method, 2)
    view = method.tensor(2, 2, offset=16)
    method.input(x).output(view)
    method.call(RELU, x, y, y)
    method.free(method.none())
    storage = storage_of(method)
    assert storage.groups == ((y, view),)
    assert alive(storage, view) == [1, 2, 3]


def test_a_view_belongs_to_the_last_writer_of_its_bytes() -> None:
    """x and y have the same bytes one after the other."""
    method = Method()
    x, z, a = _tensors(method, 3)
    y = method.tensor(4, offset=0)
    view = method.tensor(2, 2, offset=0)
    method.input(x).output(a)
    method.call(RELU, x, z, z)
    method.call(RELU, z, y, y)
    method.call(RELU, view, a, a)
    storage = storage_of(method)
    assert storage.groups == ((y, view),)
    assert alive(storage, x) == [0, 1]


def test_a_view_of_parts_that_several_wrote_holds_them_together() -> None:
    """A concatenation that writes nothing: its parts lie inside it."""
    method = Method()
    x = method.tensor(4, offset=64)
    low, high = method.tensor(4, offset=0), method.tensor(4, offset=16)
    whole, y = method.tensor(8, offset=0), method.tensor(8, offset=128)
    method.input(x).output(y)
    method.call(RELU, x, low, low)
    method.call(RELU, x, high, high)
    method.call(RELU, whole, y, y)
    storage = storage_of(method)
    assert storage.groups == ((low, high, whole),)
    assert alive(storage, whole) == [1, 2, 3]
    assert storage.pinned == {}


def test_values_in_other_arenas_are_no_base() -> None:
    method = Method()
    x, y = method.tensor(4, offset=0), method.tensor(4, offset=16)
    view = method.tensor(2, 2, offset=0, memory_id=2)
    method.input(x).output(y)
    method.call(RELU, view, y, y)
    storage = storage_of(method)
    assert storage.groups == ()
    assert storage.state == {view}


def test_et_view_keeps_its_base_alive() -> None:
    method = Method()
    x, y, a, z = _tensors(method, 4)
    view = method.tensor(2, 2, offset=160, shape_dynamism=DYNAMIC_BOUND)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call("executorch_prim::et_view.default", y, method.int_list(), view)
    method.call(RELU, x, a, a)
    method.call(RELU, view, z, z)
    storage = storage_of(method)
    assert alive(storage, y) == [1, 2, 3, 4]
    assert alive(storage, view) == [], "its own bytes are never used"


def test_bytes_at_far_offsets() -> None:
    method = Method()
    far = 5 << 32
    x, y, z = _tensors(method, 3, offset=far)
    view = method.tensor(2, 2, offset=far + 16)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call(RELU, view, z, z)
    assert storage_of(method).groups == ((y, view),)


# -- state --------------------------------------------------------------------------------


def _is_state(method: Method, value: int) -> None:
    storage = storage_of(method)
    assert value in storage.state
    assert value not in storage.pinned
    assert alive(storage, value) == list(range(len(method.instructions) + 2))


def test_initial_data_makes_state() -> None:
    method = Method()
    x, y, state = *_tensors(method, 2), method.tensor(4, offset=64, data_buffer_idx=1)
    method.input(x).output(y)
    method.call("aten::add.out", x, state, method.integer(1), y, y)
    _is_state(method, state)


def test_initial_data_makes_state_even_when_it_is_overwritten_first() -> None:
    method = Method()
    x, state = *_tensors(method, 1), method.tensor(4, offset=64, data_buffer_idx=1)
    method.input(x)
    method.call("aten::copy_", state, x, method.boolean(False), state)
    _is_state(method, state)


def test_a_cache_that_is_updated_in_place_is_state() -> None:
    """index_put_ reads the cache before anything wrote it."""
    method = Method()
    x, index, y = _tensors(method, 3)
    cache = method.tensor(8, offset=64)
    method.input(x, index).output(y)
    indices = method.optional_list(index)
    method.call("aten::index_put_", cache, indices, x, method.boolean(False), cache)
    method.call("aten::sum.out", cache, y, y)
    _is_state(method, cache)


def test_a_cache_that_is_written_as_a_whole_and_never_read_is_state() -> None:
    method = Method()
    (x,), cache = _tensors(method, 1), method.tensor(4, offset=64)
    method.input(x)
    method.call("aten::copy_", cache, x, method.boolean(False), cache)
    _is_state(method, cache)


def test_a_value_written_by_copy_and_read_later_is_no_state() -> None:
    """A loop's carried value is set by copy_ before it is read."""
    method = Method()
    x, carried, y = _tensors(method, 3)
    method.input(x).output(y)
    method.call("aten::copy_", carried, x, method.boolean(False), carried)
    method.call(RELU, carried, y, y)
    storage = storage_of(method)
    assert storage.state == frozenset()
    assert alive(storage, carried) == [1, 2]


def test_a_cache_that_is_only_read_is_state() -> None:
    method = Method()
    y, cache = method.tensor(4, offset=0), method.tensor(4, offset=64)
    method.output(y)
    method.call(RELU, cache, y, y)
    _is_state(method, cache)


def test_views_of_state_are_state() -> None:
    method = Method()
    x, y = _tensors(method, 2)
    cache = method.tensor(8, offset=64, data_buffer_idx=1)
    row = method.tensor(4, offset=80)
    method.input(x).output(y)
    method.call("aten::copy_", row, x, method.boolean(False), row)
    method.call("aten::sum.out", cache, y, y)
    storage = storage_of(method)
    assert storage.state == {cache, row}
    assert storage.groups == ((cache, row),)


def test_a_cache_without_initial_state_that_is_first_written_in_part_stays_where_it_is() -> None:
    """The read of the whole finds bytes of this run and bytes of the run before."""
    method = Method()
    x, y = _tensors(method, 2)
    cache, row = method.tensor(8, offset=64), method.tensor(4, offset=80)
    method.input(x).output(y)
    method.call("aten::copy_", row, x, method.boolean(False), row)
    method.call("aten::sum.out", cache, y, y)
    storage = storage_of(method)
    assert {cache, row} <= storage.pinned.keys() | storage.state
    assert (cache, row) in storage.groups
    assert alive(storage, cache) == alive(storage, row) == [0, 1, 2, 3]


def test_two_names_of_one_cache_are_one_state() -> None:
    method = Method()
    x, y, z = _tensors(method, 3)
    cache, flat = method.tensor(4, offset=64), method.tensor(2, 2, offset=64)
    method.input(x).output(y, z)
    method.call(RELU, cache, y, y)
    method.call(RELU, flat, z, z)
    storage = storage_of(method)
    assert storage.state == {cache, flat}
    assert storage.groups == ((cache, flat),)


def test_bytes_that_others_use_cannot_be_state() -> None:
    """y is read before it is written, and z uses its bytes afterwards: it is pinned."""
    method = Method()
    x, y = _tensors(method, 2)
    z = method.tensor(4, offset=16)
    method.input(x).output(z)
    method.call("aten::add.out", x, y, method.integer(1), x, x)
    method.call(RELU, x, z, z)
    storage = storage_of(method)
    assert storage.state == frozenset()
    assert "used before it is written" in storage.pinned[y]
    assert alive(storage, y) == [0, 1, 2, 3]


# -- values that share memory on purpose --------------------------------------------------


def test_values_that_overlap_while_alive_stay_together() -> None:
    """An in-place kernel of the exporter: the output has its operand's place."""
    method = Method()
    x, z = _tensors(method, 2)
    y = method.tensor(4, offset=0)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call(RELU, y, z, z)
    storage = storage_of(method)
    assert storage.groups == ((x, y),)
    assert [alive(storage, v) for v in (x, y)] == [[0, 1], [1, 2]]


def test_values_that_follow_each_other_are_free() -> None:
    method = Method()
    x, y = _tensors(method, 2)
    z = method.tensor(4, offset=0)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call(RELU, y, z, z)
    assert storage_of(method).groups == ()


def test_joining_may_join_more() -> None:
    """A view that lives longer meets a value that its base had made room for."""
    method = Method()
    x, a, out = _tensors(method, 3)
    base = method.tensor(8, offset=64)
    view = method.tensor(4, offset=64)
    tail = method.tensor(4, offset=80)
    inside = method.tensor(2, offset=72)
    method.input(x).output(out)
    method.call(RELU, x, base, base)
    method.call(RELU, base, a, a)
    method.call(RELU, a, tail, tail)
    method.call(RELU, tail, inside, inside)
    method.call("test::use.out", view, inside, out, out)
    storage = storage_of(method)
    assert storage.groups == ((base, view, inside),)
    assert alive(storage, view) == [1, 2, 3, 4, 5]


# -- what is not understood ---------------------------------------------------------------


def test_operands_of_an_unknown_operator_are_pinned() -> None:
    method = Method()
    x, y, z = _tensors(method, 3)
    method.input(x).output(z)
    method.call("test::odd", x, y)
    method.call(RELU, y, z, z)
    storage = storage_of(method)
    assert set(storage.pinned) == {x, y}
    assert "test::odd (instruction 0)" in storage.pinned[x]
    assert alive(storage, y) == [0, 1, 2, 3]


def test_a_pin_holds_for_all_of_the_memory() -> None:
    method = Method()
    x, y, z = _tensors(method, 3)
    view = method.tensor(2, 2, offset=16)
    method.input(x).output(z)
    method.call(RELU, x, y, y)
    method.call(RELU, view, z, z)
    method.call("test::odd", view)
    storage = storage_of(method)
    assert set(storage.pinned) == {y, view}


def test_a_pin_through_a_handle_pins_what_it_may_name() -> None:
    method = Method()
    x, y, handle = *_tensors(method, 2), method.tensor(4)
    method.input(x, y)
    cond(method, [("move", x, handle)], [("move", y, handle)])
    method.call("test::odd", handle)
    assert set(storage_of(method).pinned) == {x, y}


def test_shapes_without_a_bound_are_pinned() -> None:
    method = Method()
    x = method.tensor(4, offset=0, shape_dynamism=DYNAMIC_UNBOUND)
    method.input(x)
    assert "no bound" in storage_of(method).pinned[x]


# -- delegates that are not understood ----------------------------------------------------


def test_a_fresh_argument_whose_bytes_have_one_owner_is_a_view() -> None:
    method = Method()
    x, y, out = _tensors(method, 3)
    view = method.tensor(2, 2, offset=16)
    method.input(x).output(out)
    method.call(RELU, x, y, y)
    method.call_delegate(method.delegate("Other", 0), view, out)
    storage = storage_of(method)
    assert storage.groups == ((y, view),)
    assert storage.pinned == {}


@pytest.mark.parametrize("leftover", [False, True])
def test_a_fresh_argument_whose_bytes_have_no_owner_or_several_is_an_output(leftover: bool) -> None:
    method = Method()
    x, y, out = _tensors(method, 3)
    first = method.tensor(8, offset=64)
    method.input(x).output(out)
    method.call(RELU, x, y, y)
    if leftover:
        for offset in (64, 80):
            old = method.tensor(4, offset=offset)
            method.call(RELU, x, old, old)
    method.call_delegate(method.delegate("Other", 0), y, first, out)
    method.call(RELU, first, out, out)
    storage = storage_of(method)
    assert storage.pinned == {}
    assert all(first not in group for group in storage.groups)


# -- jumps --------------------------------------------------------------------------------


def test_values_of_two_branches_are_never_alive_together() -> None:
    method = Method()
    x, a, b, out = *_tensors(method, 3), method.tensor(4)
    method.input(x).output(out)
    cond(
        method,
        [(RELU, x, a), ("move", a, out)],
        [(RELU, x, b), ("move", b, out)],
    )
    storage = storage_of(method)
    # steps: 0 entry, 1 jump, 2 3 first, 4 jump, 5 6 second, 7 exit
    assert alive(storage, a) == [2, 3, 4, 7]
    assert alive(storage, b) == [5, 6, 7]


def test_values_of_two_branches_that_keep_one_place_are_alive_together_at_the_end() -> None:
    """Whatever the branch: the exit may read either, so both need their bytes there."""
    method = Method()
    x, a, out = *_tensors(method, 2), method.tensor(4)
    b = method.tensor(4, offset=16)
    method.input(x).output(out)
    cond(method, [(RELU, x, a), ("move", a, out)], [(RELU, x, b), ("move", b, out)])
    storage = storage_of(method)
    assert storage.groups == ((a, b),), "they shared their bytes in the file, and may"


def test_values_of_two_conds_in_sequence_may_both_be_alive() -> None:
    """#21490: the first branch of the first cond and the second branch of the second one."""
    method = Method()
    x, a, b, c, d, out = _tensors(method, 6)
    method.input(x).output(out)
    cond(method, [(RELU, x, a)], [(RELU, x, b)])
    cond(method, [(RELU, x, c)], [(RELU, x, d)])
    method.call("test::use.out", method.tensor_list(a, b), method.tensor_list(c, d), out, out)
    storage = storage_of(method)
    common = [set(alive(storage, v)) for v in (a, d)]
    assert common[0] & common[1]
    assert set(alive(storage, b)) & set(alive(storage, c))


def test_a_value_written_on_one_path_only_is_state() -> None:
    """On the other path the read behind finds what the run before left there."""
    method = Method()
    x, y, out = _tensors(method, 3)
    shared = method.tensor(4, offset=16)
    method.input(x).output(out)
    cond(method, [(RELU, x, y)], [])
    method.call(RELU, y, out, out)
    storage = storage_of(method)
    assert y in storage.state
    assert alive(storage, y) == [0, 1, 2, 3, 4, 5]
    assert alive(storage, shared) == []


def test_a_view_of_two_branches_is_bound_to_both() -> None:
    """The result of a cond is read under another name, without a move."""
    method = Method()
    x, out = _tensors(method, 2)
    a, b, view = (method.tensor(4, offset=64) for _ in range(3))
    method.input(x).output(out)
    cond(method, [(RELU, x, a)], [(RELU, x, b)])
    method.call(RELU, view, out, out)
    storage = storage_of(method)
    assert storage.groups == ((a, b, view),)
    assert storage.pinned == {}


def test_memory_used_in_a_loop_lives_through_the_loop() -> None:
    """1 carried = copy(x) | 2 t = relu(x), 3 u = relu(t), 4 carried = copy(u), 5 back to 2."""
    method = Method()
    x, t, u, carried, weight = _tensors(method, 5)
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(x, weight, condition).output(carried)
    method.call("aten::copy_", carried, x, method.boolean(False), carried)
    method.call("aten::mul.out", carried, weight, t, t)
    method.call(RELU, t, u, u)
    method.call("aten::copy_", carried, u, method.boolean(False), carried)
    method.jump_if_false(condition, 1)
    storage = storage_of(method)
    assert alive(storage, carried) == [1, 2, 3, 4, 5, 6]
    assert alive(storage, weight) == [0, 1, 2, 3, 4, 5], "it is read in every iteration"
    assert alive(storage, x) == [0, 1]
    assert set(alive(storage, t)) >= {2, 3}
    assert storage.pinned == {}


def test_rows_that_a_loop_fills_live_through_the_loop() -> None:
    """map: et_copy_index writes one row per iteration, behind the loop all are read."""
    method = Method()
    x, row = _tensors(method, 2)
    rows, out = method.tensor(8, offset=64), method.tensor(8, offset=128)
    condition, index = method.tensor(1, scalar_type=BOOL), method.integer(0)
    method.input(x, condition).output(out)
    method.call(RELU, x, row, row)
    method.call("executorch_prim::et_copy_index.tensor", rows, row, index)
    method.jump_if_false(condition, 0)
    method.call(RELU, rows, out, out)
    storage = storage_of(method)
    assert alive(storage, rows) == [1, 2, 3, 4]
    assert storage.pinned == {}
    assert storage.state == frozenset()


def test_a_handle_keeps_both_results_of_a_cond_alive() -> None:
    method = Method()
    x, a, b, y, out = _tensors(method, 5)
    handle = method.tensor(4)
    method.input(x).output(out)
    cond(method, [(RELU, x, a), ("move", a, handle)], [(RELU, x, b), ("move", b, handle)])
    method.call(RELU, x, y, y)
    method.call(RELU, handle, out, out)
    storage = storage_of(method)
    # 0 entry, 1 jump, 2 3 first, 4 jump, 5 6 second, 7 y, 8 out, 9 exit
    assert alive(storage, a) == [2, 3, 4, 7, 8]
    assert alive(storage, b) == [5, 6, 7, 8]


def test_a_value_inside_one_instruction_of_a_loop_lives_inside_it() -> None:
    method = Method()
    x, scrap, out = _tensors(method, 3)
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(x, condition).output(out)
    method.call(RELU, x, out, out)
    method.call(RELU, x, scrap, scrap)
    method.jump_if_false(condition, 0)
    storage = storage_of(method)
    assert alive(storage, scrap) == [2]
