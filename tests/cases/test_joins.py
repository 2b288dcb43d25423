"""Concatenations and slices in place, on the real runtime, and records that lie."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from onearena.candidates import solve
from onearena.drafts import Drafter
from onearena.errors import VerificationError
from onearena.flatbuf.data import read_data
from onearena.memory_map import parse_memory_map
from onearena.options import Options
from onearena.pipeline import optimize, verify, write_planned
from onearena.program import analyse_method
from onearena.pte.container import Segment
from onearena.pte.reader import open_pte
from onearena.pte.schema import AllocationDetails, EValue, ExecutionPlan, Tensor
from onearena.pte.writer import write_pte
from onearena.record import KEY, MethodRecord, read_record
from tests.cases.checking import check
from tests.cases.conftest import Program
from tests.cases.editing import edited
from tests.cases.lowering import Module, lower, planned, portable, quantized, xnnpack
from tests.cases.running import difference, play, random_calls

LONG, SHORT = torch.zeros(1, 300, 16), torch.zeros(1, 200, 16)


class _Tokens(Module):
    """Two sequences, one behind the other, for one layer; a part of that comes back."""

    def __init__(self) -> None:
        super().__init__()
        self.left, self.right, self.both = nn.Linear(16, 32), nn.Linear(16, 32), nn.Linear(32, 8)

    def forward(self, x: Any, y: Any) -> Any:
        left, right = torch.relu(self.left(x)), torch.tanh(self.right(y))
        whole = torch.cat([left, right, self.left(y)], 1)
        return self.both(whole), torch.sigmoid(whole[:, 250:320])


class _Kernels(Module):
    """The same with kernels that XNNPACK has not."""

    def forward(self, x: Any, y: Any) -> Any:
        left, right = functional.softplus(x), torch.cumsum(y, 2)
        whole = torch.cat([left, right, functional.softplus(right)], 1)
        first, rest = torch.split(whole, [100, whole.shape[1] - 100], 1)
        return torch.cumsum(first, 1), functional.softplus(rest[:, 3:50]), whole[:, 7].exp()


class _Nested(Module):
    """Concatenations of concatenations, operands that come twice, inputs and results."""

    def __init__(self, breaks: bool) -> None:
        super().__init__()
        self.breaks = breaks

    def _f(self, x: Any) -> Any:
        return functional.softplus(x) if self.breaks else torch.tanh(x)

    def forward(self, x: Any, y: Any) -> Any:
        a, b, c = self._f(x), torch.exp(y), self._f(y)
        inner = torch.cat([a, b], 1)
        again = torch.cat([c, a, a], 1)
        outer = torch.cat([inner, c, y, b], 1)
        return self._f(outer), torch.abs(inner), a, again.square(), torch.cat([b, c], 1)


class _Dense(Module):
    """Every layer sees all that was before it."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList(nn.Linear(16, 16) for _ in range(4))

    def forward(self, x: Any, y: Any) -> Any:
        held = torch.tanh(x)
        for layer in self.layers:
            held = torch.cat([held, torch.relu(layer(held[:, -50:])), functional.softplus(y)], 1)
        return held.mean(1), held[:, :9]


class _Heads(Module):
    """Attention whose operands are slices of one product."""

    def __init__(self) -> None:
        super().__init__()
        self.all = nn.Linear(16, 16)

    def forward(self, x: Any, y: Any) -> Any:
        joined = self.all(torch.cat([x, y], 0)).reshape(1, -1, 16)
        q, k, v = joined[:, :100], joined[:, 100:300], joined[:, 300:500]
        return torch.softmax(q @ k.transpose(1, 2), -1) @ v


MODULES: dict[str, Callable[[], Module]] = {
    "tokens": _Tokens,
    "kernels": _Kernels,
    "nested": partial(_Nested, False),
    "nested_kernels": partial(_Nested, True),
    "dense": _Dense,
}


def _forced(source: Path, target: Path) -> int:
    """Joins whatever can be joined, whether it pays or not; the number of values in others."""
    options = Options(time_limit_s=0.05)
    with open_pte(source) as file:
        plans = file.program.execution_plan or ()
        analysed = {k: analyse_method(file, plan) for k, plan in enumerate(plans)}
        draft = Drafter(file, analysed, 0, options).joining().opened({})[-1]
        if not draft.opened.pieces and not draft.parts:
            return 0
        candidate = solve(analysed[0], draft, options)
        write_planned(file, target, analysed, {0: candidate}, options)
    return len(draft.opened.pieces) + len(draft.parts)


