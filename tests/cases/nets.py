"""Networks that put XNNPACK's nodes, and the rewrites it applies to them, next to each other."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch.nn.functional import softplus

from tests.cases.lowering import Module


class Pads(Module):
    """Paddings that XNNPACK merges into what follows, and paddings that it cannot."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(8, 8, 3)
        self.point = nn.Conv2d(8, 8, 1)
        self.depthwise = nn.Conv2d(8, 8, 3, stride=2, groups=8)
        self.wide = nn.Conv2d(10, 8, 3, padding=1)

    def forward(self, x: Any) -> Any:
        merged = self.conv(functional.pad(x, (1, 1, 1, 1))).relu()
        twice = functional.pad(merged, (2, 1, 0, 1))
        both = self.conv(twice) + self.point(twice)[:, :, 1:-1, 1:-1]
        nothing = self.point(functional.pad(both, (0, 0, 0, 0)))
        ones = self.conv(functional.pad(nothing, (1, 1, 1, 1), value=1.0))
        channels = self.wide(functional.pad(ones, (0, 0, 0, 0, 1, 1)))
        strided = self.depthwise(functional.pad(channels, (0, 1, 0, 1)))
        return strided, functional.pad(merged, (3, 3)), softplus(both)


class Unaries(Module):
    """Every element-wise node, clamps of all kinds in between."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1)
        self.prelu = nn.PReLU(8)

    def forward(self, x: Any) -> Any:
        y = functional.relu6(self.conv(x))
        z = functional.hardtanh(y - 2, -1.5, 1.0).clamp(min=-1.0)
        a = functional.elu(functional.leaky_relu(z, 0.1)) + functional.hardswish(y).clamp(max=2.0)
        b = torch.tanh(torch.sigmoid(functional.gelu(a)).neg()).abs().sqrt()
        c = torch.rsqrt(b * b + 1).exp().log().floor() + b.ceil().square()
        d = self.prelu(c.sin() - y.cos())
        return d.relu().clamp(0.25, 0.75), torch.clamp(d, -0.5).relu(), c


class Binaries(Module):
    """Broadcasts in all directions, operands used twice, hidden clamps."""

    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.randn(1, 8, 1, 1))
        self.number = nn.Parameter(torch.randn(1))

    def forward(self, x: Any, row: Any, column: Any) -> Any:
        a = (x * self.scale + self.number).relu()
        outer = row * column  # neither operand has the result's size
        b = functional.relu6(a + outer - x)
        c = torch.minimum(torch.maximum(b, self.number), a).clamp(-1, 3)
        d = c / (a.square() + 1) + c * c
        e = torch.maximum(d + d, x) - torch.minimum(outer, d).relu()
        small = (row - column[:, :, :1]).relu()
        return e, small + d, (outer * small).relu(), (x + x).relu()


class Products(Module):
    """Attention and linear layers: transposed operands, constants, products of one tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.query, self.key = nn.Linear(32, 32), nn.Linear(32, 32, bias=False)
        self.value, self.last = nn.Linear(32, 32), nn.Linear(32, 48)
        self.table = nn.Parameter(torch.randn(4, 8, 8))

    def forward(self, x: Any) -> Any:
        q, k, v = (
            f(x).view(1, 16, 4, 8).transpose(1, 2) for f in (self.query, self.key, self.value)
        )
        weights = torch.softmax(q @ k.transpose(2, 3) * 0.35, -1)
        mixed = (weights @ v).transpose(1, 2).reshape(1, 16, 32)
        heads = v.reshape(4, 16, 8)
        tabled = torch.bmm(heads, self.table)
        squared = torch.bmm(heads.transpose(1, 2), heads)
        return functional.hardtanh(self.last(mixed + x), -1, 1), tabled.relu(), squared, weights


