"""Who touches which value when, and which names may mean which memory."""

from __future__ import annotations

from onearena.timeline.access import Accesses, collect_accesses, planned_memories, successors
from onearena.timeline.owners import NOBODY, WriterQuery, last_writers
from onearena.timeline.steps import MethodSteps
from tests.pte.build import BOOL, DYNAMIC_BOUND, DYNAMIC_UNBOUND, Method
from tests.timeline.build import steps_of


def accesses_of(method: Method) -> tuple[MethodSteps, Accesses]:
    steps = steps_of(method)
    return steps, collect_accesses(steps, planned_memories(steps, frozenset()))


def writers(method: Method, value: int, instruction: int) -> set[int]:
    """Whose bytes `value` names just before an instruction."""
    steps, accesses = accesses_of(method)
    memories = planned_memories(steps, frozenset())
    query = WriterQuery(value, steps.first_step[instruction])
    return set(last_writers(steps, accesses, memories, (), [query])[query])


# -- memories -----------------------------------------------------------------------------


def test_only_planned_values_with_bytes_are_memory() -> None:
    method = Method()
    a = method.tensor(4, offset=32)
    method.tensor(4)
    method.tensor(0, 4, offset=0)
    far = method.tensor(2, offset=(1 << 32) + 16, memory_id=3)
    bounded = method.tensor(8, offset=0, shape_dynamism=DYNAMIC_BOUND)
    unbounded = method.tensor(8, offset=0, shape_dynamism=DYNAMIC_UNBOUND)
    method.integer(5)
    memories = planned_memories(steps_of(method), frozenset())
    assert set(memories) == {a, far, bounded, unbounded}
    assert (memories[a].start, memories[a].end, memories[a].arena) == (32, 48, 1)
    assert (memories[far].start, memories[far].size_bytes, memories[far].arena) == (
        (1 << 32) + 16,
        8,
        3,
    )


def test_added_values_have_no_place_and_overlap_nothing() -> None:
    method = Method()
    a, b = method.tensor(4, offset=0), method.tensor(4, offset=0)
    memories = planned_memories(steps_of(method), frozenset({b}))
    assert memories[b].offset is None
    assert not memories[a].overlaps(memories[b])
    assert not memories[b].overlaps(memories[a])


def test_overlap_needs_one_arena_and_a_common_byte() -> None:
    method = Method()
    a = method.tensor(4, offset=0)
    behind, inside = method.tensor(4, offset=16), method.tensor(4, offset=12)
    elsewhere = method.tensor(4, offset=0, memory_id=2)
    memories = planned_memories(steps_of(method), frozenset())
    found = [memories[a].overlaps(memories[v]) for v in (a, behind, inside, elsewhere)]
    assert found == [True, False, True, False]


# -- reads, writes, exposed reads ---------------------------------------------------------


def test_steps_at_which_values_are_read_and_written() -> None:
    method = Method()
    x, y, z = (method.tensor(4, offset=16 * k) for k in range(3))
    method.input(x).output(z)
    method.call("aten::relu.out", x, y, y)
    method.call("aten::add.out", x, y, method.integer(1), z, z)
    _, accesses = accesses_of(method)
    assert dict(accesses.reads) == {x: (1, 2), y: (2,), z: (3,)}
    assert dict(accesses.writes) == {x: (0,), y: (1,), z: (2,)}
    assert dict(accesses.exposed) == {}


def test_a_jump_reads_its_condition_tensor() -> None:
    method = Method()
    condition = method.tensor(1, scalar_type=BOOL, offset=0)
    method.input(condition)
    for _ in range(3):
        method.free(method.none())
    method.jump_if_false(condition, 4)
    _, accesses = accesses_of(method)
    assert accesses.reads[condition] == (4,)


def test_a_value_that_nothing_wrote_is_exposed() -> None:
    method = Method()
    x, y, z = (method.tensor(4, offset=16 * k) for k in range(3))
    method.call("aten::relu.out", x, y, y)
    method.call("aten::relu.out", x, z, z)
    _, accesses = accesses_of(method)
    assert dict(accesses.exposed) == {x: (1, 2)}


def test_reads_behind_the_first_write_are_not_exposed() -> None:
    method = Method()
    x, y = method.tensor(4, offset=0), method.tensor(4, offset=16)
    method.call("aten::relu.out", x, y, y)
    method.call("aten::relu.out", y, x, x)
    method.call("aten::relu.out", x, y, y)
    _, accesses = accesses_of(method)
    assert dict(accesses.exposed) == {x: (1,)}


