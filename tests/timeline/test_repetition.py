"""Kernels that run once more: which may, what that does to lifetimes, and that whoever repeats
what must not be repeated is refused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.lifetime import intersection
from onearena.options import Options
from onearena.program import AnalysedMethod, analyse_method, arena_bytes, with_repeats
from onearena.pte.schema import AllocationDetails, EValue, Tensor
from onearena.record import read_record
from onearena.repetition import Repeat, repeatable, repeats_over
from onearena.timeline.steps import MethodSteps
from onearena.verification.instructions import instruction_changes
from onearena.verification.rewrite import verify_rewrite
from tests.pte.build import Method
from tests.timeline.build import program
from tests.verify.planting import first_plan, optimized, violations
from tests.verify.programs import RELU, Space

WIDE = (64, 64)


def _analysed(method: Method) -> AnalysedMethod:
    file = program(method)
    return analyse_method(file, (file.program.execution_plan or ())[0])


def _masked(layers: int = 3) -> tuple[Method, Space, int, int]:
    """A small mask, made wide, and layers with something wider between the sums that read it."""
    method = Method()
    space = Space(method)
    small, x = space.tensor(1, 64), space.tensor(*WIDE)
    method.input(small, x)
    mask = space.kernel("aten::expand_copy.out", small, dims=WIDE)
    for _ in range(layers):
        x = space.kernel("aten::add.out", x, mask, method.integer(1), dims=WIDE)
        y = space.kernel("aten::repeat.out", x, dims=(256, 64))
        x = space.kernel("aten::sum.IntList_out", y, dims=WIDE)
    method.output(x)
    return method, space, small, mask


def test_a_mask_is_made_again(tmp_path: Path) -> None:
    method, _, small, mask = _masked()
    options = Options(time_limit_s=0.02, max_latency=1.2)
    with_it = optimized(program(method), tmp_path, options)
    assert violations(with_it.original, with_it.result) == []
    record = read_record(with_it.result)
    assert record is not None
    order = record.methods["forward"].order
    assert sorted(set(order)) == list(range(10))
    assert order.count(0) == 3
    without = optimized(program(method), tmp_path, replace(options, rematerialise=False))
    slow = optimized(program(method), tmp_path, replace(options, max_latency=1.0))
    assert first_plan(slow.result).chains == first_plan(without.result).chains
    saved = arena_bytes(first_plan(without.result)) - arena_bytes(first_plan(with_it.result))
    assert saved == 64 * 64 * 4 - 64 * 4  # what it is made from has to stay
    assert (small, mask) == (0, 2)


def test_lifetimes_end_and_begin_again() -> None:
    method, _, small, mask = _masked()
    before = _analysed(method)
    assert repeatable(before.steps, before.timeline.storage)[mask] == 0
    found = with_repeats(before, (Repeat(0, 4), Repeat(0, 7)))
    assert found is not None
    after, repeated = found
    assert repeated.order == (0, 1, 2, 3, 0, 4, 5, 6, 0, 7, 8, 9)
    lifetimes = after.timeline.storage.lifetimes
    assert [(life.start, life.end) for life in lifetimes[mask]] == [(1, 3), (5, 7), (9, 11)]
    assert [(life.start, life.end) for life in lifetimes[small]] == [(0, 10)]
    assert verify_rewrite(before.steps, after.steps, repeated.order) == ()


def test_only_over_full_steps() -> None:
    method, _, _, mask = _masked()
    analysed = _analysed(method)
    steps, storage = analysed.steps, analysed.timeline.storage
    writers = {mask: 0}

    def found(*full: int) -> dict[int, tuple[Repeat, ...]]:
        is_full = [k in full for k in range(len(steps.steps))]
        return dict(repeats_over(steps, storage, is_full, writers))

    assert found() == {}
    assert found(1, 2) == {}
    assert found(3) == {mask: (Repeat(0, 4),)}
    assert found(3, 4, 7) == {mask: (Repeat(0, 4), Repeat(0, 7))}
    assert found(9, 10) == {}  # nobody reads it behind that


# -- what may not run again -----------------------------------------------------------------


def _random(space: Space, x: int) -> int:
    return space.kernel("aten::rand_like.out", x, dims=WIDE)


def _costly(space: Space, x: int) -> int:
    return space.kernel("aten::mm.out", x, x, dims=WIDE)


def _foreign(space: Space, x: int) -> int:
    return space.kernel("test::where.out", x, dims=WIDE)


def _viewed(space: Space, x: int) -> int:
    made = space.kernel(RELU, x, dims=WIDE)
    space.method.output(space.kernel("aten::exp.out", space.view(made, 4096), dims=(4096,)))
    return made


def _changed(space: Space, x: int) -> int:
    made = space.kernel(RELU, x, dims=WIDE)
    space.method.call("aten::add_.Tensor", made, x, space.method.integer(1), made)
    return made


def _computed(space: Space, x: int) -> int:
    number = space.method.integer(1)
    space.method.call("aten::_local_scalar_dense", x, number)
    return space.kernel("aten::add.out", x, x, number, dims=WIDE)


@pytest.mark.parametrize("build", [_random, _costly, _foreign, _viewed, _changed, _computed])
def test_what_never_runs_again(build: Callable[[Space, int], int]) -> None:
    method = Method()
    space = Space(method)
    x = space.tensor(*WIDE)
    method.input(x)
    made = build(space, x)
    method.output(space.kernel("aten::exp.out", made, dims=WIDE))
    analysed = _analysed(method)
    assert made not in repeatable(analysed.steps, analysed.timeline.storage)


def test_an_operand_that_is_changed_is_not_there_any_more() -> None:
    method = Method()
    space = Space(method)
    x = space.tensor(*WIDE)
    method.input(x)
    y = space.kernel(RELU, x, dims=WIDE)
    made = space.kernel("aten::neg.out", y, dims=WIDE)
    last = space.kernel("aten::exp.out", made, dims=WIDE)
    method.call("aten::add_.Tensor", y, x, method.integer(1), y)
    method.output(space.kernel("aten::add.out", last, made, y, dims=WIDE))
    analysed = _analysed(method)
    assert repeatable(analysed.steps, analysed.timeline.storage)[made] == 1
    assert with_repeats(analysed, (Repeat(1, 4),)) is None


def test_state_is_not_there_any_more() -> None:
    method = Method()
    space = Space(method)
    x, cache = space.tensor(*WIDE), space.tensor(*WIDE)
    method.input(x)
    made = space.kernel("aten::neg.out", cache, dims=WIDE)
    method.call("aten::add_.Tensor", cache, x, method.integer(1), cache)
    method.output(space.kernel("aten::add.out", x, made, dims=WIDE))
    assert with_repeats(_analysed(method), (Repeat(0, 2),)) is None


# -- the second opinion ---------------------------------------------------------------------


def _with_order(steps: MethodSteps, order: list[int]) -> MethodSteps:
    chain = (steps.plan.chains or ())[0]
    left = tuple((chain.instructions or ())[k] for k in order)
    plan = replace(steps.plan, chains=(replace(chain, instructions=left),))
    return replace(steps, plan=plan, instructions=tuple(steps.instructions[k] for k in order))


@pytest.mark.parametrize("build", [_random, _foreign, _changed, _computed])
def test_repeating_what_must_not_be_is_refused(build: Callable[[Space, int], int]) -> None:
    method = Method()
    space = Space(method)
    x = space.tensor(*WIDE)
    method.input(x)
    made = build(space, x)
    method.output(space.kernel("aten::exp.out", made, dims=WIDE))
    steps = _analysed(method).steps
    count = len(steps.instructions)
    # of two instructions the first is the number, the second uses it
    culprit = 1 if build in (_changed, _computed) else 0
    order = [*range(culprit + 1), *range(culprit, count)]
    assert instruction_changes(steps, _with_order(steps, order), order)
    again = [*range(count), count - 1]  # the last one may
    assert not instruction_changes(steps, _with_order(steps, again), again)


def test_operands_that_are_gone_are_noticed() -> None:
    """Every place of the operand and of the result at which something else lies in between."""
    method, _, small, mask = _masked()
    before = _analysed(method)
    found = with_repeats(before, (Repeat(0, 4), Repeat(0, 7)))
    assert found is not None
    after, repeated = found
    entries = list(after.plan.values or ())
    wide = [k for k, e in enumerate(entries) if isinstance(e.val, Tensor) and k not in (small, 1)]
    missed = []
    for value in (small, mask):
        for other in set(wide) - {value}:
            tensor, there = entries[value].val, entries[other].val
            assert isinstance(tensor, Tensor)
            assert isinstance(there, Tensor)
            assert there.allocation_info is not None
            place = AllocationDetails.at(1, there.allocation_info.offset)
            moved = list(entries)
            moved[value] = EValue(replace(tensor, allocation_info=place))
            plan = replace(after.plan, values=tuple(moved))
            if not verify_rewrite(before.steps, replace(after.steps, plan=plan), repeated.order):
                missed.append((value, other))
    # at one place only what is never there at the same time, or written over the other
    lives = after.timeline.storage.lifetimes
    for value, other in missed:
        both = intersection(lives[value], lives[other])
        assert all(part.end - part.start == 1 for part in both), (value, other)
    assert any(value == mask for value, _ in missed)  # it leaves its place to others in between