@pytest.mark.parametrize("with_xnnpack", [True, False], ids=["xnnpack", "portable"])
@pytest.mark.parametrize("name", MODULES)
def test_bits_are_the_same(name: str, with_xnnpack: bool, program: Program, tmp_path: Path) -> None:
    partitioners = xnnpack if with_xnnpack else portable
    stock = program(lambda: lower(MODULES[name](), (LONG, SHORT), partitioners=partitioners))
    calls = random_calls(LONG, SHORT)
    check(stock, calls)
    joined = tmp_path / "joined.pte"
    assert _forced(stock, joined) > 1
    assert verify(joined).violations == ()
    assert difference(play(stock, calls), play(joined, calls)) is None


@pytest.mark.parametrize("name", ["tokens", "dense"])
def test_eight_bits(name: str, program: Program, tmp_path: Path) -> None:
    module = quantized(MODULES[name](), (LONG + 1, SHORT - 1))
    stock = program(lambda: lower(module, (LONG, SHORT)))
    calls, joined = random_calls(LONG, SHORT), tmp_path / "joined.pte"
    if _forced(stock, joined):
        assert verify(joined).violations == ()
        assert difference(play(stock, calls), play(joined, calls)) is None
    check(stock, calls)


def test_batches_slices_and_attention(program: Program, tmp_path: Path) -> None:
    x, y = torch.zeros(2, 100, 16), torch.zeros(3, 100, 16)
    stock = program(lambda: lower(_Heads(), (x, y)))
    joined, calls = tmp_path / "joined.pte", random_calls(x, y)
    assert _forced(stock, joined)
    assert difference(play(stock, calls), play(joined, calls)) is None


def _total(stock: Path, target: Path, **options: Any) -> int:
    (method,) = optimize(stock, target, Options(**options)).methods
    assert method.after is not None
    return method.after.total_bytes


@pytest.mark.parametrize(("name", "partitioners"), [("tokens", xnnpack), ("kernels", portable)])
def test_memory_falls(name: str, partitioners: Any, program: Program, tmp_path: Path) -> None:
    stock = program(lambda: lower(MODULES[name](), (LONG, SHORT), partitioners=partitioners))
    joined = _total(stock, tmp_path / "joined.pte")
    without = _total(stock, tmp_path / "without.pte", join_in_place=False)
    assert joined < 0.8 * without


def test_where_memory_is_the_callers_nothing_is_joined(program: Program, tmp_path: Path) -> None:
    config = planned(alloc_graph_input=False, alloc_graph_output=False)
    stock = program(lambda: lower(MODULES["nested"](), (LONG, SHORT), config=config))
    joined, calls = tmp_path / "joined.pte", random_calls(LONG, SHORT)
    if _forced(stock, joined):
        assert verify(joined).violations == ()
        assert difference(play(stock, calls), play(joined, calls)) is None


@pytest.mark.parametrize("partitioners", [xnnpack, portable])
def test_dynamic_shapes_stay_as_they_are(
    partitioners: Any, program: Program, tmp_path: Path
) -> None:
    rows = torch.export.Dim("rows", min=4, max=200)
    stock = program(
        lambda: lower(
            _Nested(breaks=False),
            (SHORT, SHORT),
            dynamic=({1: rows}, {1: rows}),
            partitioners=partitioners,
        )
    )
    assert _forced(stock, tmp_path / "joined.pte") == 0


@pytest.mark.parametrize("partitioners", [xnnpack, portable])
def test_joined_programs_are_planned_once_more(
    partitioners: Any, program: Program, tmp_path: Path
) -> None:
    """Into a memory map: what lies in what stays as it is, as far as somebody reads it."""
    stock = program(lambda: lower(_Nested(False), (LONG, SHORT), partitioners=partitioners))
    joined, again = tmp_path / "joined.pte", tmp_path / "again.pte"
    assert _forced(stock, joined)
    optimize(joined, again, Options(memory_map=parse_memory_map("all:1M:1")))
    assert verify(again).violations == ()
    calls = random_calls(LONG, SHORT)
    assert difference(play(stock, calls), play(again, calls)) is None


# -- faults ---------------------------------------------------------------------------------


@pytest.fixture(params=["tokens", "kernels"])
def joined(request: pytest.FixtureRequest, program: Program, tmp_path: Path) -> tuple[Path, Path]:
    """A program and how it is with its values in place."""
    name: str = request.param
    partitioners = xnnpack if name == "tokens" else portable
    stock = program(
        lambda: lower(MODULES[name](), (LONG, SHORT), partitioners=partitioners), f"joined_{name}"
    )
    target = tmp_path / "joined.pte"
    assert _forced(stock, target)
    return stock, target


def _entry(path: Path) -> MethodRecord:
    with open_pte(path) as file:
        record = read_record(file)
        assert record is not None
        return record.methods["forward"]