def test_an_in_place_operator_exposes_what_it_updates() -> None:
    method = Method()
    x = method.tensor(4, offset=0)
    method.call("aten::add_.Tensor", x, x, method.integer(1), x)
    _, accesses = accesses_of(method)
    assert dict(accesses.exposed) == {x: (1,)}
    method = Method()
    x, y = method.tensor(4, offset=0), method.tensor(4, offset=16)
    method.input(y)
    method.call("aten::copy_", x, y, method.boolean(False), x)
    assert dict(accesses_of(method)[1].exposed) == {}


def _cond(
    method: Method, first: list[tuple[str, int, int]], second: list[tuple[str, int, int]]
) -> None:
    """if c: first else: second, each a list of (operator, source, target)."""
    start = len(method.instructions)
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(condition)
    method.jump_if_false(condition, start + len(first) + 2)
    for entry in (*first, None, *second):
        if entry is None:
            behind = start + len(first) + len(second) + 2
            method.jump_if_false(method.boolean(False), behind)
        elif entry[0] == "move":
            method.move(entry[1], entry[2])
        else:
            method.call(entry[0], entry[1], entry[2], entry[2])


RELU = "aten::relu.out"


def test_a_write_in_one_branch_leaves_the_read_behind_exposed() -> None:
    method = Method()
    x, y, z = (method.tensor(4, offset=16 * k) for k in range(3))
    method.input(x)
    _cond(method, [(RELU, x, y)], [])
    method.call(RELU, y, z, z)
    steps, accesses = accesses_of(method)
    assert dict(accesses.exposed) == {y: (steps.first_step[3],)}
    method = Method()
    x, y, z = (method.tensor(4, offset=16 * k) for k in range(3))
    method.input(x)
    _cond(method, [(RELU, x, y)], [(RELU, x, y)])
    method.call(RELU, y, z, z)
    assert dict(accesses_of(method)[1].exposed) == {}


def test_a_read_in_a_loop_may_come_before_the_write_of_the_iteration_before() -> None:
    """0: y = relu(x), 1: x = relu(y), 2: back to 0. Nothing sets x first."""
    method = Method()
    x, y = method.tensor(4, offset=0), method.tensor(4, offset=16)
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(condition)
    method.call(RELU, x, y, y)
    method.call(RELU, y, x, x)
    method.jump_if_false(condition, 0)
    steps, accesses = accesses_of(method)
    assert dict(accesses.exposed) == {x: (steps.first_step[0],)}


def test_a_handle_is_defined_by_a_move() -> None:
    method = Method()
    x, handle, y = method.tensor(4, offset=0), method.tensor(4), method.tensor(4, offset=16)
    method.input(x)
    method.move(x, handle)
    method.call(RELU, handle, y, y)
    assert dict(accesses_of(method)[1].exposed) == {}


# -- what names mean ----------------------------------------------------------------------


def test_every_planned_value_names_itself() -> None:
    method = Method()
    x, plain = method.tensor(4, offset=0), method.tensor(4)
    method.input(x, plain)
    _, accesses = accesses_of(method)
    assert accesses.points_to[x] == {x}
    assert accesses.points_to[plain] == frozenset()


def test_a_moved_handle_names_both_sources() -> None:
    method = Method()
    x, y, handle, z = (
        method.tensor(4, offset=0),
        method.tensor(4, offset=16),
        method.tensor(4, offset=32),
        method.tensor(4, offset=48),
    )
    method.input(x, y)
    _cond(method, [("move", x, handle)], [("move", y, handle)])
    method.call(RELU, handle, z, z)
    _, accesses = accesses_of(method)
    assert accesses.points_to[handle] == {x, y}, "its own memory is never used"


def test_handles_of_handles() -> None:
    method = Method()
    x, first, second = method.tensor(4, offset=0), method.tensor(4), method.tensor(4)
    method.input(x)
    method.move(x, first)
    method.call("executorch_prim::et_view.default", first, method.int_list(), second)
    _, accesses = accesses_of(method)
    assert accesses.points_to[second] == {x}


