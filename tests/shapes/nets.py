"""Networks with dynamic shapes, each with the shapes that its program is asked about."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.cases.lowering import Module

Shape = tuple[int, ...]


class Convolutions(Module):
    """Strided and dilated convolutions, pools, a sum of branches."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 8, 3, padding=1)
        self.second = nn.Conv2d(8, 8, 3, stride=2, padding=1)
        self.third = nn.Conv2d(8, 16, 3, padding=2, dilation=2)

    def forward(self, x: Any) -> Any:
        a = functional.max_pool2d(self.first(x).relu(), 2)
        b = functional.softplus(self.second(a))
        c = functional.avg_pool2d(self.third(b) + 1, 2)
        return c.mean((2, 3)), b


class Unet(Module):
    """Down, up by a scale, joined with what was there before."""

    def __init__(self) -> None:
        super().__init__()
        self.down, self.deep = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.up, self.last = nn.ConvTranspose2d(8, 4, 2, 2), nn.Conv2d(20, 2, 1)

    def forward(self, x: Any) -> Any:
        a = self.down(x).relu()
        b = self.deep(functional.max_pool2d(a, 2)).relu()
        wide = functional.interpolate(b, scale_factor=2.0, mode="nearest")
        return self.last(torch.cat([a, wide, self.up(b)], 1)).sigmoid()


class Attention(Module):
    """A transformer's layer over a sequence of any length."""

    def __init__(self) -> None:
        super().__init__()
        self.words = nn.Embedding(50, 16)
        self.mix, self.last = nn.Linear(16, 48), nn.Linear(16, 16)
        self.norm = nn.LayerNorm(16)

    def forward(self, words: Any) -> Any:
        batch, length = words.shape
        x = self.words(words)
        parts = self.mix(x).view(batch, length, 3, 2, 8).permute(2, 0, 3, 1, 4)
        weights = torch.softmax(parts[0] @ parts[1].transpose(2, 3), -1)
        mixed = (weights @ parts[2]).transpose(1, 2).reshape(batch, length, 16)
        mask = torch.arange(length) < length // 2
        return self.last(self.norm(mixed + x)) * mask.unsqueeze(-1)


class Sequence(Module):
    """Attention over a sequence of any length, in the few operators that need no reshape."""

    def __init__(self) -> None:
        super().__init__()
        self.mix, self.last = nn.Linear(16, 48), nn.Linear(16, 16)

    def forward(self, x: Any) -> Any:
        q, k, v = self.mix(x).split(16, -1)
        weights = torch.softmax(q @ k.t(), -1)
        y = functional.layer_norm(weights @ v + x, (16,))
        return self.last(y).relu() + y, weights


class Many(Module):
    """Operators of all kinds, none of which hides another's mistake: all results come out."""

    def __init__(self) -> None:
        super().__init__()
        self.conv, self.group = nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(2, 8)
        self.instance = nn.InstanceNorm2d(8)

    def forward(self, x: Any) -> Any:
        height, width = x.shape[2:]
        y = self.group(self.conv(x))
        rows = y.flatten(2).transpose(1, 2)
        best = torch.argmax(rows, 1).unsqueeze(1)
        resized = functional.interpolate(y, size=(height * 3, width), mode="bilinear")
        return (
            *(functional.pixel_shuffle(y, 2), functional.interpolate(y, scale_factor=1.5), resized),
            *(torch.topk(rows, 3, dim=1)[0], rows[:, ::2], torch.gather(rows, 1, best)),
            *(functional.pad(rows, (0, 0, 1, 2)), rows.repeat(1, 2, 1), rows.chunk(2, 2)[0]),
            *(torch.stack([rows, rows + 1], 1), functional.adaptive_avg_pool2d(y, (3, 3))),
            *(torch.tril(rows @ rows.transpose(1, 2)), torch.full((height, width), 1.0) + x[:, 0]),
            *(torch.where(rows > 0, rows, torch.zeros_like(rows)), torch.cumsum(rows, 1)),
            *(self.instance(y), rows.amax(1), rows.var(1), y.mean((2, 3))),
        )


class Lengths(Module):
    """Two inputs of lengths of their own, and one that is tied to the first."""

    def forward(self, x: Any, y: Any, z: Any) -> Any:
        joined = torch.cat([x.cumsum(0), y], 0)
        return joined.cumsum(1), (x + z).cumsum(0)


@dataclass(frozen=True)
class Case:
    """A network, its dynamic shapes, its bound, and live shapes below it.

    `is_alike`: exported for the live shapes alone it becomes the same operators in the same
    order, so that plans can be compared too.
    """

    net: Callable[[], Module]
    dynamic: Any
    bound: tuple[Shape, ...]
    live: tuple[Shape, ...]
    dtype: torch.dtype = torch.float32
    is_alike: bool = True

    def inputs(self, shapes: tuple[Shape, ...]) -> tuple[Any, ...]:
        """Example inputs of these shapes."""
        return tuple(torch.zeros(shape, dtype=self.dtype) for shape in shapes)


def by_position(shapes: tuple[Shape, ...]) -> dict[int, Shape]:
    """The shapes of all inputs as the library takes them."""
    return dict(enumerate(shapes))


def _dim(name: str, least: int, most: int) -> Any:
    return torch.export.Dim(name, min=least, max=most)


_HEIGHT, _WIDTH = (8 * _dim(name, 2, 8) for name in ("height", "width"))
_ONE, _TWO = _dim("one", 2, 32), _dim("two", 2, 16)
CASES = {
    "convolutions": Case(
        Convolutions, ({2: _HEIGHT, 3: _WIDTH},), ((1, 3, 64, 64),), ((1, 3, 32, 48),)
    ),
    "unet": Case(Unet, ({2: _HEIGHT, 3: _WIDTH},), ((1, 3, 64, 64),), ((1, 3, 24, 16),)),
    "sequence": Case(Sequence, ({0: _dim("length", 4, 64)},), ((64, 16),), ((17, 16),)),
    "attention": Case(
        Attention, ({1: _dim("length", 4, 64)},), ((2, 64),), ((2, 17),), torch.int64, False
    ),
    "many": Case(
        Many,
        ({2: _dim("height", 8, 32), 3: _dim("width", 8, 32)},),
        ((1, 3, 32, 32),),
        ((1, 3, 9, 13),),
        is_alike=False,
    ),
    "lengths": Case(
        Lengths,
        ({0: _ONE}, {0: _TWO}, {0: _ONE}),
        ((32, 16), (16, 16), (32, 16)),
        ((9, 16), (4, 16), (9, 16)),
    ),
}