class Reductions(Module):
    """Means, pools, softmax on any axis, squares that XNNPACK merges."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 8, 3, padding=1)
        self.squeeze, self.excite = nn.Conv2d(8, 4, 1), nn.Conv2d(4, 8, 1)

    def forward(self, x: Any) -> Any:
        y = self.conv(x)
        gate = self.excite(self.squeeze(y.mean((2, 3), keepdim=True)).relu()).sigmoid()
        z = y * gate
        variance = z.square().mean((2, 3), keepdim=True) - (z * z).mean((2, 3), keepdim=True)
        pooled = functional.max_pool2d(z, 3, 2, 1, ceil_mode=True)
        average = functional.avg_pool2d(functional.relu6(pooled), 2)
        middle = torch.softmax(average, 1) + torch.softmax(average, 2)
        longest = torch.amax(z, 2, keepdim=True) + torch.amax(z, 3, keepdim=True)
        return middle, variance, torch.softmax(longest, -1), z.mean(-1)


class Convolutions(Module):
    """Strides, dilations, groups, transposed and one-dimensional convolutions."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(4, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8))
        self.dilated = nn.Conv2d(8, 8, 3, padding=2, dilation=2)
        self.grouped = nn.Conv2d(8, 16, 3, padding="same", groups=2)
        self.depthwise = nn.Conv2d(16, 32, 5, padding=2, groups=16)
        self.up = nn.ConvTranspose2d(32, 8, 4, 2, 1)
        self.line = nn.Conv1d(8, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        a = functional.relu6(self.stem(x))
        b = self.dilated(a).relu() + a
        c = functional.hardswish(self.depthwise(self.grouped(b)))
        d = functional.relu6(self.up(c))
        return self.line(d.flatten(2)), functional.relu(d - 1), b


class Shapes(Module):
    """Concats on every axis, slices, permutations and reshapes, some of nothing."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        a, b = self.conv(x), (x * 2).relu()
        rows = torch.cat([a, b, a, x], 2)
        channels = torch.cat([a, x, b, b, a], 1)
        outer = torch.cat([channels, channels.relu()], 0)
        parts = outer[:, 4:12, 1:, :-1] + 1
        turned = rows.permute(0, 3, 2, 1).permute(0, 2, 1, 3)
        flat = turned.reshape(1, -1).unsqueeze(0).unsqueeze(-1).squeeze(0)
        return parts.sigmoid(), flat * 2, torch.cat([x, x], 3), rows.view(-1), b.view(4, -1)


class Resizes(Module):
    """Bilinear inside XNNPACK, nearest and pixel shuffles outside."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 16, 3, padding=1)
        self.last = nn.Conv2d(4, 4, 1)

    def forward(self, x: Any) -> Any:
        a = functional.pixel_shuffle(self.conv(x), 2)
        b = functional.interpolate(self.last(a), scale_factor=0.5, mode="bilinear")
        c = functional.interpolate(b + x, (24, 40), mode="bilinear", align_corners=True)
        d = functional.interpolate(c.relu(), scale_factor=2, mode="nearest")
        e = functional.pixel_unshuffle(self.last(d).relu(), 4)
        return self.conv(c), e.sigmoid()


class Straight(Module):
    """Delegate calls whose outputs are their inputs, or each other, in another shape."""

    def forward(self, x: Any, y: Any) -> Any:
        a = (x + y).relu()
        return x.view(4, -1), a, a.view(-1), (y * 1.5).permute(1, 0), y.unsqueeze(0), (a * a).relu()


class Residuals(Module):
    """Skip connections over graph breaks: delegate outputs that are read inside and outside."""

    def __init__(self) -> None:
        super().__init__()
        self.convs = nn.ModuleList(nn.Conv2d(4, 4, 3, padding=1) for _ in range(6))

    def forward(self, x: Any) -> Any:
        first, second, third, fourth, fifth, sixth = self.convs
        a = first(x)
        b = second(a.relu()) + a
        c = softplus(third(b))
        d = fourth(c) + a + b
        e = torch.cat([softplus(d), d.relu(), c], 1)
        f = fifth(e[:, 4:8]) + sixth(e[:, 2:6]) + x
        return f, b, d.relu()


NETS: dict[str, tuple[type[Module], tuple[torch.Tensor, ...]]] = {
    "pads": (Pads, (torch.zeros(1, 8, 16, 16),)),
    "unaries": (Unaries, (torch.zeros(1, 4, 16, 16),)),
    "binaries": (
        Binaries,
        (torch.zeros(1, 8, 12, 16), torch.zeros(1, 8, 1, 16), torch.zeros(1, 8, 12, 1)),
    ),
    "products": (Products, (torch.zeros(1, 16, 32),)),
    "reductions": (Reductions, (torch.zeros(1, 4, 17, 16),)),
    "convolutions": (Convolutions, (torch.zeros(1, 4, 24, 16),)),
    "shapes": (Shapes, (torch.zeros(1, 4, 12, 16),)),
    "resizes": (Resizes, (torch.zeros(1, 4, 12, 16),)),
    "straight": (Straight, (torch.zeros(16, 32), torch.zeros(16, 32))),
    "residuals": (Residuals, (torch.zeros(1, 4, 16, 16),)),
}
"""By name: the network and example inputs."""