def test_handles_that_exchange_their_memory_in_a_loop() -> None:
    method = Method()
    x, y = method.tensor(4, offset=0), method.tensor(4, offset=16)
    a, b, spare = (method.tensor(4) for _ in range(3))
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(x, y, condition)
    method.move(x, a)
    method.move(y, b)
    method.move(a, spare)
    method.move(b, a)
    method.move(spare, b)
    method.jump_if_false(condition, 2)
    _, accesses = accesses_of(method)
    assert accesses.points_to[a] == accesses.points_to[b] == {x, y}


def test_a_handle_that_is_written_before_it_is_moved_also_names_itself() -> None:
    method = Method()
    x, y, handle = (method.tensor(4, offset=16 * k) for k in range(3))
    method.input(x)
    method.call(RELU, x, handle, handle)
    method.call(RELU, handle, y, y)
    method.move(x, handle)
    _, accesses = accesses_of(method)
    assert accesses.points_to[handle] == {x, handle}


# -- last writers -------------------------------------------------------------------------


def test_the_last_writer_of_the_bytes_is_the_owner() -> None:
    method = Method()
    x, y, view = method.tensor(4, offset=0), method.tensor(4, offset=0), method.tensor(4, offset=0)
    method.input(x)
    method.free(method.none())
    method.call(RELU, method.tensor(4), y, y)
    method.call(RELU, view, method.tensor(4), method.tensor(4))
    assert writers(method, view, 0) == {x}
    assert writers(method, view, 1) == {x}
    assert writers(method, view, 2) == {y}


def test_bytes_of_several_writers_and_of_nobody() -> None:
    method = Method()
    low, high = method.tensor(2, offset=0), method.tensor(2, offset=8)
    whole, beyond = method.tensor(4, offset=0), method.tensor(8, offset=0)
    other = method.tensor(4, offset=0, memory_id=2)
    method.input(low, high)
    method.free(method.none())
    assert writers(method, whole, 0) == {low, high}
    assert writers(method, beyond, 0) == {low, high, NOBODY}
    assert writers(method, other, 0) == {NOBODY}


def test_writers_of_both_branches() -> None:
    method = Method()
    x, view = method.tensor(4), method.tensor(4, offset=0)
    y, z = method.tensor(4, offset=0), method.tensor(4, offset=0)
    method.input(x)
    _cond(method, [(RELU, x, y)], [(RELU, x, z)])
    method.free(method.none())
    assert writers(method, view, 4) == {y, z}
    method = Method()
    x, view, y = method.tensor(4), method.tensor(4, offset=0), method.tensor(4, offset=0)
    method.input(x)
    _cond(method, [(RELU, x, y)], [])
    method.free(method.none())
    assert writers(method, view, 3) == {y, NOBODY}


def test_writers_of_the_iteration_before() -> None:
    method = Method()
    x, view, y = method.tensor(4), method.tensor(4, offset=0), method.tensor(4, offset=0)
    condition = method.tensor(1, scalar_type=BOOL)
    method.input(x, condition)
    method.free(method.none())
    method.call(RELU, x, y, y)
    method.jump_if_false(condition, 0)
    assert writers(method, view, 0) == {y, NOBODY}
    assert writers(method, view, 2) == {y}


def test_a_write_through_a_handle_is_a_write_of_all_it_may_name() -> None:
    method = Method()
    x, handle = method.tensor(4), method.tensor(4)
    y, z = method.tensor(4, offset=0), method.tensor(4, offset=16)
    seen_y, seen_z = method.tensor(4, offset=0), method.tensor(4, offset=16)
    method.input(x)
    _cond(method, [("move", y, handle)], [("move", z, handle)])
    method.call(RELU, x, handle, handle)
    method.free(method.none())
    assert y in writers(method, seen_y, 5)
    assert z in writers(method, seen_z, 5)


def test_initial_state_is_a_writer() -> None:
    method = Method()
    state, view = method.tensor(4, offset=0, data_buffer_idx=1), method.tensor(4, offset=0)
    method.free(method.none())
    steps, accesses = accesses_of(method)
    query = WriterQuery(view, 1)
    memories = planned_memories(steps, frozenset())
    assert last_writers(steps, accesses, memories, [state], [query]) == {query: frozenset({state})}


# -- what follows what --------------------------------------------------------------------


def test_successors_of_steps() -> None:
    method = Method()
    x, y = method.tensor(4, offset=0), method.tensor(4, offset=16)
    method.input(x)
    _cond(method, [(RELU, x, y)], [])
    steps = steps_of(method)
    found = [successors(steps, k) for k in range(len(steps.steps))]
    assert found == [(1,), (2, 4), (3,), (4,), ()]
