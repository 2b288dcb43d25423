"""Programs with simplified payloads on the real runtime: the same bits as before.

Only the payloads change here: nothing is opened and nothing moves, so what a difference would
mean is clear. That opened programs still give the same bits is what `tests/cases` is for.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional

from onearena import __version__
from onearena.apply import NewMethod, rewrite_file
from onearena.delegates.xnnpack.normalise import normalise
from onearena.delegates.xnnpack.opening import OpenedPayload
from onearena.delegates.xnnpack.simplify import Simplified
from onearena.delegates.xnnpack.simplify_switches import Simplifications
from onearena.opening import OpenedMethod
from onearena.payloads import read_payloads
from onearena.pte import open_pte
from onearena.pte.writer import write_pte
from onearena.record import Record, encode_record
from tests.cases.lowering import Module, lower, quantized
from tests.cases.running import difference, play, random_calls


class Heads(Module):
    """Attention whose heads are split and joined by views and transposes."""

    def __init__(self) -> None:
        super().__init__()
        self.project = nn.ModuleList([nn.Linear(24, 24) for _ in range(4)])

    def forward(self, x: Any) -> Any:
        q, k, v = (self._split(layer(x)) for layer in self.project[:3])
        weights = torch.softmax(q @ k.transpose(-2, -1), -1)
        joined = (weights @ v).transpose(1, 2).reshape(x.shape)
        return self.project[3](joined).permute(1, 0, 2).permute(1, 0, 2)

    def _split(self, x: Any) -> Any:
        return x.view(x.shape[0], x.shape[1], 4, 6).transpose(1, 2)


class Tokens(Module):
    """An image that becomes tokens and an image again, as in SegFormer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(6, 6, 3, padding=1, groups=6)
        self.second = nn.Conv2d(6, 6, 3, padding=1, groups=6)
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        tokens = self.linear(self.first(x).flatten(2).transpose(1, 2))
        image = tokens.transpose(1, 2).reshape(x.shape)
        return self.second(image), tokens


class Padding(Module):
    """Padding that convolutions share, in front of one, and of nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 4, 3), nn.Conv2d(4, 4, 3, stride=2)
        self.depthwise, self.point = nn.Conv2d(4, 4, 3, groups=4), nn.Conv2d(4, 4, 1)

    def forward(self, x: Any) -> Any:
        shared = functional.pad(x, (1, 2, 1, 2))
        single = functional.pad(self.first(shared).relu(), (2, 0, 0, 2))
        nothing = functional.pad(self.point(x), (0, 0, 0, 0))
        return self.second(shared), self.depthwise(single), self.point(nothing)


class Single(Module):
    """Axes of one element that move."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.linear = nn.Conv2d(4, 1, 3, padding=1), nn.Linear(4, 3)

    def forward(self, x: Any) -> Any:
        pooled = self.linear(functional.adaptive_avg_pool2d(x, 1).flatten(1))
        return torch.sigmoid(self.conv(x)), pooled


class Doubled(Module):
    """The same transposes and activations twice, read together."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(6, 6)

    def forward(self, x: Any) -> Any:
        x = self.linear(x)
        turned, again = x.permute(0, 2, 1), x.permute(0, 2, 1)
        return turned * 2.0 + again, torch.softmax(x, -1) + torch.softmax(x, -1)


MODELS: dict[str, tuple[nn.Module, tuple[Any, ...], tuple[str, ...]]] = {
    "heads": (Heads(), (torch.zeros(2, 10, 24),), ("transposes",)),
    "tokens": (Tokens(), (torch.zeros(1, 6, 8, 8),), ("transposes",)),
    "padding": (Padding(), (torch.zeros(1, 4, 9, 9),), ("merged_pads",)),
    "single": (Single(), (torch.zeros(1, 4, 6, 6),), ("transposes",)),
    "doubled": (Doubled(), (torch.zeros(2, 5, 6),), ("duplicates",)),
}


def simplify_file(
    source: Path, target: Path, switches: Simplifications, *, is_static: bool
) -> Simplified:
    """Writes a program whose payloads are normalised; returns what that took out."""
    total = Simplified()
    with open_pte(source) as file:
        (plan,) = file.program.execution_plan or ()
        originals, changed = read_payloads(file, plan), {}
        for number, payload in originals.items():
            assert payload.graph is not None
            assert payload.closed is None
            graph, changes = normalise(payload.graph, "net", switches, is_static)
            total += changes.simplified
            changed[number] = OpenedPayload(graph, (), {}, changes)
        opened = OpenedMethod(plan, {}, frozenset(), changed, 0, ())
        record = encode_record(Record(__version__, {}, None))
        write_pte(rewrite_file(file, {0: NewMethod(plan, opened, originals)}, record), target)
    return total


@pytest.fixture(autouse=True)
def same_weights() -> None:
    torch.manual_seed(0)


def _compare(path: Path, inputs: tuple[Any, ...], *, is_static: bool) -> Simplified:
    calls = random_calls(*inputs)
    small = path.with_suffix(".small.pte")
    found = simplify_file(path, small, Simplifications(), is_static=is_static)
    assert difference(play(path, calls), play(small, calls)) is None
    return found


@pytest.mark.parametrize("name", MODELS)
def test_outputs_keep_their_bits(tmp_path: Path, name: str) -> None:
    module, inputs, passes = MODELS[name]
    path = tmp_path / f"{name}.pte"
    path.write_bytes(lower(module, inputs))
    found = _compare(path, inputs, is_static=True)
    assert all(getattr(found, counted) > 0 for counted in passes), found


@pytest.mark.parametrize("name", ["tokens", "single"])
def test_outputs_of_int8_programs_keep_their_bits(tmp_path: Path, name: str) -> None:
    module, inputs, _ = MODELS[name]
    path = tmp_path / f"{name}.pte"
    example = tuple(torch.randn(x.shape) for x in inputs)
    path.write_bytes(lower(quantized(module, example), inputs))
    _compare(path, inputs, is_static=True)


def test_outputs_of_dynamic_programs_keep_their_bits(tmp_path: Path) -> None:
    module, _, _ = MODELS["heads"]
    path = tmp_path / "dynamic.pte"
    batch = torch.export.Dim("batch", min=1, max=8)
    path.write_bytes(lower(module, (torch.zeros(4, 10, 24),), dynamic=({0: batch},)))
    small = path.with_suffix(".small.pte")
    simplify_file(path, small, Simplifications(), is_static=False)
    for size in (1, 3, 8):
        calls = random_calls(torch.zeros(size, 10, 24), runs=2)
        assert difference(play(path, calls), play(small, calls)) is None
