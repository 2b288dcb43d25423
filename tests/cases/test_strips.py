"""Programs whose calls run in strips of rows, on the real runtime, and records that lie."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from onearena.errors import VerificationError
from onearena.flatbuf.data import read_data
from onearena.memory_map import parse_memory_map
from onearena.options import Options
from onearena.pipeline import optimize, verify
from onearena.pte.container import Segment
from onearena.pte.reader import open_pte
from onearena.pte.schema import AllocationDetails, EValue, ExecutionPlan, Tensor
from onearena.pte.writer import write_pte
from onearena.record import KEY, read_record
from tests.cases.checking import check, optimize_and_verify
from tests.cases.conftest import Program
from tests.cases.editing import edited
from tests.cases.lowering import Module, lower
from tests.cases.running import difference, forward, play, random_calls

IMAGE = (torch.zeros(1, 3, 48, 40),)


class _Wide(Module):
    """Wide in the middle, narrow at both ends: nothing but strips helps."""

    def __init__(self) -> None:
        super().__init__()
        self.wide = nn.Conv2d(3, 24, 3, padding=1)
        self.apart = nn.Conv2d(24, 24, 3, stride=2, padding=1, groups=24)
        self.narrow = nn.Conv2d(24, 2, 1)

    def forward(self, image: Any) -> Any:
        apart = torch.relu(self.apart(torch.relu(self.wide(image))))
        return self.narrow(apart)


@pytest.fixture
def stock(program: Program) -> Path:
    torch.manual_seed(0)
    return program(lambda: lower(_Wide(), IMAGE))


def test_a_wide_activation_is_never_whole(stock: Path, tmp_path: Path) -> None:
    checked = check(stock, random_calls(*IMAGE))
    (method,) = checked.report.methods
    assert any("in strips of rows" in note for note in method.notes)
    whole = 24 * 48 * 40 * 4
    assert method.after is not None
    assert method.after.total_bytes < 0.7 * whole
    without = optimize(stock, tmp_path / "whole.pte", Options(strips=False)).methods[0]
    assert without.after is not None
    assert without.after.total_bytes > whole
    assert not any("strips" in note for note in without.notes)


class _Enlarging(Module):
    """Three images of two sizes, enlarged and joined: what is joined is what is large."""

    def __init__(self) -> None:
        super().__init__()
        self.small = nn.Conv2d(3, 16, 3, stride=4, padding=1)
        self.middle = nn.Conv2d(3, 16, 3, stride=2, padding=1)
        self.last = nn.Conv2d(48, 2, 3, padding=1)

    def forward(self, image: Any) -> Any:
        small, half = self.small(image), self.middle(image)
        again = torch.nn.functional.interpolate(small, scale_factor=2, mode="bilinear")
        parts = [
            torch.nn.functional.interpolate(part, scale_factor=factor, mode="bilinear")
            for part, factor in ((small, 4), (half, 2), (again + half, 2))
        ]
        return self.last(torch.cat(parts, 1))


def test_images_are_enlarged_in_strips(program: Program, tmp_path: Path) -> None:
    torch.manual_seed(0)
    path = program(lambda: lower(_Enlarging(), IMAGE))
    calls = random_calls(*IMAGE)
    # what a row is not made of must not reach it, not even multiplied by nothing
    for number, row in enumerate((0, 7, 23, 24, 47)):
        (image,) = random_calls(*IMAGE, runs=1, seed=number)[0].inputs
        image = image.clone()
        image[:, :, row, :] = torch.inf
        calls.append(forward(image))
    small = tmp_path / "small.pte"
    (method,) = optimize_and_verify(path, small, options=Options(max_latency=2)).methods
    assert difference(play(path, calls), play(small, calls)) is None
    assert any("in strips of rows" in note for note in method.notes)
    joined = 48 * 48 * 40 * 4
    assert method.after is not None
    assert method.after.total_bytes < joined / 2
    without = optimize(path, tmp_path / "whole.pte", Options(strips=False)).methods[0]
    assert without.after is not None
    assert without.after.total_bytes > joined


def test_no_row_is_computed_twice_when_that_is_forbidden(stock: Path, tmp_path: Path) -> None:
    report = optimize(stock, tmp_path / "small.pte", Options(max_latency=1.0)).methods[0]
    assert report.after is not None
    assert report.after.total_bytes > 24 * 48 * 40 * 4  # the depthwise needs its neighbours' rows


def test_a_program_in_strips_is_planned_once_more(stock: Path, tmp_path: Path) -> None:
    """By another version, or into a memory map: what lies where in what is kept."""
    small, again = tmp_path / "small.pte", tmp_path / "again.pte"
    optimize(stock, small)
    calls = random_calls(*IMAGE)
    expected = play(stock, calls)
    memory_map = parse_memory_map("fast:100K:1,slow:1M:2")
    for options in (Options(memory_map=memory_map), Options(memory_map=memory_map, strips=False)):
        optimize(small, again, options)
        assert verify(again).violations == ()
        assert difference(expected, play(again, calls)) is None
        assert _pieces(again) == _pieces(small)


def _with_pieces(source: Path, target: Path, pieces: Any) -> Path:
    """The file with other pieces in its record."""
    with open_pte(source) as file:
        entry = next(e for e in file.program.named_data or () if e.key == KEY)
        segments = list(file.segments)
        content = json.loads(read_data(segments[entry.segment_index].data))
        content["methods"]["forward"]["pieces"] = pieces
        data = json.dumps(content).encode()
        segments[entry.segment_index] = Segment((data,), 16)
        write_pte(file.with_program(file.program, tuple(segments)), target)
    return target


def _moved(plan: ExecutionPlan, value: int, distance: int) -> ExecutionPlan:
    """The method with one tensor some bytes further up."""
    values = list(plan.values or ())
    tensor = values[value].val
    assert isinstance(tensor, Tensor)
    assert tensor.allocation_info is not None
    info = tensor.allocation_info
    place = AllocationDetails.at(info.memory_id, info.offset + distance)
    values[value] = EValue(replace(tensor, allocation_info=place))
    return replace(plan, values=tuple(values))


def _pieces(path: Path) -> list[list[int]]:
    with open_pte(path) as file:
        record = read_record(file)
        assert record is not None
        return [list(piece) for piece in record.methods["forward"].pieces]


def test_records_that_lie_about_pieces(stock: Path, tmp_path: Path) -> None:
    small = tmp_path / "small.pte"
    optimize(stock, small)
    pieces, target = _pieces(small), tmp_path / "lie.pte"
    assert pieces
    assert verify(small).safe
    value, whole, distance = pieces[-1]
    for lie in (
        [[value, whole, distance + 16], *pieces[:-1]],
        [[value, whole, -distance - 16], *pieces[:-1]],
        [[value, whole + 10**6, distance], *pieces[:-1]],
        [[10**9, whole, distance], *pieces],
        [[value, value, 0], *pieces[:-1]],
    ):
        assert not verify(_with_pieces(small, target, lie)).safe, lie
    for nonsense in ([[1]], "x", [["a", "b", "c"]], [[1, 2, None]], 5, [[1e400, 1, 1]]):
        verify(_with_pieces(small, target, nonsense))  # as a file without a record


def test_pieces_elsewhere_are_found_and_matter(stock: Path, tmp_path: Path) -> None:
    """A piece that is moved is not where its rows are."""
    small, calls = tmp_path / "small.pte", random_calls(*IMAGE)
    optimize(stock, small)
    expected = play(stock, calls)
    differences = []
    for value, _, _ in _pieces(small):
        faulty = edited(small, tmp_path / "f.pte", partial(_moved, value=value, distance=64))
        assert not verify(faulty).safe
        differences.append(difference(expected, play(faulty, calls)))
    assert any(differences)


def test_a_fault_in_the_strips_is_no_reason_to_give_up(
    stock: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the second opinion objects to is left out, and said."""
    monkeypatch.setattr("onearena.written.strip_fault", lambda *_: "planted")
    small = tmp_path / "small.pte"
    report = optimize(stock, small)
    assert any("without strips" in note and "planted" in note for note in report.notes)
    assert not _pieces(small)
    assert verify(small).safe

    def broken(*_: Any) -> Any:
        raise VerificationError("planted")

    monkeypatch.setattr("onearena.pipeline.verify_written", broken)
    small.unlink()
    with pytest.raises(VerificationError, match="planted"):
        optimize(stock, small)
    assert not small.exists()
