"""Compares outputs bit for bit. The arguments are torch tensors, numbers, strings or None."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Difference:
    """How one set of outputs differs from another.

    Attributes:
        what: the first difference in words; None when all bits are equal.
        max_abs: the largest |b - a| over all numbers, 0.0 for equal ones (two NaNs, two
            equal infinities); infinite when a NaN or an infinity meets something else; None
            when types or shapes differ, so that there is nothing to subtract.
    """

    what: str | None = None
    max_abs: float | None = 0.0

    def __bool__(self) -> bool:
        return self.what is not None


def compare_outputs(a: Sequence[Any], b: Sequence[Any]) -> Difference:
    """The difference between the outputs of two runs."""
    if len(a) != len(b):
        return Difference(f"{len(a)} outputs became {len(b)}", None)
    worst = Difference()
    for index, (left, right) in enumerate(zip(a, b, strict=True)):
        found = _compare(left, right)
        if found:
            worst = merge(worst, Difference(f"output {index}: {found.what}", found.max_abs))
    return worst


def merge(first: Difference, second: Difference) -> Difference:
    """The worse of two magnitudes with the earlier description."""
    if first.max_abs is None or second.max_abs is None:
        magnitude = None
    else:
        magnitude = max(first.max_abs, second.max_abs)
    return Difference(first.what or second.what, magnitude)


def _compare(a: Any, b: Any) -> Difference:
    import torch

    if isinstance(a, torch.Tensor) and isinstance(b, torch.Tensor):
        return _compare_tensors(a, b)
    if type(a) is not type(b):
        return Difference(f"{_kind(a)} became {_kind(b)}", None)
    if isinstance(a, float):
        if struct.pack("<d", a) == struct.pack("<d", b):
            return Difference()
        return Difference(f"{a!r} became {b!r}", _float_distance(a, b))
    if a == b:
        return Difference()
    return Difference(f"{a!r} became {b!r}", float(abs(a - b)) if isinstance(a, int) else None)


def _kind(value: Any) -> str:
    return type(value).__name__


def _float_distance(a: float, b: float) -> float:
    if math.isnan(a) or math.isnan(b):
        return 0.0 if math.isnan(a) and math.isnan(b) else math.inf
    return 0.0 if a == b else abs(b - a)


def _compare_tensors(a: Any, b: Any) -> Difference:
    import torch

    if a.dtype != b.dtype:
        return Difference(f"{a.dtype} became {b.dtype}", None)
    if a.shape != b.shape:
        return Difference(f"shape {list(a.shape)} became {list(b.shape)}", None)
    if a.stride() != b.stride() and a.numel():
        return Difference(f"strides {a.stride()} became {b.stride()}", None)
    left, right = (x.contiguous().reshape(-1).view(torch.uint8) for x in (a, b))
    if torch.equal(left, right):
        return Difference()
    per_element = (left != right).reshape(a.numel(), -1).any(1)
    count = int(per_element.sum())
    distance = _distance(a, b)
    return Difference(f"{count} of {a.numel()} elements of {list(a.shape)} differ", distance)


def _distance(a: Any, b: Any) -> float:
    """The largest |b - a| of two tensors whose bits differ somewhere."""
    import torch

    if not a.dtype.is_floating_point and not a.dtype.is_complex:
        return _integer_distance(a, b)
    if a.dtype.is_complex:
        a, b = (torch.view_as_real(x.to(torch.complex128)) for x in (a, b))
    left, right = a.to(torch.float64), b.to(torch.float64)
    same = (left == right) | (left.isnan() & right.isnan())
    distance = torch.where(same, 0.0, (right - left).abs())
    # an infinity minus a number is infinite, a NaN minus anything is NaN: both count as infinite
    return float(torch.where(distance.isnan(), math.inf, distance).max())


def _integer_distance(a: Any, b: Any) -> float:
    """Exact where it matters: only the elements that differ go through Python's integers."""
    import torch

    differs = a.reshape(-1).to(torch.int64) != b.reshape(-1).to(torch.int64)
    pairs = zip(a.reshape(-1)[differs].tolist(), b.reshape(-1)[differs].tolist(), strict=True)
    return float(max((abs(int(y) - int(x)) for x, y in pairs), default=0))
