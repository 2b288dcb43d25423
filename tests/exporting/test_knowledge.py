"""What `to_executorch` notes of a real export, and what becomes of it."""

from __future__ import annotations

import inspect as source_of
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.export import Dim

import onearena
from onearena.export_record import ExportedMethod, exported_method, read_export
from onearena.exporting.formulas import formula_of
from onearena.exporting.source_lines import SourceLines
from onearena.program import analyse_method
from onearena.pte import open_pte
from onearena.pte.schema import DelegateCall, KernelCall, Tensor
from onearena.shapes.live import live_sizes, with_recorded
from onearena.size_formula import evaluate
from tests.cases.lowering import Module, quiet
from tests.exporting import nets


class Sizes(Module):
    """Sizes that are sums, products and halves of the inputs' sizes."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(8, 16)

    def forward(self, x: Any, y: Any) -> Any:
        both = torch.cat([self.linear(x), self.linear(y)], 1)
        flat = torch.erf(both.reshape(both.shape[0] * both.shape[1], 16))
        return torch.cumsum(flat[::2], 0), both


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("knowledge")


@cache
def programs(name: str) -> Any:
    with quiet():
        if name == "sizes":
            torch.manual_seed(0)
            shapes = ({1: Dim("n", min=2, max=64)}, {1: Dim("k", min=2, max=32)})
            inputs = (torch.zeros(3, 7, 8), torch.zeros(3, 5, 8))
            return onearena.to_executorch(nets.edge_of(Sizes(), inputs, dynamic=shapes))
        return onearena.to_executorch(nets.breaks(), target="cortex-m55")


@pytest.fixture(params=["breaks", "sizes"])
def saved(request: pytest.FixtureRequest, directory: Path) -> Path:
    return save(request.param, directory)


def save(name: str, directory: Path) -> Path:
    path = directory / f"{name}.pte"
    if not path.exists():
        programs(name).save(str(path))
    return path


def line_numbers(cls: type, text: str) -> set[int]:
    """Numbers of the lines of a class that hold some text."""
    lines, first = source_of.getsourcelines(cls)
    return {first + k for k, line in enumerate(lines) if text in line}


def noted(path: Path) -> ExportedMethod:
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        found = exported_method(file, plan)
        assert found is not None
        return found


def test_lines_of_kernels(directory: Path) -> None:
    path = save("breaks", directory)
    method = noted(path)
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        (chain,) = plan.chains or ()
        operators = [op.name for op in plan.operators or ()]
        calls = [instruction.instr_args for instruction in chain.instructions or ()]
    erf = line_numbers(nets.Breaks, "torch.erf")
    for call, lines in zip(calls, method.lines, strict=True):
        if isinstance(call, KernelCall) and operators[call.op_index] == "aten::erf":
            assert {line.line for line in lines} == erf
            assert {(line.file, line.function) for line in lines} == {
                ("tests/exporting/nets.py", "forward")
            }
        elif isinstance(call, DelegateCall):
            assert len(lines) >= 2


def test_lines_inside_delegates(directory: Path) -> None:
    """The peak names the line of the node, not only that of the call."""
    path = save("breaks", directory)
    (summary,) = onearena.summarize(path).methods
    convolutions = {
        step.source.line
        for step in summary.steps
        if step.source is not None and "Conv2d" in step.label
    }
    assert convolutions == line_numbers(nets.Breaks, "self.first(") | line_numbers(
        nets.Breaks, "self.second("
    )
    (report,) = onearena.inspect(path).methods
    assert report.peak is not None
    assert ", from tests/exporting/nets.py:" in report.peak.step
    (planned,) = programs("breaks").report.methods
    assert ", from tests/exporting/nets.py:" in planned.peak.step


def test_state_has_its_name(directory: Path) -> None:
    path = save("breaks", directory)
    method = noted(path)
    assert list(method.state) == ["total"]
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        analysed = analyse_method(file, plan)
    assert method.state_values <= analysed.timeline.storage.state
    assert method.state_values


def test_the_target_is_kept(directory: Path) -> None:
    for name, target in (("breaks", "cortex-m55"), ("sizes", None)):
        with open_pte(save(name, directory)) as file:
            record = read_export(file)
        assert record is not None
        assert record.target == target
        assert record.tool == f"onearena {onearena.__version__}"


def test_formulas_give_the_exported_bounds(directory: Path) -> None:
    path = save("sizes", directory)
    method = noted(path)
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        values = plan.values or ()
        inputs = plan.inputs or ()
    symbols = {
        formula: bound
        for value, bound in zip(inputs, (64, 32), strict=True)
        for formula in method.sizes[value]
        if isinstance(formula, str)
    }
    assert len(symbols) == 2
    assert len(method.sizes) >= 6
    for value, dims in method.sizes.items():
        tensor = values[value].val
        assert isinstance(tensor, Tensor)
        assert [evaluate(dim, symbols) for dim in dims if dim is not None] == list(
            tensor.sizes or ()
        )


def test_formulas_tell_what_cannot_be_derived(directory: Path) -> None:
    path = save("sizes", directory)
    shapes = {0: (3, 10, 8), 1: (3, 4, 8)}
    with open_pte(path) as file:
        (plan,) = file.program.execution_plan or ()
        method = analyse_method(file, plan)
    live = live_sizes(method, shapes)
    value = max(v for v in noted(path).sizes if v in live.dims and v not in (plan.inputs or ()))
    forgotten = live_without(live, value)
    found = with_recorded(method, forgotten)
    assert found.dims[value] == live.dims[value]
    assert found.size_bytes[value] == live.size_bytes[value]
    assert value not in found.unknown


def live_without(live: Any, value: int) -> Any:
    from dataclasses import replace

    from onearena.shapes.rules.call import Cause

    return replace(
        live,
        dims={v: dims for v, dims in live.dims.items() if v != value},
        size_bytes={v: size for v, size in live.size_bytes.items() if v != value},
        unknown={**live.unknown, value: Cause(0, "aten::mystery.out", "nobody knows")},
    )


def test_the_record_outlives_another_optimize(saved: Path, tmp_path: Path) -> None:
    again = tmp_path / "again.pte"
    onearena.optimize(saved, again)
    assert noted(again) == noted(saved)


class Node:
    """A node with a stack trace."""

    def __init__(self, trace: Any) -> None:
        self.meta = {"stack_trace": trace}


def frame(file: str, line: int) -> str:
    return f'  File "{file}", line {line}, in forward\n    x = y\n'


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (frame(str(Path.cwd() / "net.py"), 3), "net.py:3"),
        (frame("/elsewhere/of/someone/net.py", 3), "someone/net.py:3"),
        (
            frame("/a/net.py", 3) + frame(f"{next(iter(torch.__path__))}/nn/conv.py", 9),
            "a/net.py:3",
        ),
        (frame(f"{next(iter(torch.__path__))}/nn/conv.py", 9), None),
        (frame("torch/fx/passes/runtime_assert.py", 24), None),
        (frame("transformers/models/vit.py", 24), "transformers/models/vit.py:24"),
        ("nothing", None),
        (None, None),
    ],
)
def test_the_line_that_counts(trace: Any, expected: str | None) -> None:
    found = SourceLines().of(Node(trace))
    assert (None if found is None else str(found)) == expected


def test_operations_that_formulas_do_not_have() -> None:
    import sympy  # type: ignore[import-untyped]

    class Size:
        def __init__(self, expression: Any) -> None:
            self.node = type("N", (), {"expr": expression})()

    s = sympy.Symbol("s0", integer=True, positive=True)
    assert formula_of(5) == 5
    assert formula_of(Size(s * s + 1)) == ("+", 1, ("*", "s0", "s0"))
    assert formula_of(Size(s / 2)) is None
    assert formula_of(Size(sympy.sin(s))) is None
    assert formula_of(Size(sympy.Symbol("S"))) is None
    assert formula_of("no size") is None