def _moved(plan: ExecutionPlan, values: Sequence[int], distance: int) -> ExecutionPlan:
    """The method with some tensors further up, or down."""
    entries = list(plan.values or ())
    for value in values:
        tensor = entries[value].val
        assert isinstance(tensor, Tensor)
        assert tensor.allocation_info is not None
        info = tensor.allocation_info
        place = AllocationDetails.at(info.memory_id, info.offset + distance)
        entries[value] = EValue(replace(tensor, allocation_info=place))
    return replace(plan, values=tuple(entries))


def test_a_part_in_the_wrong_place_is_found_and_matters(
    joined: tuple[Path, Path], tmp_path: Path
) -> None:
    stock, small = joined
    calls, entry = random_calls(LONG, SHORT), _entry(small)
    expected = play(stock, calls)
    parts = (*entry.pieces, *entry.joined)
    assert parts
    differences = []
    for value, whole, _ in parts:
        for moved, distance in (([value], 64), ([whole], 64)):
            faulty = edited(
                small, tmp_path / "f.pte", partial(_moved, values=moved, distance=distance)
            )
            assert not verify(faulty).safe, (value, whole)
            differences.append(difference(expected, play(faulty, calls)))
    assert any(differences)


def _with_record(source: Path, target: Path, **changes: Any) -> Path:
    with open_pte(source) as file:
        entry = next(e for e in file.program.named_data or () if e.key == KEY)
        segments = list(file.segments)
        content = json.loads(read_data(segments[entry.segment_index].data))
        content["methods"]["forward"].update(changes)
        segments[entry.segment_index] = Segment((json.dumps(content).encode(),), 16)
        write_pte(file.with_program(file.program, tuple(segments)), target)
    return target


def test_records_that_lie(joined: tuple[Path, Path], tmp_path: Path) -> None:
    _, small = joined
    entry, target = _entry(small), tmp_path / "lie.pte"
    name = "joined" if entry.joined else "pieces"
    parts = [list(part) for part in getattr(entry, name)]
    value, whole, distance = parts[0]
    assert verify(small).safe
    for lie in (
        [[value, whole, distance + 16], *parts[1:]],
        [[value, whole, -distance - 16], *parts[1:]],
        [[value, whole + 10**6, distance], *parts[1:]],
        [[10**9, whole, distance], *parts],
    ):
        assert not verify(_with_record(small, target, **{name: lie})).safe, lie
    for nonsense in ([[1]], "x", [["a", "b", "c"]], [[1, 2, None]], 5, [[1e400, 1, 1]]):
        verify(_with_record(small, target, **{name: nonsense}))  # as a file without a record


def test_without_its_record_it_looks_like_a_mistake(program: Program, tmp_path: Path) -> None:
    """Nothing else says that one value is to hold what several others have written."""
    stock = program(
        lambda: lower(_Nested(breaks=True), (LONG, SHORT), partitioners=portable),
        "nested_kernels",
    )
    joined = tmp_path / "joined.pte"
    assert _forced(stock, joined)
    assert verify(joined).safe
    assert not verify(_with_record(joined, tmp_path / "lie.pte", joined=[])).safe


def test_a_copy_that_was_needed_is_missed(program: Program, tmp_path: Path) -> None:
    """The kernel is left out, and what it would have made stays where it was."""

    def without_cat(plan: ExecutionPlan) -> ExecutionPlan:
        (chain,) = plan.chains or ()
        operators = [operator.name for operator in plan.operators or ()]
        left = tuple(
            instruction
            for instruction in chain.instructions or ()
            if operators[instruction.instr_args.op_index] != "aten::cat"  # type: ignore[union-attr]
        )
        assert len(left) < len(chain.instructions or ())
        return replace(plan, chains=(replace(chain, instructions=left),))

    stock = program(
        lambda: lower(_Kernels(), (LONG, SHORT), partitioners=portable), "joined_kernels"
    )
    faulty = edited(stock, tmp_path / "f.pte", without_cat)
    assert not verify(faulty).safe


@pytest.mark.parametrize("fault", ["slot", "copy"])
def test_a_fault_of_the_pass_is_found(
    fault: str, program: Program, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever gets a distance wrong, or leaves out what is needed, is refused."""
    from onearena import elision

    real = elision._parts

    def wrong(*args: Any) -> Any:
        found = list(real(*args))
        if fault == "copy":
            return found[:-1]
        return [replace(part, distance=part.distance ^ 64) for part in found]

    stock = program(
        lambda: lower(_Kernels(), (LONG, SHORT), partitioners=portable), "joined_kernels"
    )
    monkeypatch.setattr(elision, "_parts", wrong)
    with pytest.raises(VerificationError):
        _forced(stock, tmp_path / "joined.pte")
    small, calls = tmp_path / "small.pte", random_calls(LONG, SHORT)
    optimize(stock, small)
    monkeypatch.undo()
    assert verify(small).safe
    assert difference(play(stock, calls), play(small, calls)) is None
