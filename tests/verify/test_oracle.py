"""The oracle itself: it must see damage, and must not see any where there is none."""

from __future__ import annotations

import pytest

from onearena.delegates.xnnpack import schema as x
from onearena.pte.container import PteFile
from tests.delegates.nets import Net
from tests.pte.build import Method
from tests.timeline.build import opened_method, program, xnnpack
from tests.verify.oracle import is_damaged, run
from tests.verify.planting import Offsets, steps_in, with_offsets

RELU = "aten::relu.out"


def _chain() -> PteFile:
    """a → b → c → d, b also read at the end."""
    method = Method()
    a, b, c, d, e = (method.tensor(4, offset=16 * k) for k in range(5))
    method.input(a).output(e)
    method.call(RELU, a, b, b)
    method.call(RELU, b, c, c)
    method.call(RELU, c, d, d)
    method.call("aten::add.out", b, d, method.integer(1), e, e)
    return program(method)


@pytest.mark.parametrize(
    ("offsets", "damaged"),
    [
        ({}, False),
        ({0: 500}, False),
        ({2: 0}, False),
        ({1: 0}, False),
        ({3: 16}, True),
        ({2: 16}, True),
        ({3: 32}, False),
        ({3: 36}, True),
        ({2: 0, 3: 0, 4: 0}, False),
        ({4: 16}, False),
        ({0: 16, 1: 0}, False),
    ],
)
def test_damage_in_a_chain(offsets: Offsets, damaged: bool) -> None:
    """Equal places of an operand and its output are the kernel's business."""
    file = _chain()
    changed = with_offsets(file, offsets)
    assert is_damaged(steps_in(file), steps_in(changed), frozenset()) == damaged


def test_a_view_must_stay_with_its_base() -> None:
    method = Method()
    a, b = method.tensor(4, offset=0), method.tensor(4, offset=16)
    view, c = method.tensor(2, 2, offset=16), method.tensor(4, offset=32)
    method.input(a).output(c)
    method.call(RELU, a, b, b)
    method.call(RELU, view, c, c)
    file = program(method)
    for offsets, damaged in (({view: 48}, True), ({b: 48}, True), ({b: 48, view: 48}, False)):
        changed = with_offsets(file, offsets)
        assert is_damaged(steps_in(file), steps_in(changed), frozenset()) == damaged


def test_state_must_survive() -> None:
    method = Method()
    a, cache, c = (method.tensor(4, offset=16 * k) for k in range(3))
    method.input(a).output(c)
    method.call("aten::add_.Tensor", cache, a, method.integer(1), cache)
    method.call(RELU, a, c, c)
    file = program(method)
    changed = with_offsets(file, {c: 16})
    assert is_damaged(steps_in(file), steps_in(changed), frozenset({cache}))
    assert not is_damaged(steps_in(file), steps_in(file), frozenset({cache}))


def test_late_reads_and_early_writes() -> None:
    net = Net()
    a, q, t, y = net.input(1, 4, 4, 2), net.input(4), net.inner(1, 4, 4, 2), net.output(1, 4, 4, 2)
    net.conv(a, t)
    net.unary(x.XNNSigmoid, q, net.output(4))
    net.clamp(t, y)
    method = Method()
    args = [
        method.tensor(*dims, offset=256 * k)
        for k, dims in enumerate(((1, 4, 4, 2), (4,), (1, 4, 4, 2), (4,)))
    ]
    method.input(*args[:2]).output(*args[2:])
    xnnpack(method, *args)
    file = program(method, net)
    _, steps = opened_method(method, net)
    assert run(steps, frozenset(), merged=True).reads.keys()
    over_its_input = with_offsets(file, {args[2]: 0})
    assert is_damaged(steps_in(file), steps_in(over_its_input), frozenset()), "y over a"
    over_the_other = with_offsets(file, {args[2]: 256})
    assert is_damaged(steps_in(file), steps_in(over_the_other), frozenset()), "y over q"
    taken_by_the_other = with_offsets(file, {args[3]: 512})
    assert is_damaged(steps_in(file), steps_in(taken_by_the_other), frozenset()), "z over y"
