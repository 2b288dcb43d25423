"""Small networks as programs without delegates. Nothing here imports torch before it is called."""

from __future__ import annotations

import importlib.util
import logging
import warnings
from collections.abc import Callable
from typing import Any

from tests.runtime import models

CORTEX_M_PACKAGES = ("tosa_serializer", "executorch.backends.cortex_m.library._cmsis_nn")
"""What the exporter for Cortex-M needs beside executorch."""


def has_cortex_m() -> bool:
    """Whether programs for Cortex-M can be exported here."""
    return all(importlib.util.find_spec(name) is not None for name in CORTEX_M_PACKAGES)


def residual() -> bytes:
    """Convolutions with skip connections and a concat."""
    import torch
    from torch import nn
    from torch.nn import functional

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first, self.second = nn.Conv2d(3, 4, 3, padding=1), nn.Conv2d(4, 4, 3, padding=1)
            self.last = nn.Conv2d(8, 4, 1)

        def forward(self, x: Any) -> Any:
            a = functional.relu(self.first(x))
            b = self.second(a) + a
            pooled = functional.max_pool2d(b, 2)
            wide = functional.interpolate(pooled, scale_factor=2.0, mode="nearest")
            return functional.hardtanh(self.last(torch.cat([wide, a], 1))), b.mean((2, 3))

    return _portable(Net(), torch.zeros(1, 3, 8, 8))


def attention() -> bytes:
    """Layer norms, views without instructions, products, a softmax."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.norm, self.mix, self.out = nn.LayerNorm(16), nn.Linear(16, 48), nn.Linear(16, 16)

        def forward(self, x: Any) -> Any:
            q, k, v = self.mix(self.norm(x)).view(1, 6, 3, 2, 8).permute(2, 0, 3, 1, 4).unbind(0)
            weights = torch.softmax(q @ k.transpose(-1, -2) * 0.35, -1)
            return x + self.out((weights @ v).transpose(1, 2).reshape(1, 6, 16))

    return _portable(Net(), torch.zeros(1, 6, 16))


def memory() -> bytes:
    """State that every run reads, changes and reads again."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("total", torch.zeros(4, 16))
            self.register_buffer("last", torch.zeros(16))

        def forward(self, x: Any) -> Any:
            before = self.total.cumsum(0) + self.last
            self.total.mul_(0.5).add_(x.cumsum(1))
            self.last.copy_(before.sum(0) * 0.1)
            flat = self.total.view(-1).cumsum(0)
            return before.cumsum(1), flat.view(4, 16) - before

    return _portable(Net(), torch.zeros(4, 16))


def tables() -> bytes:
    """Operators with several outputs, lists of tensors, integers and booleans."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(20, 8)

        def forward(self, words: Any, x: Any) -> Any:
            y = self.words(words) * x
            top, where = torch.topk(y, 3)
            left, right = torch.split(y.exp(), 4, -1)
            rows = torch.where(left > right, left, right.neg())
            found = torch.gather(y, 1, where) + top
            return rows.view(-1), found, where.sum(), (y > 0).any(0)

    return _portable(Net(), torch.zeros(5, dtype=torch.int64), torch.zeros(5, 8))


def quantized() -> bytes:
    """int8 between the operators of `quantized_decomposed`."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            q = torch.ops.quantized_decomposed.quantize_per_tensor(
                x, 0.05, 3, -128, 127, torch.int8
            )
            y = torch.ops.quantized_decomposed.dequantize_per_tensor(
                q.transpose(0, 1), 0.05, 3, -128, 127, torch.int8
            )
            z = torch.ops.quantized_decomposed.quantize_per_tensor(
                y.sin() * y, 0.02, 0, -128, 127, torch.int8
            )
            return z, torch.cat([q.transpose(0, 1), z], 1), y

    importlib.import_module("executorch.kernels.quantized")
    return _portable(Net(), torch.zeros(12, 10))


