"""Plans with kernels in place, and what the verifier says to them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from onearena.lifetime import intersects
from onearena.pipeline import Options, optimize
from onearena.pte import open_pte
from onearena.verification.program import verify_program
from onearena.verification.sharing import copied_by_kernel
from tests.pte.build import BOOL, INT, file_bytes
from tests.timeline.build import program, steps_of, timeline_of
from tests.timeline.in_place_methods import (
    CHANNELS_LAST,
    IMAGE,
    Case,
    copy,
    layer_norm,
    offset_of,
    scatter,
)


def _chain(case: Case) -> tuple[int, ...]:
    """x → sigmoid → + bias → softmax → result, all but the bias of one size."""
    method = case.method
    x, bias = case.input(64, 64), case.input(64)
    a = case.call("aten::sigmoid.out", x, out=case.tensor(64, 64))
    b = case.call("aten::add.out", a, bias, method.integer(1), out=case.tensor(64, 64))
    row = (method.integer(-1), method.boolean(False))
    y = case.call("aten::_softmax.out", b, *row, out=case.tensor(64, 64))
    method.output(y)
    return x, a, b, y


def test_a_chain_needs_one_tensor(tmp_path: Path) -> None:
    case = Case()
    values = _chain(case)
    before, after = tmp_path / "before.pte", tmp_path / "after.pte"
    before.write_bytes(file_bytes(program(case.method)))
    (report,) = optimize(before, after, Options(time_limit_s=0.02)).methods
    assert report.after is not None
    assert report.after.arena_bytes == 64 * 64 * 4 + 64 * 4
    with open_pte(after) as file:
        plan = (file.program.execution_plan or ())[0]
        places = {offset_of((plan.values or ())[value].val) for value in values}
        assert len(places) == 1
        assert verify_program(file).safe


def test_pairs_are_alive_at_once_at_one_step_only() -> None:
    case = Case()
    _chain(case)
    problem = timeline_of(case.method).problem
    assert problem.may_share
    for first, second in problem.may_share:
        a, b = problem.buffers[first], problem.buffers[second]
        assert a.size_bytes == b.size_bytes
        assert intersects(a.lifetime, b.lifetime)
        assert a.lifetime[-1].end == b.lifetime[0].start + 1


def _over(
    build: Callable[[Case], tuple[int, ...]], operand: int, output: int, distance: int = 0
) -> bool:
    """What the verifier says when an output of the built method lies over an operand."""
    case = Case()
    values = build(case)
    offset = case.offset(values[operand]) + distance
    case.move(values[output], offset)
    return verify_program(program(case.method)).safe


def _softmax_in_order(case: Case) -> tuple[int, ...]:
    method = case.method
    x, y = (method.tensor(*IMAGE, offset=k * 128, dim_order=CHANNELS_LAST) for k in (0, 1))
    method.input(x).output(y)
    case.call("aten::_softmax.out", x, method.integer(1), method.boolean(False), out=y)
    return x, y


def _wider(case: Case) -> tuple[int, ...]:
    """Four numbers beside sixteen truth values: as many bytes."""
    x, other, y = case.input(4), case.input(4, 4), case.tensor(4, 4, kind=BOOL)
    case.method.output(case.call("aten::eq.Tensor_out", other, x, out=y))
    return x, y


def _cleared(case: Case) -> tuple[int, ...]:
    x, y = case.input(4, 4), case.tensor(4, 4)
    case.method.output(case.call("aten::tril.out", x, case.method.integer(0), out=y))
    return x, y


def test_the_verifier_accepts_what_is_proven() -> None:
    assert _over(_chain, 0, 1)
    assert _over(_chain, 2, 3)
    assert _over(layer_norm, 0, 1)
    assert _over(scatter, 0, 2)
    assert _over(lambda case: copy(case, "aten::expand_copy.out", (1, 4, 1, 3)), 0, 1)


def test_the_verifier_refuses_the_rest() -> None:
    assert not _over(_chain, 0, 1, distance=64)
    assert not _over(scatter, 1, 2)
    assert not _over(_softmax_in_order, 0, 1)
    assert not _over(_wider, 0, 1)
    assert not _over(_cleared, 0, 1)


# -- copies, as the verifier sees them ----------------------------------------------------


def _copied(build: Callable[[Case], object]) -> int | None:
    case = Case()
    build(case)
    steps = steps_of(case.method)
    return copied_by_kernel(steps, steps.steps[1])


def _converted(case: Case) -> None:
    x, y = case.input(8, kind=INT), case.tensor(8)
    case.method.output(case.call("aten::clone.out", x, case.method.none(), out=y))


def test_the_verifier_knows_kernels_that_copy() -> None:
    assert _copied(lambda case: copy(case, "aten::view_copy.out", (12,))) == 0
    assert _copied(lambda case: copy(case, "aten::expand_copy.out", (1, 4, 1, 3))) == 0
    assert _copied(lambda case: copy(case, "aten::unsqueeze_copy.out", (4, 1, 1, 3))) == 0


def test_the_verifier_knows_kernels_that_do_not() -> None:
    assert _copied(lambda case: copy(case, "aten::expand_copy.out", (4, 2, 3))) is None
    assert _copied(lambda case: copy(case, "aten::permute_copy.out", (1, 4, 3))) is None
    assert _copied(lambda case: copy(case, "aten::expand_copy.out", (4, 1, 3), True)) is None
    assert _copied(_converted) is None
    assert _copied(_softmax_in_order) is None
