"""Programs that the exporter does not make: decoded, changed, written, run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch._higher_order_ops.scan import scan
from torch.nn.functional import softplus

from onearena.pipeline import inspect
from onearena.pte import open_pte
from onearena.pte.schema import (
    DelegateCall,
    ExecutionPlan,
    KernelCall,
    MoveCall,
    Operator,
)
from tests.cases.checking import check, optimize_and_verify, saved
from tests.cases.conftest import Program
from tests.cases.editing import (
    edited,
    instructions,
    moved_behind,
    renamed_backend,
    with_instructions,
)
from tests.cases.lowering import Module, lower, portable
from tests.cases.running import difference, play, random_calls

X = torch.zeros(1, 4, 16, 16)


class Three(Module):
    """Three calls with kernels between them; the middle one reads what the first one made."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in range(6))

    def forward(self, x: Any) -> Any:
        a, b, c, d, e, f = self.convs
        y = softplus(b(a(x).relu()))
        z = d(c(y).relu() + x).cumsum(2)
        return f(e(z).relu() + y) * 2


def three(program: Program) -> Path:
    return program(lambda: lower(Three(), (X,)), "three")


def test_unknown_backend_between_two_calls(program: Program, tmp_path: Path) -> None:
    """Its call stays closed, the others are opened; with its real name the file still runs."""
    stock = three(program)
    middle = inspect(stock).methods[0].delegate_calls // 2

    def hide(plan: ExecutionPlan) -> ExecutionPlan:
        return renamed_backend(plan, middle, "AcceleratorBackend")

    def show(plan: ExecutionPlan) -> ExecutionPlan:
        return renamed_backend(plan, middle, "XnnpackBackend")

    hidden = edited(stock, tmp_path / "hidden.pte", hide)
    report = optimize_and_verify(hidden, tmp_path / "hidden.small.pte")
    (method,) = report.methods
    assert 0 < method.opened_calls < method.delegate_calls
    assert saved(method) > 0
    assert any("'AcceleratorBackend' is not known" in note for note in method.notes)
    shown = edited(tmp_path / "hidden.small.pte", tmp_path / "shown.pte", show)
    calls = random_calls(X, runs=4)
    assert difference(play(stock, calls), play(shown, calls)) is None


def test_every_backend_unknown(program: Program, tmp_path: Path) -> None:
    stock = three(program)

    def rename(name: str) -> Any:
        def edit(plan: ExecutionPlan) -> ExecutionPlan:
            for number in range(len(plan.delegates or ())):
                plan = renamed_backend(plan, number, name)
            return plan

        return edit

    hidden = edited(stock, tmp_path / "hidden.pte", rename("OtherBackend"))
    (method,) = optimize_and_verify(hidden, tmp_path / "hidden.small.pte").methods
    assert method.opened_calls == 0
    shown = edited(tmp_path / "hidden.small.pte", tmp_path / "shown.pte", rename("XnnpackBackend"))
    calls = random_calls(X, runs=4)
    assert difference(play(stock, calls), play(shown, calls)) is None


class Twice(Module):
    """The same layers in two calls."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

    def layers(self, x: Any) -> Any:
        return self.second(self.first(x).relu())

    def forward(self, x: Any) -> Any:
        return self.layers(self.layers(x).cumsum(2)).cumsum(3)


def _share_payload(plan: ExecutionPlan) -> ExecutionPlan:
    """Two delegates with one payload, as the exporter stores equal ones."""
    first, second = plan.delegates or ()
    return replace(plan, delegates=(first, replace(second, processed=first.processed)))


def _share_delegate(plan: ExecutionPlan) -> ExecutionPlan:
    """Two calls of one delegate; the other delegate is still there, and calls nothing."""
    made = [
        replace(i, delegate_index=0) if isinstance(i, DelegateCall) else i
        for i in instructions(plan)
    ]
    return with_instructions(plan, made)


@pytest.mark.parametrize("share", [_share_payload, _share_delegate])
def test_one_payload_of_two_calls(program: Program, tmp_path: Path, share: Any) -> None:
    stock = program(lambda: lower(Twice(), (X,)), "twice")
    shared = edited(stock, tmp_path / "shared.pte", share)
    checked = check(shared, random_calls(X))
    assert checked.method.opened_calls == checked.method.delegate_calls == 2
    assert difference(play(stock, random_calls(X)), checked.outputs) is None


class Pair(Module):
    """One call with two inputs of the same shape and two outputs, each read by a kernel."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Any, y: Any) -> Any:
        a, b = x.cumsum(2), y.cumsum(3)
        c = self.first(a).relu() * b
        d = self.second(c) + self.first(b) - a
        return c.cumsum(2), d.cumsum(3)


