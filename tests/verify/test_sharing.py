"""Where an output over its operand is safe, and where it is not."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from onearena.pte.container import PteFile
from onearena.verification.program import verify_program
from tests.pte.build import Method
from tests.timeline.build import program
from tests.verify.programs import RELU, Space

ROW = 8 * 4
WHOLE = (4, 8)
Call = Callable[[Method, int, int], None]
"""Adds the call to a method, given the whole tensor and a part of it."""


def slice_rows(method: Method, whole: int, part: int) -> None:
    numbers = (method.integer(n) for n in (0, 1, 3, 1))
    method.call("aten::slice_copy.Tensor_out", whole, *numbers, part, part)


def every_second_row(method: Method, whole: int, part: int) -> None:
    numbers = (method.integer(n) for n in (0, 1, 4, 2))
    method.call("aten::slice_copy.Tensor_out", whole, *numbers, part, part)


def slice_columns(method: Method, whole: int, part: int) -> None:
    numbers = (method.integer(n) for n in (1, 2, 6, 1))
    method.call("aten::slice_copy.Tensor_out", whole, *numbers, part, part)


def select_last(method: Method, whole: int, part: int) -> None:
    numbers = (method.integer(n) for n in (0, -1))
    method.call("aten::select_copy.int_out", whole, *numbers, part, part)


def narrow(method: Method, whole: int, part: int) -> None:
    numbers = (method.integer(n) for n in (0, 2, 2))
    method.call("aten::narrow_copy.out", whole, *numbers, part, part)


PARTS = [
    (slice_rows, (2, 8), ROW),
    (every_second_row, (2, 8), None),
    (slice_columns, (4, 4), None),
    (select_last, (8,), 3 * ROW),
    (narrow, (2, 8), 2 * ROW),
]


def inside(call: Call, dims: tuple[int, ...], distance: int) -> PteFile:
    """A part of a tensor, placed at a distance from its beginning."""
    method = Method()
    space = Space(method)
    a = space.tensor(*WHOLE)
    method.input(a)
    whole = space.kernel(RELU, a, dims=WHOLE)
    part = space.view(whole, *dims, at=distance)
    call(method, whole, part)
    method.output(space.kernel("aten::exp.out", part, dims=dims))
    return program(method)


def is_safe(file: PteFile) -> bool:
    return verify_program(file).safe


@pytest.mark.parametrize(("call", "dims", "right"), PARTS)
def test_a_part_inside_its_whole(call: Call, dims: tuple[int, ...], right: int | None) -> None:
    room = 4 * ROW - 4 * (dims[0] if len(dims) == 1 else dims[0] * dims[1])
    for distance in range(0, room + 1, 16):
        assert is_safe(inside(call, dims, distance)) == (distance == right), distance


@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("split", ["sizes", "even", "unbind"])
def test_parts_that_are_written_together(split: str, swapped: bool) -> None:
    method = Method()
    space = Space(method)
    a = space.tensor(*WHOLE)
    method.input(a)
    whole = space.kernel(RELU, a, dims=WHOLE)
    count = 4 if split == "unbind" else 2
    dims = (8,) if split == "unbind" else (2, 8)
    places = [k * 4 * ROW // count for k in range(count)]
    if swapped:
        places.reverse()
    parts = [space.view(whole, *dims, at=at) for at in places]
    outs = method.tensor_list(*parts)
    arguments: tuple[int, ...]
    if split == "sizes":
        sizes = method.int_list(2, 2)
        name, arguments = "split_with_sizes_copy.out", (whole, sizes, method.integer(0))
    elif split == "even":
        name, arguments = "split_copy.Tensor_out", (whole, method.integer(2), method.integer(0))
    else:
        name, arguments = "unbind_copy.int_out", (whole, method.integer(0))
    method.call(f"aten::{name}", *arguments, outs, outs)
    for part in parts:
        method.output(space.kernel("aten::exp.out", part, dims=dims))
    assert is_safe(program(method)) == (not swapped)


@pytest.mark.parametrize("axis", [0, -2, 1])
@pytest.mark.parametrize("swapped", [False, True])
def test_operands_inside_a_concatenation(axis: int, swapped: bool) -> None:
    method = Method()
    space = Space(method)
    a = space.tensor(2, 8)
    method.input(a)
    whole = space.tensor(*(WHOLE if axis != 1 else (2, 16)))
    first, second = (space.view(whole, 2, 8, at=at) for at in (0, 2 * ROW))
    for part in (first, second):
        method.call(RELU, a, part, part)
    items = method.tensor_list(*((second, first) if swapped else (first, second)))
    method.call("aten::cat.out", items, method.integer(axis), whole, whole)
    method.output(space.kernel("aten::exp.out", whole, dims=WHOLE))
    assert is_safe(program(method)) == (axis != 1 and not swapped)


@pytest.mark.parametrize(
    ("name", "safe"),
    [
        ("aten::exp.out", True),
        ("aten::_softmax.out", True),
        ("aten::mm.out", False),
        ("aten::permute_copy.out", False),
        ("aten::t_copy.out", False),
        ("cortex_m::quantized_max_pool2d.out", False),
    ],
)
def test_an_output_exactly_over_its_operand(name: str, safe: bool) -> None:
    method = Method()
    space = Space(method)
    a = space.tensor(8, 8)
    method.input(a)
    b = space.kernel(RELU, a, dims=(8, 8))
    over = space.view(b, 8, 8)
    method.call(name, b, over, over)
    method.output(space.kernel("aten::exp.out", over, dims=(8, 8)))
    assert is_safe(program(method)) == safe
