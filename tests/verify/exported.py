"""Small real programs for planting faults. Nothing here imports torch before it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.runtime import models


def unet() -> bytes:
    """Two levels with skip connections; nearest upsampling stays outside XNNPACK."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.down = nn.ModuleList(nn.Conv2d(i, o, 3, padding=1) for i, o in ((3, 8), (8, 8)))
            self.middle = nn.Conv2d(8, 8, 3, padding=1)
            self.up = nn.ModuleList(nn.Conv2d(16, 8, 3, padding=1) for _ in range(2))
            self.head = nn.Conv2d(8, 2, 1)

        def forward(self, x: Any) -> Any:
            skips = []
            for conv in self.down:
                x = functional.relu(conv(x))
                skips.append(x)
                x = functional.max_pool2d(x, 2)
            x = functional.relu(self.middle(x))
            for conv, skip in zip(self.up, reversed(skips), strict=True):
                x = functional.interpolate(x, scale_factor=2.0, mode="nearest")
                x = functional.relu6(conv(torch.cat([x, skip], 1)))
            return torch.sigmoid(self.head(x)), x

    torch.manual_seed(0)
    return models._lower({"forward": (Net(), (torch.zeros(1, 3, 16, 16),), None)})


def attention() -> bytes:
    """Layer norms, views, transposes, a matrix product of two activations, a residual."""
    import torch
    from torch import nn

    class Block(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm = nn.LayerNorm(16)
            self.mix = nn.Linear(16, 48)
            self.out = nn.Linear(16, 16)

        def forward(self, x: Any) -> Any:
            q, k, v = self.mix(self.norm(x)).view(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
            weights = torch.softmax(q @ k.transpose(-1, -2) * 0.35, -1)
            return x + self.out((weights @ v).transpose(1, 2).reshape(1, 6, 16))

    torch.manual_seed(0)
    return models._lower({"forward": (Block(), (torch.zeros(1, 6, 16),), None)})


def portable() -> bytes:
    """Kernels only, with views between them; no delegate."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.relu().view(-1)
            z = torch.cat([y.exp(), y.sin()]).view(2, 4, 8)
            top, indices = torch.topk(z, 3)
            return z.transpose(1, 2).softmax(-1).view(-1) * 2.0, top.sum() + indices.sum()

    return models._lower({"forward": (Net(), (torch.zeros(4, 8),), None)}, delegate=False)


EXPORTS: dict[str, Callable[[], bytes]] = {
    "attention": attention,
    "cache": models.cache,
    "chain": models.chain,
    "dynamic": models.dynamic,
    "lookup": models.lookup,
    "network": models.network,
    "portable": portable,
    "several": models.several,
    "unet": unet,
}
