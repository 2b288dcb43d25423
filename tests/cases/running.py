"""Runs programs on the stock runtime and compares what comes out, bit for bit."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from onearena.runtime.session import Session

Outputs = tuple[Any, ...]


@dataclass(frozen=True)
class Call:
    """One run of one method."""

    method: str
    inputs: tuple[Any, ...]


def forward(*inputs: Any) -> Call:
    """A run of `forward`."""
    return Call("forward", inputs)


def random_calls(
    *examples: Any, runs: int = 3, method: str = "forward", seed: int = 0, high: int = 2
) -> list[Call]:
    """Runs with random inputs like these examples, others in every run; numbers stay."""
    generator = torch.Generator().manual_seed(seed)
    return [
        Call(method, tuple(random_like(example, generator, high) for example in examples))
        for _ in range(runs)
    ]


def random_like(example: Any, generator: torch.Generator, high: int = 2) -> Any:
    """A random tensor of the same type and shape; integers below `high`."""
    if not isinstance(example, torch.Tensor):
        return example
    if example.dtype.is_floating_point:
        drawn = torch.randn(example.shape, generator=generator) * 2
    else:
        drawn = torch.randint(0, high, example.shape, generator=generator)
    result = torch.empty_like(example)
    return result.copy_(drawn)


def play(path: Path, calls: Sequence[Call]) -> list[Outputs]:
    """The outputs of these runs, one after another in one session."""
    with Session(path) as session:
        return [session.run(call.method, _copies(call.inputs)) for call in calls]


def _copies(inputs: tuple[Any, ...]) -> list[Any]:
    return [x.clone() if isinstance(x, torch.Tensor) else x for x in inputs]


def difference(expected: Sequence[Outputs], found: Sequence[Outputs]) -> str | None:
    """The first difference in words; None when every bit is equal."""
    if len(expected) != len(found):
        return f"{len(expected)} runs became {len(found)}"
    for run, (one, other) in enumerate(zip(expected, found, strict=True)):
        if len(one) != len(other):
            return f"run {run}: {len(one)} outputs became {len(other)}"
        for output, (a, b) in enumerate(zip(one, other, strict=True)):
            problem = _differ(a, b)
            if problem is not None:
                return f"run {run}, output {output}: {problem}"
    return None


def _differ(a: Any, b: Any) -> str | None:
    if not isinstance(a, torch.Tensor) or not isinstance(b, torch.Tensor):
        same = type(a) is type(b) and (a == b or a != a)
        return None if same else f"{a!r} became {b!r}"
    if (a.dtype, a.shape, a.stride()) != (b.dtype, b.shape, b.stride()):
        return f"{a.dtype} {tuple(a.shape)} became {b.dtype} {tuple(b.shape)}"
    wrong = _bytes(a) != _bytes(b)
    count = int(wrong.any(dim=-1).sum()) if a.numel() else 0
    return f"{count} of {a.numel()} elements of {tuple(a.shape)} differ" if count else None


def _bytes(tensor: torch.Tensor) -> torch.Tensor:
    flat = tensor.contiguous().reshape(-1, 1)
    return flat.view(torch.uint8)
