"""Kernels that need not copy: which go, what lies where then, and which stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from onearena.elision import Elision, Part, elide_copies
from onearena.pipeline import Options
from onearena.program import AnalysedMethod, analyse_method, arena_bytes, without_copies
from onearena.pte.schema import KernelCall, Tensor
from onearena.record import read_record
from onearena.verification.instructions import instruction_changes
from onearena.verification.rewrite import verify_rewrite
from tests.pte.build import LONG, Method
from tests.timeline.build import program
from tests.verify.planting import first_plan, optimized, violations
from tests.verify.programs import RELU, Space


def _analysed(method: Method) -> AnalysedMethod:
    file = program(method)
    return analyse_method(file, (file.program.execution_plan or ())[0])


def _elided(method: Method) -> Elision:
    """What is left out; the rewritten method must be one, by those who share no code with it."""
    before = _analysed(method)
    found = without_copies(before)
    assert found is not None
    after, elision = found
    assert verify_rewrite(before.steps, after.steps, elision.order) == ()
    assert _places_are_as_said(elision)
    return elision


def _places_are_as_said(elision: Elision) -> bool:
    def start(value: int) -> int:
        tensor = (elision.plan.values or ())[value].val
        assert isinstance(tensor, Tensor)
        assert tensor.allocation_info is not None
        return tensor.allocation_info.offset

    return all(start(p.inner) - start(p.outer) == p.distance for p in elision.parts)


def _gone(method: Method, elision: Elision) -> list[str]:
    """The operators of what is gone."""
    plan = (program(method).program.execution_plan or ())[0]
    names = []
    for k, instruction in enumerate(((plan.chains or ())[0]).instructions or ()):
        call = instruction.instr_args
        if k not in elision.order and isinstance(call, KernelCall):
            names.append((plan.operators or ())[call.op_index].name or "")
    return names


def _cat(space: Space, axis: int, *parts: int, dims: tuple[int, ...]) -> int:
    method = space.method
    out = space.tensor(*dims)
    method.call("aten::cat.out", method.tensor_list(*parts), method.integer(axis), out, out)
    return out


def _joined(dims: tuple[int, ...] = (6, 8), axis: int = 0) -> tuple[Method, Space, int, int, int]:
    """An input, two kernels behind it, their concatenation, and a kernel behind that."""
    method = Method()
    space = Space(method)
    source, other = space.tensor(2, 8), space.tensor(4, 8)
    method.input(source, other)
    a = space.kernel(RELU, source, dims=(2, 8))
    b = space.kernel(RELU, other, dims=(4, 8))
    whole = _cat(space, axis, a, b, dims=dims)
    method.output(space.kernel("aten::exp.out", whole, dims=dims))
    return method, space, a, b, whole


@pytest.mark.parametrize("axis", [0, -2])
def test_a_concatenation_goes(axis: int) -> None:
    method, _, a, b, whole = _joined(axis=axis)
    elision = _elided(method)
    assert _gone(method, elision) == ["aten::cat"]
    assert elision.order == (0, 1, 3)
    assert elision.parts == (Part(a, whole, 0), Part(b, whole, 64))
    assert elision.sources == {whole: (a, b)}


def test_lifetimes_are_those_of_the_parts() -> None:
    """The result is there when its last part is; until then each part only takes its own bytes."""
    method, _, a, b, whole = _joined()
    found = without_copies(_analysed(method))
    assert found is not None
    lifetimes = found[0].timeline.storage.lifetimes
    assert [(life.start, life.end) for life in lifetimes[a]] == [(1, 3)]
    assert [(life.start, life.end) for life in lifetimes[b]] == [(2, 3)]
    assert [(life.start, life.end) for life in lifetimes[whole]] == [(2, 4)]


def test_views_move_along() -> None:
    method, space, a, b, _ = _joined()
    flat = space.view(b, 32)
    method.output(space.kernel("aten::neg.out", flat, dims=(32,)))
    third = _cat(space, 0, flat, space.kernel(RELU, a, dims=(16,)), dims=(48,))
    last = space.kernel("aten::exp.out", space.view(third, 6, 8), dims=(6, 8))
    method.output(last)
    elision = _elided(method)
    # `b` has one place: the second concatenation has to copy it
    assert _gone(method, elision) == ["aten::cat"]
    assert Part(flat, b, 0) in elision.parts


def test_slices_go() -> None:
    method = Method()
    space = Space(method)
    source = space.tensor(1, 9, 8)
    method.input(source)
    whole = space.kernel(RELU, source, dims=(1, 9, 8))
    one, nothing = method.integer(1), method.none()

    def made(name: str, *args: int, dims: tuple[int, ...]) -> int:
        value = space.kernel(name, whole, *args, dims=dims)
        method.output(space.kernel("aten::exp.out", value, dims=dims))
        return value

    long = (method.integer(-3), method.integer(100), one)
    a = made("aten::slice_copy.Tensor_out", one, *long, dims=(1, 3, 8))
    short = (nothing, method.integer(4), one)
    b = made("aten::slice_copy.Tensor_out", one, *short, dims=(1, 4, 8))
    c = made("aten::select_copy.int_out", one, method.integer(-1), dims=(1, 8))
    d = made("aten::narrow_copy.out", one, one, method.integer(2), dims=(1, 2, 8))
    elision = _elided(method)
    assert len(_gone(method, elision)) == 4
    distances = {part.inner: part.distance // 32 for part in elision.parts}
    assert distances == {a: 6, b: 0, c: 8, d: 1}
    assert {part.outer for part in elision.parts} == {whole}


@pytest.mark.parametrize("name", ["split_copy.Tensor_out", "split_with_sizes_copy.out"])
def test_splits_go(name: str) -> None:
    method = Method()
    space = Space(method)
    source = space.tensor(7, 4)
    method.input(source)
    whole = space.kernel(RELU, source, dims=(7, 4))
    parts = [space.tensor(rows, 4) for rows in (3, 3, 1)]
    outs = method.tensor_list(*parts)
    method.call(f"aten::{name}", whole, method.integer(3), method.integer(0), outs, outs)
    for part, rows in zip(parts, (3, 3, 1), strict=True):
        method.output(space.kernel("aten::exp.out", part, dims=(rows, 4)))
    elision = _elided(method)
    assert elision.parts == tuple(Part(p, whole, k * 48) for k, p in enumerate(parts))


def test_rows_that_are_unbound_go() -> None:
    method = Method()
    space = Space(method)
    source = space.tensor(3, 4)
    method.input(source)
    rows = [space.tensor(4) for _ in range(3)]
    outs = method.tensor_list(*rows)
    method.call("aten::unbind_copy.int_out", source, method.integer(0), outs, outs)
    for row in rows:
        method.output(space.kernel("aten::exp.out", row, dims=(4,)))
    elision = _elided(method)
    assert elision.parts == tuple(Part(row, source, k * 16) for k, row in enumerate(rows))


# -- what stays -----------------------------------------------------------------------------


def _twice(space: Space, a: int, b: int) -> None:
    out = _cat(space, 0, a, a, dims=(4, 8))
    space.method.output(space.kernel("aten::exp.out", out, dims=(4, 8)))


def _inner_axis(space: Space, a: int, b: int) -> None:
    out = _cat(space, 1, a, space.kernel(RELU, a, dims=(2, 8)), dims=(2, 16))
    space.method.output(space.kernel("aten::exp.out", out, dims=(2, 16)))


def _changed_later(space: Space, a: int, b: int) -> None:
    out = _cat(space, 0, a, b, dims=(6, 8))
    space.method.call("aten::mul_.Tensor", a, a, a)
    space.method.output(space.kernel("aten::exp.out", out, a, dims=(6, 8)))


def _result_changed(space: Space, a: int, b: int) -> None:
    out = _cat(space, 0, a, b, dims=(6, 8))
    space.method.call("aten::mul_.Tensor", out, out, out)
    space.method.output(space.kernel("aten::exp.out", out, dims=(6, 8)), a)


def _constant(space: Space, a: int, b: int) -> None:
    weight = space.method.tensor(4, 8, data_buffer_idx=1, offset=None)
    out = _cat(space, 0, a, weight, dims=(6, 8))
    space.method.output(space.kernel("aten::exp.out", out, dims=(6, 8)))


def _state(space: Space, a: int, b: int) -> None:
    cache = space.tensor(4, 8)
    out = _cat(space, 0, cache, b, dims=(8, 8))
    space.method.call("aten::add_.Tensor", cache, b, space.method.integer(1), cache)
    space.method.output(space.kernel("aten::exp.out", out, dims=(8, 8)))


def _half_a_view(space: Space, a: int, b: int) -> None:
    half = space.view(b, 2, 8, at=64)
    out = _cat(space, 0, half, a, dims=(4, 8))
    space.method.output(space.kernel("aten::exp.out", out, b, dims=(4, 8)))


def _unknown(space: Space, a: int, b: int) -> None:
    out = _cat(space, 0, a, b, dims=(6, 8))
    space.method.call("test::odd", a, b, out)


def _with_steps(space: Space, a: int, b: int) -> None:
    method = space.method
    args = (method.integer(0), method.integer(0), method.integer(4), method.integer(2))
    out = space.kernel("aten::slice_copy.Tensor_out", b, *args, dims=(2, 8))
    method.output(space.kernel("aten::exp.out", out, dims=(2, 8)))


def _computed(space: Space, a: int, b: int) -> None:
    """Where the slice starts is known only at run time."""
    method = space.method
    start = method.integer(1)
    method.call("aten::_local_scalar_dense", a, start)
    out = space.kernel("aten::select_copy.int_out", b, method.integer(0), start, dims=(8,))
    method.output(space.kernel("aten::exp.out", out, dims=(8,)))


def _other_type(space: Space, a: int, b: int) -> None:
    method, out = space.method, space.tensor(6, 8)
    longs = space.tensor(4, 8, scalar_type=LONG)
    method.call("aten::gt.out", b, longs, longs)
    method.call("aten::cat.out", method.tensor_list(a, longs), method.integer(0), out, out)
    method.output(space.kernel("aten::exp.out", out, dims=(6, 8)))


@pytest.mark.parametrize(
    "build",
    [
        *(_twice, _inner_axis, _changed_later, _result_changed, _constant, _state, _half_a_view),
        *(_unknown, _with_steps, _computed, _other_type),
    ],
)
def test_what_stays(build: Callable[[Space, int, int], None]) -> None:
    method = Method()
    space = Space(method)
    source, other = space.tensor(2, 8), space.tensor(4, 8)
    method.input(source, other)
    a = space.kernel(RELU, source, dims=(2, 8))
    b = space.kernel(RELU, other, dims=(4, 8))
    build(space, a, b)
    method.output(space.kernel("aten::neg.out", b, dims=(4, 8)))
    analysed = _analysed(method)
    assert elide_copies(analysed.steps, analysed.timeline.storage) is None


# -- the second opinion ---------------------------------------------------------------------


def test_what_is_missing_must_only_copy() -> None:
    method, _, _, _, _ = _joined()
    steps = _analysed(method).steps
    chain = (steps.plan.chains or ())[0]
    for missing in range(4):
        order = [k for k in range(4) if k != missing]
        left = tuple((chain.instructions or ())[k] for k in order)
        plan = replace(steps.plan, chains=(replace(chain, instructions=left),))
        after = replace(steps, plan=plan, instructions=tuple(steps.instructions[k] for k in order))
        found = instruction_changes(steps, after, order)
        assert bool(found) == (missing != 2), missing
    assert instruction_changes(steps, steps, [0, 1, 2, 2])
    assert instruction_changes(steps, steps, [0, 1, 3])
    assert instruction_changes(steps, steps, [0, 1, 2, 3, 4])


def test_every_wrong_place_is_noticed() -> None:
    method, _, a, b, whole = _joined()
    before = _analysed(method)
    found = without_copies(before)
    assert found is not None
    after, elision = found
    for value in (a, b, whole):
        for distance in (-16, 16, 32, 64):
            entries = list(after.plan.values or ())
            tensor = entries[value].val
            assert isinstance(tensor, Tensor)
            assert tensor.allocation_info is not None
            place = replace(
                tensor.allocation_info,
                memory_offset_low=tensor.allocation_info.memory_offset_low + distance,
            )
            entries[value] = replace(entries[value], val=replace(tensor, allocation_info=place))
            moved = replace(after.steps, plan=replace(after.plan, values=tuple(entries)))
            assert verify_rewrite(before.steps, moved, elision.order), (value, distance)


def test_optimized_and_verified(tmp_path: Path) -> None:
    method, _, a, b, whole = _joined(dims=(6, 8))
    pair = optimized(program(method), tmp_path)
    assert violations(pair.original, pair.result) == []
    record = read_record(pair.result)
    assert record is not None
    assert record.methods["forward"].joined == ((a, whole, 0), (b, whole, 64))
    assert record.methods["forward"].order == (0, 1, 3)
    whole_options = Options(time_limit_s=0.02, join_in_place=False)
    without = optimized(program(method), tmp_path, whole_options)
    assert arena_bytes(first_plan(pair.result)) < arena_bytes(first_plan(without.result))
