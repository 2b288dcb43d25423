"""Where instructions lead."""

from __future__ import annotations

import pytest

from onearena.errors import AnalysisError
from onearena.pte.schema import Chain, ExecutionPlan, Instruction
from onearena.timeline.control import ControlFlow, control_flow, instructions_of
from tests.pte.build import Method


def flow_of(method: Method) -> ControlFlow:
    plan = method.plan()
    return control_flow(plan, instructions_of(plan, "test"), "test")


def _work(method: Method) -> int:
    """An instruction that touches no tensor."""
    return method.free(method.none())


def test_without_jumps_every_instruction_leads_to_the_next() -> None:
    method = Method()
    for _ in range(3):
        _work(method)
    flow = flow_of(method)
    assert flow.successors == ((1,), (2,), (3,))
    assert flow.is_straight
    assert flow.predecessors == ((), (0,), (1,), (2,))


def test_no_instruction_at_all() -> None:
    flow = flow_of(Method())
    assert flow.count == 0
    assert flow.is_straight
    assert flow.live_positions([0]) == (0,)


def test_a_condition_has_two_ways() -> None:
    method = Method()
    condition = method.boolean(True)
    method.jump_if_false(condition, 2)
    _work(method)
    assert flow_of(method).successors == ((1, 2), (2,))
    assert not flow_of(method).is_straight


def test_a_jump_to_the_next_instruction_is_no_branch() -> None:
    method = Method()
    method.jump_if_false(method.boolean(True), 1)
    _work(method)
    assert flow_of(method).is_straight


def test_a_jump_on_a_constant_false_is_unconditional() -> None:
    """The exporter ends the first branch of a cond like this."""
    method = Method()
    method.jump_if_false(method.boolean(False), 2)
    _work(method)
    assert flow_of(method).successors == ((2,), (2,))


def test_a_false_that_somebody_may_write_is_a_condition() -> None:
    for kind in ("kernel", "delegate", "move", "input"):
        method = Method()
        condition = method.boolean(False)
        method.jump_if_false(condition, 2)
        if kind == "kernel":
            method.call("executorch_prim::eq.Scalar", method.integer(1), condition)
        elif kind == "delegate":
            method.call_delegate(method.delegate("Other", 0), condition)
        elif kind == "move":
            method.move(method.boolean(True), condition)
        else:
            method.input(condition)
            _work(method)
        assert flow_of(method).successors[0] == (1, 2), kind


def test_a_condition_on_a_tensor_or_a_number_is_a_condition() -> None:
    for is_tensor in (False, True):
        method = Method()
        condition = method.tensor(1, offset=0) if is_tensor else method.integer(0)
        method.jump_if_false(condition, 2)
        _work(method)
        assert flow_of(method).successors[0] == (1, 2)


def test_a_jump_may_lead_to_the_end_and_back_to_the_start() -> None:
    method = Method()
    _work(method)
    method.jump_if_false(method.boolean(True), 0)
    method.jump_if_false(method.boolean(True), 3)
    assert flow_of(method).successors == ((1,), (2, 0), (3,))


@pytest.mark.parametrize("target", [-1, 3, 1 << 30])
def test_a_jump_outside_the_method_is_an_error(target: int) -> None:
    method = Method()
    _work(method)
    method.jump_if_false(method.boolean(True), target)
    with pytest.raises(AnalysisError, match=rf"instruction 1 jumps to {target}, .* 2 instr"):
        flow_of(method)


def _cond(method: Method, inner: int) -> None:
    """if: `inner` instructions, else: one."""
    start = len(method.instructions)
    method.jump_if_false(method.boolean(True), start + inner + 2)
    for _ in range(inner):
        _work(method)
    method.jump_if_false(method.boolean(False), start + inner + 3)
    _work(method)


def test_branches_exclude_each_other() -> None:
    """0 jump, 1 2 first branch, 3 jump, 4 second branch, 5 behind."""
    method = Method()
    _cond(method, 2)
    _work(method)
    flow = flow_of(method)
    assert flow.successors == ((1, 4), (2,), (3,), (5,), (5,), (6,))
    assert flow.live_positions([1, 2]) == (1, 2)
    assert flow.live_positions([4, 5]) == (4, 5)
    assert flow.live_positions([2, 5]) == (2, 3, 5)
    assert flow.live_positions([1, 4]) == (1, 4), "no path leads from one branch to the other"
    assert flow.live_positions([0, 5]) == (0, 1, 2, 3, 4, 5)