def pair(program: Program) -> Path:
    return program(lambda: lower(Pair(), (X, X.clone())), "pair")


def test_one_tensor_for_two_inputs(program: Program, tmp_path: Path) -> None:
    def merge(plan: ExecutionPlan) -> ExecutionPlan:
        made = instructions(plan)
        place, call = next((k, i) for k, i in enumerate(made) if isinstance(i, DelegateCall))
        first, _, *rest = call.args or ()
        made[place] = replace(call, args=(first, first, *rest))
        return with_instructions(plan, made)

    merged = edited(pair(program), tmp_path / "merged.pte", merge)
    check(merged, random_calls(X, X))


def test_output_that_nobody_reads(program: Program, tmp_path: Path) -> None:
    def forget(plan: ExecutionPlan) -> ExecutionPlan:
        """Without the last kernel, and with the first output of the method twice."""
        first, _ = plan.outputs or ()
        made = instructions(plan)
        last = made[-1]
        assert isinstance(last, KernelCall)
        assert (last.args or ())[-1] != first
        return replace(with_instructions(plan, made[:-1]), outputs=(first, first))

    forgetful = edited(pair(program), tmp_path / "forgetful.pte", forget)
    check(forgetful, random_calls(X, X))


def test_unknown_operator(program: Program, tmp_path: Path) -> None:
    """An operator that follows the convention is understood, whatever its name; arguments that
    do not follow it are pinned."""
    stock = three(program)

    def named(name: str, short: bool) -> Any:
        def edit(plan: ExecutionPlan) -> ExecutionPlan:
            number = next(
                k for k, op in enumerate(plan.operators or ()) if op.name == "aten::cumsum"
            )
            operators = list(plan.operators or ())
            operators[number] = Operator(name, "out")
            plan = replace(plan, operators=tuple(operators))
            if not short:
                return plan
            made = [
                replace(i, args=(i.args or ())[:-1])
                if isinstance(i, KernelCall) and i.op_index == number
                else i
                for i in instructions(plan)
            ]
            return with_instructions(plan, made)

        return edit

    renamed = edited(stock, tmp_path / "renamed.pte", named("custom::running_sum", short=False))
    (method,) = optimize_and_verify(renamed, tmp_path / "renamed.small.pte").methods
    assert method.pinned_values == 0
    assert saved(method) > 0

    strange = edited(stock, tmp_path / "strange.pte", named("custom::running_sum", short=True))
    (method,) = optimize_and_verify(strange, tmp_path / "strange.small.pte").methods
    assert method.pinned_values >= 2
    assert any("custom::running_sum" in note and "pinned" in note for note in method.notes)

    calls = random_calls(X, runs=4)
    for small in (tmp_path / "renamed.small.pte", tmp_path / "strange.small.pte"):
        real = edited(small, tmp_path / "real.pte", _with_cumsum)
        assert difference(play(stock, calls), play(real, calls)) is None


def _with_cumsum(plan: ExecutionPlan) -> ExecutionPlan:
    """The real operator again, with the arguments it takes."""
    operators = [
        Operator("aten::cumsum", "out") if op.name == "custom::running_sum" else op
        for op in plan.operators or ()
    ]
    number = next(k for k, op in enumerate(operators) if op.name == "aten::cumsum")
    made = [
        replace(i, args=(*(i.args or ())[:4], (i.args or ())[3]))
        if isinstance(i, KernelCall) and i.op_index == number
        else i
        for i in instructions(plan)
    ]
    return with_instructions(replace(plan, operators=tuple(operators)), made)


