"""Debug handles follow the instructions that they belong to."""

from __future__ import annotations

import pytest

from onearena.errors import AnalysisError
from onearena.exporting.debug_maps import DebugMaps, moved_maps, original_numbers
from onearena.pte.schema import Program
from onearena.record import MethodRecord, Record
from tests.pte.build import Method

MAPS = DebugMaps(
    handles={"forward": {0: 7, 1: [8, 9], 2: 10}},
    delegates={"forward": {1: {"name": "XnnpackBackend", "delegate_map": {}}}},
    outputs={"forward": {1: 1}},
)


def program(order: tuple[int, ...] = (0, 1, 2), opened: int = 0) -> Program:
    """A kernel, a delegate call, a kernel; the call has `opened` more arguments."""
    method = Method()
    a, b, c, d = (method.tensor(4, offset=16 * k) for k in range(4))
    added = [method.tensor(4, offset=64 + 16 * k) for k in range(opened)]
    method.input(a).output(d)
    delegate = method.delegate("XnnpackBackend", 0)
    for number in order:
        if number == 0:
            method.call("aten::relu.out", a, b, b)
        elif number == 1:
            method.call_delegate(delegate, a, c, *added)
        else:
            method.call("aten::relu.out", b, d, d)
    return Program(execution_plan=(method.plan(),))


def record(order: tuple[int, ...]) -> Record:
    return Record("0", {"forward": MethodRecord((0, 64), 0, (), (), (4, 6), order)})


def test_nothing_moved() -> None:
    assert moved_maps(MAPS, program(), program(), None) == MAPS
    assert moved_maps(MAPS, program(), program(), record(())) == MAPS


def test_moved_instructions_keep_their_handles() -> None:
    order = (1, 0, 2)
    found = moved_maps(MAPS, program(), program(order, opened=2), record(order))
    assert found.handles == {"forward": {0: [8, 9], 1: 7, 2: 10}}
    assert found.delegates == {"forward": {0: {"name": "XnnpackBackend", "delegate_map": {}}}}
    assert found.outputs == {"forward": {0: 1}}


def test_handles_that_are_missing_stay_missing() -> None:
    maps = DebugMaps(handles={"forward": {2: 10}})
    found = moved_maps(maps, program(), program((2, 1, 0)), record((2, 1, 0)))
    assert found == DebugMaps(handles={"forward": {0: 10}})


def test_an_order_of_something_else() -> None:
    with pytest.raises(AnalysisError, match="the record orders 2 of 3 instructions"):
        moved_maps(MAPS, program(), program(), record((1, 0)))


def test_a_method_that_was_not_there() -> None:
    with pytest.raises(AnalysisError, match="method 'forward' was not there"):
        moved_maps(MAPS, Program(execution_plan=()), program(), None)


def test_without_a_chain() -> None:
    (plan,) = program().execution_plan or ()
    assert original_numbers(plan, ()) == (0, 1, 2)
