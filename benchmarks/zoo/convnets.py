"""Convolutional networks written out here: EDSR and a dynamic-shape U-Net."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class EdsrBlock(nn.Module):
    """EDSR's residual block: no normalisation, no activation after the sum."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = x + self.body(x)
        return result


class Edsr(nn.Module):
    """EDSR's baseline: 16 residual blocks of 64 channels, sub-pixel upsampling.

    Lim et al., "Enhanced Deep Residual Networks for Single Image Super-Resolution" (2017).
    The paper subtracts the data set's mean colour before and adds it after; that is left to the
    caller, as it usually is on a phone.
    """

    def __init__(self, blocks: int = 16, width: int = 64, scale: int = 2) -> None:
        super().__init__()
        self.head = nn.Conv2d(3, width, 3, padding=1)
        self.body = nn.Sequential(
            *(EdsrBlock(width) for _ in range(blocks)),
            nn.Conv2d(width, width, 3, padding=1),
        )
        self.upsample = nn.Sequential(
            nn.Conv2d(width, scale * scale * width, 3, padding=1),
            nn.PixelShuffle(scale),
        )
        self.tail = nn.Conv2d(width, 3, 3, padding=1)

    def forward(self, image: Tensor) -> Tensor:
        head = self.head(image)
        result: Tensor = self.tail(self.upsample(head + self.body(head)))
        return result


def _double_conv(inputs: int, outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
        nn.Conv2d(outputs, outputs, 3, padding=1),
        nn.BatchNorm2d(outputs),
        nn.ReLU(),
    )


class UNet(nn.Module):
    """A narrow U-Net (Ronneberger et al., 2015) that works at any multiple of 16.

    The decoder upsamples by nearest neighbours, for which XNNPACK has no operator, so the exported
    graph breaks at each of its levels.
    """

    def __init__(self, classes: int = 4, widths: tuple[int, ...] = (16, 32, 64, 96, 128)) -> None:
        super().__init__()
        self.encoder = nn.ModuleList(
            _double_conv(inputs, outputs)
            for inputs, outputs in zip((3, *widths), widths, strict=False)
        )
        self.pool = nn.MaxPool2d(2)
        self.upsample = nn.Upsample(scale_factor=2.0, mode="nearest")
        self.decoder = nn.ModuleList(
            _double_conv(below + skip, skip)
            for below, skip in zip(widths[:0:-1], widths[-2::-1], strict=True)
        )
        self.classify = nn.Conv2d(widths[0], classes, 1)

    def forward(self, image: Tensor) -> Tensor:
        skips: list[Tensor] = []
        current = image
        for level, block in enumerate(self.encoder):
            current = block(self.pool(current) if level else current)
            skips.append(current)
        skips.pop()
        for block, skip in zip(self.decoder, reversed(skips), strict=True):
            current = block(torch.cat([self.upsample(current), skip], dim=1))
        logits: Tensor = self.classify(current)
        return logits