def test_conditions_in_sequence_do_not_exclude_each_other() -> None:
    """Two conds: the first branch of one and the second branch of the other may both run."""
    method = Method()
    _cond(method, 1)
    _cond(method, 1)
    flow = flow_of(method)
    first, second = 1, 4 + 3
    assert flow.successors[0] == (1, 3)
    assert set(flow.live_positions([first, second])) == {1, 2, 4, 7}


def test_conditions_inside_conditions() -> None:
    """0 jump(6) [1 jump(4) 2 3 jump(5) 4] 5 jump(7) 6 | 7."""
    method = Method()
    method.jump_if_false(method.boolean(True), 6)
    method.jump_if_false(method.boolean(True), 4)
    _work(method)
    method.jump_if_false(method.boolean(False), 5)
    _work(method)
    method.jump_if_false(method.boolean(False), 7)
    _work(method)
    _work(method)
    flow = flow_of(method)
    assert flow.live_positions([2, 7]) == (2, 3, 5, 7)
    assert flow.live_positions([4, 6]) == (4, 6)
    assert flow.live_positions([1, 6]) == (1, 6)


def test_memory_touched_in_a_loop_lives_through_it() -> None:
    """0, loop of 1 2 3 (jump back to 1), 4."""
    method = Method()
    for _ in range(3):
        _work(method)
    method.jump_if_false(method.boolean(True), 1)
    _work(method)
    flow = flow_of(method)
    assert flow.live_positions([1, 2]) == (1, 2, 3)
    assert flow.live_positions([0, 1]) == (0, 1, 2, 3)
    assert flow.live_positions([3, 4]) == (1, 2, 3, 4)
    assert flow.live_positions([0, 4]) == (0, 1, 2, 3, 4)


def test_a_loop_inside_a_loop() -> None:
    """0 [1 [2 3] 4] 5, with jumps back at 3 and 4."""
    method = Method()
    for _ in range(3):
        _work(method)
    method.jump_if_false(method.boolean(True), 2)
    method.jump_if_false(method.boolean(True), 1)
    _work(method)
    flow = flow_of(method)
    assert flow.live_positions([2]) == (1, 2, 3, 4)
    assert flow.live_positions([2, 3]) == (1, 2, 3, 4)
    assert flow.live_positions([5]) == (5,)


def test_live_positions_are_those_between_two_touches_on_some_path() -> None:
    """Against following all paths of a graph with everything in it."""
    method = Method()
    _cond(method, 2)
    method.jump_if_false(method.boolean(True), 1)
    _cond(method, 1)
    flow = flow_of(method)
    reach = [_reachable(flow, k) for k in range(flow.count + 1)]
    for a in range(flow.count + 1):
        for b in range(flow.count + 1):
            expected = [
                p
                for p in range(flow.count + 1)
                if any(p in reach[s] for s in (a, b)) and any(t in reach[p] for t in (a, b))
            ]
            assert list(flow.live_positions([a, b])) == expected


def _reachable(flow: ControlFlow, start: int) -> set[int]:
    seen, pending = {start}, [start]
    while pending:
        position = pending.pop()
        for after in flow.successors[position] if position < flow.count else ():
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return seen


@pytest.mark.parametrize(
    ("wrong", "what"),
    [
        ("operator", "calls operator 7, there are 1"),
        ("delegate", "calls delegate 7, there are 0"),
        ("argument", "names value 99, there are"),
        ("negative", "names value -1, there are"),
        ("moved", "names value 99, there are"),
        ("condition", "names value 99, there are"),
        ("freed", "names value 99, there are"),
    ],
)
def test_indices_that_name_nothing_are_errors(wrong: str, what: str) -> None:
    from onearena.pte.schema import KernelCall

    method = Method()
    method.call("aten::relu.out", method.none())
    if wrong == "operator":
        method.instruction(KernelCall(7, ()))
    elif wrong == "delegate":
        method.call_delegate(7)
    elif wrong == "argument":
        method.call("aten::relu.out", 99)
    elif wrong == "negative":
        method.call("aten::relu.out", -1)
    elif wrong == "moved":
        method.move(0, 99)
    elif wrong == "condition":
        method.jump_if_false(99, 0)
    else:
        method.free(99)
    with pytest.raises(AnalysisError, match=f"instruction 1 {what}"):
        instructions_of(method.plan(), "test")


def test_an_empty_instruction_and_several_chains_are_errors() -> None:
    empty = ExecutionPlan(chains=(Chain(instructions=(Instruction(None),)),))
    with pytest.raises(AnalysisError, match="instruction 0 is empty"):
        instructions_of(empty, "test")
    with pytest.raises(AnalysisError, match="2 chains"):
        instructions_of(ExecutionPlan(chains=(Chain(), Chain())), "test")
    assert instructions_of(ExecutionPlan(), "test") == ()
