"""Small models with large activations, one for each kind of advice, and each with its change."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

from tests.cases.lowering import Module


class Upsampling(Module):
    """Convolutions with resizes between them: XNNPACK takes the bilinear ones only."""

    def __init__(self, mode: str) -> None:
        super().__init__()
        self.mode = mode
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.down = nn.Conv2d(16, 16, 3, stride=2, padding=1)
        self.middle = nn.Conv2d(16, 16, 3, padding=1)
        self.last = nn.Conv2d(16, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        wide = self.first(x).relu()
        small = self.middle(self.down(wide).relu()).relu()
        corners = {"align_corners": True} if self.mode == "bilinear" else {}
        back = functional.interpolate(small, scale_factor=2, mode=self.mode, **corners)
        return self.last(self.middle(back).relu() + wide)


class Narrowing(Module):
    """The input is the largest tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, padding=1)

    def forward(self, x: Any) -> Any:
        return self.conv(x).relu().mean((2, 3))


class Widening(Module):
    """The output is the largest tensor."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(4, 16, 1)

    def forward(self, x: Any) -> Any:
        return self.conv(x)


class Language(Module):
    """Embedding, a layer, logits: of all tokens, or of the last one."""

    def __init__(self, last_only: bool, classes: int = 4000) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.last_only = last_only
        self.embedding = nn.Embedding(classes, 32)
        self.layer = nn.Linear(32, 32)
        self.head = nn.Linear(32, classes, bias=False)

    def forward(self, tokens: Any) -> Any:
        hidden = self.layer(self.embedding(tokens)).relu()
        if self.last_only:
            hidden = hidden[:, -1:, :]
        return self.head(hidden)


class Joining(Module):
    """Two halves joined along the batch axis by a kernel of ExecuTorch."""

    def forward(self, x: Any, y: Any) -> Any:
        return torch.cat([x.sin(), y.cos()], 0).sum(1)


class JoiningAcross(Module):
    """Two halves joined along the batch axis by XNNPACK, one of them a kernel's."""

    def forward(self, x: Any, y: Any) -> Any:
        return torch.cat([x.sin(), (y + 1).relu()], 0) * 2
