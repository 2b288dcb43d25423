"""The estimate of indirection buffers against the heap of the real runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

from onearena.runtime.workspace import measure_workspace
from onearena.summary.build import summarize
from tests.cases.lowering import Module, lower

NOISE_BYTES = 60_000
"""What else stays on the heap after a first run."""


class Resize(Module):
    def forward(self, x: Any) -> Any:
        return nn.functional.interpolate(x, scale_factor=2, mode="bilinear", align_corners=True)


LAYERS = {
    "convolution": nn.Conv2d(8, 8, 3, padding=1),
    "strided": nn.Conv2d(8, 8, 5, stride=2, padding=2),
    "depthwise": nn.Conv2d(8, 8, 3, padding=1, groups=8),
    "pointwise": nn.Conv2d(8, 8, 1),
    "maximum": nn.MaxPool2d(3, 2, 1),
    "average": nn.AvgPool2d(3, 2),
    "transposed": nn.ConvTranspose2d(8, 8, 3, stride=2, padding=1),
    "resize": Resize(),
}


@pytest.mark.parametrize("name", LAYERS)
def test_heap_growth(tmp_path: Path, name: str) -> None:
    path = tmp_path / f"{name}.pte"
    path.write_bytes(lower(nn.Sequential(LAYERS[name], nn.ReLU()), (torch.zeros(1, 8, 256, 256),)))
    (method,) = summarize(path).methods
    assert len(method.delegates) == 1
    estimate = method.delegates[0].indirection_bytes
    assert estimate is not None
    measured = measure_workspace(path)
    assert measured.bytes is not None
    assert measured.heap_growth_bytes is not None
    found = measured.heap_growth_bytes - measured.bytes
    assert (estimate == 0) == (name in ("pointwise", "average"))
    assert found == pytest.approx(estimate, rel=0.01, abs=NOISE_BYTES)
