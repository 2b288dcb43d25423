"""Exports the real files in `seeds/` and `rewritten/` again:
``python -m tests.fuzz.export_seeds DIRECTORY``.

They are committed, so that fuzzing needs neither torch nor executorch.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import nn

import onearena
from onearena.engine.embedding import embed_description


class _Linear(nn.Module):
    """Two linear layers; softplus is not for XNNPACK and breaks the graph."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(4, 8), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return self.second(nn.functional.softplus(self.first(x).relu()))


class _Stateful(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("state", torch.arange(8.0).reshape(1, 8))

    def forward(self, x: Any) -> Any:
        self.state.add_(x)
        return self.state * 2


class _Weightless(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.relu(x) + x


class _Cond(nn.Module):
    def forward(self, condition: Any, x: Any) -> Any:
        return torch.cond(
            condition,
            lambda y: torch.cat([y, y.sin()]),
            lambda y: torch.cat([y.exp(), y]),
            [x],
        )


class _Convnet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv, self.norm = nn.Conv2d(1, 2, 3, padding=1), nn.LayerNorm(4)

    def forward(self, x: Any) -> Any:
        y = nn.functional.pad(nn.functional.max_pool2d(self.conv(x).relu(), 2), (1, 1))
        rows = [y.flatten(1)[:, :4], y.mean((2, 3)).repeat(1, 2)]
        return self.norm(torch.cat(rows, 0)).softmax(-1)


class _Wide(nn.Module):
    """Its activations are wide: they are computed in strips. Gelu is not for XNNPACK."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.last = nn.Conv2d(2, 8, 3, padding=1), nn.Conv2d(8, 2, 3, padding=1)

    def forward(self, x: Any) -> Any:
        y = self.last(self.first(x).relu())
        return nn.functional.max_pool2d(nn.functional.softplus(y), 4) * 2


def _quantize(model: Any, inputs: tuple[Any, ...], is_dynamic: bool) -> Any:
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    quantizer = XNNPACKQuantizer().set_global(config)
    prepared = prepare_pt2e(torch.export.export(model, inputs).module(), quantizer)
    prepared(*inputs)
    return convert_pt2e(prepared)


def _export(model: Any, inputs: tuple[Any, ...], **options: Any) -> bytes:
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from executorch.exir.passes.init_mutable_pass import InitializedMutableBufferPass

    portable = isinstance(model, _Stateful | _Weightless | _Cond)
    program = torch.export.export(model, inputs, **options)
    partitioner = [] if portable else [XnnpackPartitioner()]
    edge = to_edge_transform_and_lower(program, partitioner=partitioner)
    passes = [InitializedMutableBufferPass(["state"])] if isinstance(model, _Stateful) else []
    return bytes(edge.to_executorch(ExecutorchBackendConfig(passes=passes)).buffer)


def _rewritten(data: bytes, rewrite: Callable[[Path, Path], object]) -> bytes:
    with tempfile.TemporaryDirectory() as name:
        source, target = Path(name, "in.pte"), Path(name, "out.pte")
        source.write_bytes(data)
        rewrite(source, target)
        return target.read_bytes()


def main() -> None:
    directory = Path(sys.argv[1])
    torch.manual_seed(0)
    row, rows = (torch.randn(1, 4),), (torch.randn(2, 4),)
    linear = _Linear().eval()
    batch = torch.export.Dim("batch", min=1, max=8)
    files = {
        "weightless": _export(_Weightless(), row),
        "stateful": _export(_Stateful(), (torch.randn(1, 8),)),
        "cond": _export(_Cond(), (torch.tensor(True), *rows)),
        "convnet": _export(_Convnet().eval(), (torch.randn(1, 1, 8, 8),)),
        "int8": _export(_quantize(linear, row, is_dynamic=False), row),
        "dynamic_int8": _export(_quantize(linear, row, is_dynamic=True), row),
        "dynamic": _export(linear, rows, dynamic_shapes=({0: batch},)),
    }
    wide = _export(_Wide().eval(), (torch.randn(1, 2, 64, 64),))
    files["optimized"] = _rewritten(wide, onearena.optimize)
    files["described"] = _rewritten(files["stateful"], embed_description)
    for name, data in files.items():
        (directory / f"{name}.pte").write_bytes(data)
        print(f"{name}: {len(data)} bytes")


if __name__ == "__main__":
    main()
