"""Windows of values that are read and written in strips, and plans that make use of them."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onearena.delegates.xnnpack.strips import Region
from onearena.drafts import Draft, Drafter
from onearena.lifetime import Interval
from onearena.options import Options
from onearena.peak import live_bytes
from onearena.planners import plan
from onearena.problem import Buffer, Plan, Problem, Window
from onearena.program import analyse_method
from onearena.verification.plan import verify_plan
from tests.delegates.nets import Net
from tests.pte.build import Method
from tests.timeline.build import program, xnnpack
from tests.verify.programs import Space

IMAGE = (1, 16, 8, 4)
ROW = 8 * 4 * 4
SIZE = 16 * ROW
RELU = "aten::relu.out"


def _draft(strips: int) -> tuple[Draft, int, int]:
    """A kernel, a call of two convolutions in strips, a kernel; what goes in and comes out."""
    net = Net()
    source, inside, target = net.input(*IMAGE), net.inner(*IMAGE), net.output(*IMAGE)
    net.conv(source, inside)
    net.conv(inside, target)
    method = Method()
    space = Space(method)
    given = space.tensor(*IMAGE)
    method.input(given)
    before = space.kernel(RELU, given, dims=IMAGE)
    made = space.tensor(*IMAGE)
    xnnpack(method, before, made)
    method.output(space.kernel(RELU, made, dims=IMAGE))
    file = program(method, net)
    plans = file.program.execution_plan or ()
    analysed = {k: analyse_method(file, plan) for k, plan in enumerate(plans)}
    maker = Drafter(file, analysed, 0, Options(reorder=False))
    regions = (Region(frozenset({inside}), strips),)
    return maker.opened({0: regions})[0], before, made


def test_rows_that_are_not_there_yet_or_no_more_are_free() -> None:
    draft, before, made = _draft(4)
    buffers = draft.timeline.problem.buffers
    number = draft.timeline.buffer_of
    first = draft.timeline.method.first_step[1]
    # two nodes a strip; the first convolution needs 2 rows above the strip, the second none
    assert buffers[number[before]].windows == (
        Window(Interval(first + 1, first + 3), 2 * ROW, SIZE),
        Window(Interval(first + 3, first + 5), 6 * ROW, SIZE),
        Window(Interval(first + 5, first + 7), 10 * ROW, SIZE),
    )
    assert buffers[number[made]].windows == (
        Window(Interval(first + 1, first + 3), 0, 4 * ROW),
        Window(Interval(first + 3, first + 5), 0, 8 * ROW),
        Window(Interval(first + 5, first + 7), 0, 12 * ROW),
    )
    # pieces are no buffers of their own
    pieces = draft.opened.pieces
    assert len(pieces) == 8
    assert not set(pieces) & set(draft.timeline.values)
    assert {whole for whole, _ in pieces.values()} == {before, made}


def test_the_result_takes_the_place_of_what_it_is_made_of() -> None:
    draft, before, made = _draft(4)
    first, end = draft.timeline.method.first_step[1:3]
    # the whole input, two rows of lead, and six rows of the value between
    assert SIZE + 6 * ROW <= max(live_bytes(draft.timeline)[first:end]) < 1.7 * SIZE
    solution = plan(draft.timeline.problem)
    assert verify_plan(draft.timeline.problem, solution) == ()
    number = draft.timeline.buffer_of
    old, new = (solution.offsets[number[value]] for value in (before, made))
    if abs(old - new) >= SIZE:
        # the kernels need as much: nothing forces the planner, so force it
        pair = [draft.timeline.problem.buffers[number[value]] for value in (before, made)]
        alone = Problem(tuple(replace(b, id=k) for k, b in enumerate(pair)))
        tight = plan(alone)
        assert verify_plan(alone, tight) == ()
        assert tight.height_bytes[pair[0].arena] < 1.3 * SIZE


@pytest.mark.parametrize(
    ("offsets", "is_valid"), [((64, 0), True), ((0, 0), False), ((16, 0), False), ((96, 0), True)]
)
def test_the_verifier_of_plans_knows_windows(offsets: tuple[int, int], is_valid: bool) -> None:
    whole = (Interval(0, 4),)
    old = Buffer(0, 128, 1, 1, whole, windows=(Window(Interval(1, 4), 64, 128),))
    new = Buffer(1, 128, 1, 1, (Interval(1, 6),), windows=(Window(Interval(1, 4), 0, 128 - 32),))
    found = verify_plan(Problem((old, new)), Plan(offsets, {1: 256}, {1: 0}, "test"))
    assert (found == ()) == is_valid
    # a moment without a window, and both are alive as a whole
    late = Buffer(1, 128, 1, 1, (Interval(1, 6),), windows=(Window(Interval(2, 4), 0, 96),))
    assert verify_plan(Problem((old, late)), Plan((60, 0), {1: 256}, {1: 0}, "test")) != ()
