"""U²-Net, the nested U-structure for salient object detection.

Qin et al., "U²-Net: Going Deeper with Nested U-Structure for Salient Object Detection" (2020).
The widths are those of the paper's small configuration (U2NETP): 64 channels between stages,
16 inside them. The network returns the fused saliency map only, as applications use it.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor, nn
from torch.nn import functional

WIDTH = 64
INNER_WIDTH = 16


@dataclass(frozen=True)
class Upsampling:
    """How a decoder brings a map to its skip connection's size."""

    mode: str
    align_corners: bool | None = None

    def to_size_of(self, x: Tensor, skip: Tensor) -> Tensor:
        """Resize ``x`` to the height and width of ``skip``."""
        return functional.interpolate(
            x, size=skip.shape[2:], mode=self.mode, align_corners=self.align_corners
        )


def conv_bn_relu(inputs: int, outputs: int, dilation: int = 1) -> nn.Module:
    """Return the paper's basic block, a 3x3 convolution that keeps the size."""
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=dilation, dilation=dilation),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


def halve() -> nn.Module:
    """Return the paper's downsampling, which rounds odd sizes up."""
    return nn.MaxPool2d(2, 2, ceil_mode=True)


class ResidualUBlock(nn.Module):
    """RSU-L: a U-Net of ``height`` levels around one residual connection."""

    def __init__(
        self, height: int, inputs: int, inner: int, outputs: int, upsampling: Upsampling
    ) -> None:
        super().__init__()
        self.upsampling = upsampling
        levels = height - 1
        self.enter = conv_bn_relu(inputs, outputs)
        self.down = nn.ModuleList(
            conv_bn_relu(outputs if level == 0 else inner, inner) for level in range(levels)
        )
        self.pool = halve()
        self.bottom = conv_bn_relu(inner, inner, dilation=2)
        self.up = nn.ModuleList(
            conv_bn_relu(2 * inner, outputs if level == 0 else inner)
            for level in reversed(range(levels))
        )

    def forward(self, x: Tensor) -> Tensor:
        entered: Tensor = self.enter(x)
        skips: list[Tensor] = []
        current = entered
        for level, block in enumerate(self.down):
            current = block(self.pool(current) if level else current)
            skips.append(current)
        current = self.bottom(current)
        for block, skip in zip(self.up, reversed(skips), strict=True):
            if current.shape[2:] != skip.shape[2:]:
                current = self.upsampling.to_size_of(current, skip)
            current = block(torch.cat([current, skip], dim=1))
        result: Tensor = current + entered
        return result


class DilatedUBlock(nn.Module):
    """RSU-4F: the same structure with dilations in place of pooling."""

    def __init__(self, inputs: int, inner: int, outputs: int) -> None:
        super().__init__()
        self.enter = conv_bn_relu(inputs, outputs)
        self.down = nn.ModuleList(
            [
                conv_bn_relu(outputs, inner),
                conv_bn_relu(inner, inner, 2),
                conv_bn_relu(inner, inner, 4),
            ]
        )
        self.bottom = conv_bn_relu(inner, inner, 8)
        self.up = nn.ModuleList(
            [
                conv_bn_relu(2 * inner, inner, 4),
                conv_bn_relu(2 * inner, inner, 2),
                conv_bn_relu(2 * inner, outputs),
            ]
        )

    def forward(self, x: Tensor) -> Tensor:
        entered: Tensor = self.enter(x)
        skips: list[Tensor] = []
        current = entered
        for block in self.down:
            current = block(current)
            skips.append(current)
        current = self.bottom(current)
        for block, skip in zip(self.up, reversed(skips), strict=True):
            current = block(torch.cat([current, skip], dim=1))
        result: Tensor = current + entered
        return result


class U2Net(nn.Module):
    """The whole network: six encoder stages, five decoder stages, six fused side maps."""

    def __init__(self, upsampling: Upsampling) -> None:
        super().__init__()
        self.upsampling = upsampling
        self.encoder = nn.ModuleList(
            [self._stage(7, 3), *(self._stage(height, WIDTH) for height in (6, 5, 4))]
            + [DilatedUBlock(WIDTH, INNER_WIDTH, WIDTH) for _ in range(2)]
        )
        self.pool = halve()
        self.decoder = nn.ModuleList(
            [DilatedUBlock(2 * WIDTH, INNER_WIDTH, WIDTH)]
            + [self._stage(height, 2 * WIDTH) for height in (4, 5, 6, 7)]
        )
        self.side = nn.ModuleList(nn.Conv2d(WIDTH, 1, 3, padding=1) for _ in range(6))
        self.fuse = nn.Conv2d(6, 1, 1)

    def _stage(self, height: int, inputs: int) -> nn.Module:
        return ResidualUBlock(height, inputs, INNER_WIDTH, WIDTH, self.upsampling)

    def forward(self, image: Tensor) -> Tensor:
        skips: list[Tensor] = []
        current = image
        for index, stage in enumerate(self.encoder):
            current = stage(self.pool(current) if index else current)
            skips.append(current)
        decoded = [skips.pop()]
        for stage, skip in zip(self.decoder, reversed(skips), strict=True):
            current = stage(torch.cat([self.upsampling.to_size_of(current, skip), skip], dim=1))
            decoded.append(current)
        return torch.sigmoid(self.fuse(self._side_maps(decoded[::-1])))

    def _side_maps(self, decoded: list[Tensor]) -> Tensor:
        maps = [side(x) for side, x in zip(self.side, decoded, strict=True)]
        full_size = maps[0]
        resized = [self.upsampling.to_size_of(side_map, full_size) for side_map in maps[1:]]
        return torch.cat([full_size, *resized], dim=1)
