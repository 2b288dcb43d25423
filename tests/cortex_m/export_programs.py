"""Writes the programs of `tests/cortex_m/programs`; needs the ethos-u extra of ExecuTorch.

python -m tests.cortex_m.export_programs
"""

from __future__ import annotations

from pathlib import Path

import torch
from examples.cortex_m.export import NETWORKS, Network, export_network
from torch import Tensor, nn

PROGRAMS = Path(__file__).with_name("programs")
TARGETS = ("cortex-m0", "cortex-m4", "cortex-m55")


class Operators(nn.Module):
    """Every operator whose kernel takes scratch, and a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(4, 18, 3, padding=1)
        self.pointwise = nn.Conv2d(18, 18, 1)
        self.depthwise = nn.Conv2d(18, 18, 3, padding=1, groups=18)
        self.reversed = nn.ConvTranspose2d(18, 4, 2, stride=2)
        self.plain = nn.ConvTranspose2d(4, 4, 2, stride=2)
        self.pool = nn.AvgPool2d(4)
        self.linear = nn.Linear(4 * 4 * 4, 8)

    def forward(self, image: Tensor) -> Tensor:
        """float32[1, 4, 4, 4] to float32[1, 8]."""
        wide = self.depthwise(self.pointwise(self.first(image)))
        large = self.plain(self.reversed(wide))
        rows = self.linear(self.pool(large).flatten(1)).reshape(1, 2, 4)
        return torch.bmm(rows, rows.transpose(1, 2)).flatten(1)


def main() -> None:
    """Exports each for three cores."""
    networks = {
        "conv2d_x3": NETWORKS["conv2d_x3"],
        "operators": Network(Operators, ((1, 4, 4, 4),)),
    }
    PROGRAMS.mkdir(exist_ok=True)
    for name, network in networks.items():
        for target in TARGETS:
            path = PROGRAMS / f"{name}_{target.removeprefix('cortex-')}.pte"
            path.write_bytes(export_network(network, target))
            print(f"{path.name}: {path.stat().st_size:,} B")


if __name__ == "__main__":
    main()
