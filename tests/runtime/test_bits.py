"""Outputs compared bit for bit."""

from __future__ import annotations

import math
import struct
from typing import Any

import pytest

from onearena.runtime.bits import compare_outputs

torch = pytest.importorskip("torch")


def _float(bits: int) -> Any:
    return torch.frombuffer(bytearray(struct.pack("<I", bits)), dtype=torch.float32)


def test_equal_bits() -> None:
    outputs = (torch.randn(2, 3), torch.tensor(1), 3, 2.5, True, None, "text", torch.empty(0, 4))
    assert not compare_outputs(outputs, outputs)


def test_nan_payloads_count() -> None:
    assert not compare_outputs((_float(0x7FC00001),), (_float(0x7FC00001),))
    found = compare_outputs((_float(0x7FC00001),), (_float(0x7FC00002),))
    assert found
    assert found.max_abs == 0.0


def test_signed_zeros_count() -> None:
    found = compare_outputs((torch.tensor([0.0]),), (torch.tensor([-0.0]),))
    assert found
    assert found.max_abs == 0.0
    assert compare_outputs((0.0,), (-0.0,))


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        ([1.0, 2.0], [1.0, 2.5], 0.5),
        ([math.inf, 1.0], [math.inf, 2.0], 1.0),
        ([math.inf], [1.0], math.inf),
        ([math.nan], [1.0], math.inf),
        ([math.inf], [-math.inf], math.inf),
    ],
)
def test_distances(a: list[float], b: list[float], distance: float) -> None:
    assert compare_outputs((torch.tensor(a),), (torch.tensor(b),)).max_abs == distance


@pytest.mark.parametrize(
    ("a", "b", "distance"),
    [
        (torch.tensor([2**62]), torch.tensor([2**62 + 1]), 1.0),
        (torch.tensor([0], dtype=torch.uint8), torch.tensor([255], dtype=torch.uint8), 255.0),
        (torch.tensor([True]), torch.tensor([False]), 1.0),
        (torch.tensor([1 + 1j]), torch.tensor([1 + 4j]), 3.0),
        (
            torch.tensor([1.0], dtype=torch.bfloat16),
            torch.tensor([2.0], dtype=torch.bfloat16),
            1.0,
        ),
        (3, 5, 2.0),
        (1.5, 1.0, 0.5),
    ],
)
def test_distances_of_other_types(a: Any, b: Any, distance: float) -> None:
    found = compare_outputs((a,), (b,))
    assert found
    assert found.max_abs == distance


@pytest.mark.parametrize(
    ("a", "b"),
    [
        ((), (1,)),
        ((1,), (1.0,)),
        ((1,), (True,)),
        ((torch.zeros(2),), (torch.zeros(2, dtype=torch.float64),)),
        ((torch.zeros(2),), (torch.zeros(1, 2),)),
        ((torch.zeros(2),), (0.0,)),
        (("a",), ("b",)),
    ],
)
def test_types_and_shapes_count(a: tuple[Any, ...], b: tuple[Any, ...]) -> None:
    found = compare_outputs(a, b)
    assert found
    assert found.max_abs is None


def test_the_first_difference_is_described() -> None:
    a = (torch.zeros(2), torch.zeros(2, 2))
    b = (torch.zeros(2), torch.tensor([[0.0, 1.0], [0.0, 3.0]]))
    found = compare_outputs(a, b)
    assert found.what == "output 1: 2 of 4 elements of [2, 2] differ"
    assert found.max_abs == 3.0