def branches() -> bytes:
    """Two conditions in a row: jumps, moved handles, branches that exclude each other."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            z = torch.cond(x.sum() > 0, lambda t: t.cumsum(1), lambda t: t * 2 + t, (y,)) + y
            w = torch.cond(z.max() > 1, lambda t: t.exp(), lambda t: t.neg().cumsum(0), (z,))
            return w.cumsum(1), y.sin()

    return _portable(Net(), torch.zeros(8, 8))


def loop() -> bytes:
    """A map over rows: a backward jump and rows that are copied one by one."""
    import torch
    from torch import nn
    from torch._higher_order_ops.map import map as torch_map

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(1)
            return torch_map(lambda row: row.cumsum(0) * 0.5 + row, y).cumsum(0) + y

    return _portable(Net(), torch.zeros(4, 8))


def overwritten_branch() -> bytes:
    """ExecuTorch 1.5 plans it wrongly: the first condition's result is overwritten by a branch of
    the second one."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def forward(self, x: Any) -> Any:
            y = x.cumsum(0)
            z = torch.cond(x.sum() > 0, lambda t: t.clone(), lambda t: t.cumsum(1), (y,))
            w = z.cumsum(0)
            v = torch.cond(x.max() > 1, lambda s, t: s.cumsum(0), lambda s, t: t.clone(), (w, z))
            return v.cumsum(0), y.cumsum(1), z

    return _portable(Net(), torch.zeros(8, 8))


def conv2d_x3() -> bytes:
    """Three convolutions on a Cortex-M55, each with scratch."""
    from torch import nn

    layers = [nn.Conv2d(i, o, 3, padding=1) for i, o in ((3, 4), (4, 4), (4, 2))]
    return _cortex_m(nn.Sequential(*layers), (1, 3, 6, 6))


def cortex_m_mixed() -> bytes:
    """Depthwise and transposed convolutions (two scratch arguments), pools, a skip connection."""
    import torch
    from torch import nn

    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = nn.Conv2d(3, 4, 3, padding=1)
            self.deep = nn.Conv2d(4, 4, 3, padding=1, groups=4)
            self.up = nn.ConvTranspose2d(4, 3, 2, stride=2)
            self.last = nn.Linear(3, 5)

        def forward(self, x: Any) -> Any:
            a = torch.relu(self.first(x))
            b = self.deep(a) + a
            c = self.up(nn.functional.avg_pool2d(b, 2))
            return self.last(c.mean((2, 3)))

    return _cortex_m(Net(), (1, 3, 6, 6))


PORTABLE: dict[str, Callable[[], bytes]] = {
    "attention": attention,
    "memory": memory,
    "quantized": quantized,
    "residual": residual,
    "tables": tables,
}
"""Straight programs of the portable kernels."""
CONTROL: dict[str, Callable[[], bytes]] = {"branches": branches, "loop": loop}
CORTEX_M: dict[str, Callable[[], bytes]] = {
    "conv2d_x3": conv2d_x3,
    "cortex_m_mixed": cortex_m_mixed,
}


WRONG: dict[str, Callable[[], bytes]] = {"overwritten_branch": overwritten_branch}
EXPORTS = {**PORTABLE, **CONTROL, **CORTEX_M, **WRONG}


def _portable(net: Any, *inputs: Any) -> bytes:
    import torch

    torch.manual_seed(0)
    return models._lower({"forward": (net, inputs, None)}, delegate=False)


def _cortex_m(net: Any, shape: tuple[int, ...]) -> bytes:
    import torch
    from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
    from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
    from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
    from executorch.backends.cortex_m.target_config import CortexMTargetConfig
    from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    torch.manual_seed(0)
    inputs = (torch.randn(shape).to(memory_format=torch.channels_last),)
    net = net.eval().to(memory_format=torch.channels_last)
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            graph = torch.export.export(net, inputs).module(check_guards=False)
            prepared = prepare_pt2e(graph, CortexMQuantizer())
            prepared(*inputs)
            exported = torch.export.export(convert_pt2e(prepared), inputs)
            edge = to_edge_transform_and_lower(
                exported, compile_config=cortex_m_edge_compile_config()
            )
            passes = CortexMPassManager(
                edge.exported_program(),
                target_config=CortexMTargetConfig.from_target_string("cortex-m55"),
            )
            edge._edge_programs["forward"] = passes.transform()
            config = ExecutorchBackendConfig(extract_delegate_segments=False)
            return bytes(edge.to_executorch(config).buffer)
    finally:
        logging.disable(level)