class Loop(Module):
    """Two tensors carried through a loop."""

    def forward(self, x: Any, first: Any, second: Any) -> Any:
        a, b = first.cumsum(0), second.cumsum(0)

        def step(carried: tuple[Any, Any], row: Any) -> Any:
            s, t = carried
            u = softplus(s * 0.5) + row.cumsum(0)
            v = t + u.cumsum(1) * 0.01
            return (v.clone(), u.clone()), v.cumsum(0)

        (s, t), rows = scan(step, (a, b), x, dim=0)
        return s.cumsum(0), t.cumsum(0) + a, rows.cumsum(0)


def _carried_by_handle(plan: ExecutionPlan) -> ExecutionPlan:
    """Every `copy_` between carried tensors becomes a move of the handle, as in a while loop.

    What is carried over is then written in one iteration and read in the next one, so it needs
    memory of its own, and the two results must not be written before both have been read.
    """
    copy = next(k for k, op in enumerate(plan.operators or ()) if op.name == "aten::copy_")
    made = instructions(plan)
    sources = []
    for place, instruction in enumerate(made):
        if isinstance(instruction, KernelCall) and instruction.op_index == copy:
            target, source, *_ = instruction.args or ()
            made[place] = MoveCall(source, target)
            sources.append(source)
    assert len(sources) == 4
    return moved_behind(with_instructions(plan, made), sources)


def test_while_loop_with_two_carried_tensors(program: Program, tmp_path: Path) -> None:
    """Tensors carried by `MoveCall`, a `JumpFalseCall` back to the start."""
    inputs = (torch.zeros(5, 4, 16), torch.zeros(4, 16), torch.zeros(4, 16))
    copying = program(lambda: lower(Loop(), inputs, partitioners=portable))
    moving = edited(copying, tmp_path / "moving.pte", _carried_by_handle)
    calls = random_calls(*inputs, runs=4)
    assert difference(play(copying, calls), play(moving, calls)) is None
    check(moving, calls)


def test_handles_swapped_in_a_loop(program: Program, tmp_path: Path) -> None:
    """Like the loop above, but what is carried changes places in every round."""

    def swap(plan: ExecutionPlan) -> ExecutionPlan:
        plan = _carried_by_handle(plan)
        made = instructions(plan)
        moves = [k for k, i in enumerate(made) if isinstance(i, MoveCall)]
        first, second = (made[k] for k in moves[:2])
        assert isinstance(first, MoveCall)
        assert isinstance(second, MoveCall)
        made[moves[0]] = replace(first, move_to=second.move_to)
        made[moves[1]] = replace(second, move_to=first.move_to)
        return with_instructions(plan, made)

    inputs = (torch.zeros(5, 4, 16), torch.zeros(4, 16), torch.zeros(4, 16))
    copying = program(lambda: lower(Loop(), inputs, partitioners=portable))
    swapped = edited(copying, tmp_path / "swapped.pte", swap)
    calls = random_calls(*inputs, runs=4)
    assert difference(play(copying, calls), play(swapped, calls)) is not None
    check(swapped, calls)


def test_method_without_instructions(program: Program, tmp_path: Path) -> None:
    """Its input is its output; and the same with no arena at all."""
    stock = three(program)

    def empty(plan: ExecutionPlan) -> ExecutionPlan:
        return replace(with_instructions(plan, []), outputs=plan.inputs)

    checked = check(edited(stock, tmp_path / "empty.pte", empty), random_calls(X))
    assert torch.equal(checked.outputs[0][0], random_calls(X)[0].inputs[0])


def test_optimized_by_an_older_version(program: Program, tmp_path: Path) -> None:
    """A file with another version's record is planned again, and stays right."""
    stock = three(program)
    optimize_and_verify(stock, tmp_path / "small.pte")
    older = tmp_path / "older.pte"
    with open_pte(tmp_path / "small.pte") as file:
        from onearena.flatbuf.data import read_data
        from onearena.pte.container import Segment
        from onearena.pte.writer import write_pte
        from onearena.record import KEY

        (entry,) = (e for e in file.program.named_data or () if e.key == KEY)
        segments = list(file.segments)
        record = read_data(segments[entry.segment_index].data)
        other = record.replace(b'"tool":"onearena ', b'"tool":"onearena 0.0.1.dev')
        assert other != record
        segments[entry.segment_index] = Segment((other,), 16)
        write_pte(file.with_program(file.program, tuple(segments)), older)
    calls = random_calls(X, runs=4)
    checked = check(older, calls)
    assert difference(play(stock, calls), checked.outputs) is None
