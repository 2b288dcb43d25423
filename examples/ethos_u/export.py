"""Exports a network for an Ethos-U: int8 inside, inputs and outputs in float32.

Needs `pip install "executorch[ethos-u]==1.5.1"` (requirements/cortex-m.txt).
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from contextlib import redirect_stdout
from io import StringIO

import torch
from executorch.backends.arm.ethosu import EthosUCompileSpec, EthosUPartitioner
from executorch.backends.arm.quantizer import EthosUQuantizer, get_symmetric_quantization_config
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge_transform_and_lower,
)
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from examples.cortex_m.export import NETWORKS as CORTEX_M_NETWORKS
from examples.cortex_m.export import Network, example_inputs


class TwoDelegates(nn.Module):
    """Two convolutions, and in between an operator that only the Cortex-M can compute."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, 16, 3, padding=1)
        self.second = nn.Conv2d(16, 3, 3, padding=1)

    def forward(self, image: Tensor) -> Tensor:
        """float32[1, 3, 16, 16] to float32[1, 3, 16, 16]."""
        return torch.as_tensor(self.second(torch.trunc(self.first(image))))


NETWORKS: Mapping[str, Network] = {
    **{k: CORTEX_M_NETWORKS[k] for k in ("conv2d_x3", "ds_cnn", "resnet8", "mobilenet_v1_025")},
    "two_delegates": Network(TwoDelegates, ((1, 3, 16, 16),)),
}
"""By name."""


def export(name: str, accelerator: str = "ethos-u55-128") -> bytes:
    """The program of network `name`, with weights that depend on nothing but the name.

    Args:
        name: a key of `NETWORKS`.
        accelerator: as Vela calls it.

    Raises:
        KeyError: there is no such network.
        RuntimeError: there is no such accelerator.
    """
    network = NETWORKS[name]
    torch.manual_seed(0)
    model = network.build().eval().to(memory_format=torch.channels_last)
    inputs = example_inputs(network)
    spec = EthosUCompileSpec(accelerator)
    with warnings.catch_warnings(), redirect_stdout(StringIO()):  # Vela prints a report
        warnings.simplefilter("ignore")
        quantized = torch.export.export(_quantized(model, inputs, spec), inputs)
        edge = to_edge_transform_and_lower(
            quantized,
            partitioner=[EthosUPartitioner(spec)],
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
        # payloads must be aligned to 16 bytes, which segments are
        program = edge.to_executorch(ExecutorchBackendConfig())
    return bytes(program.buffer)


def _quantized(model: nn.Module, inputs: tuple[Tensor, ...], spec: EthosUCompileSpec) -> nn.Module:
    """Calibrated with the inputs alone: the figures here are sizes, no accuracies."""
    quantizer = EthosUQuantizer(spec)
    quantizer.set_global(get_symmetric_quantization_config())
    captured = torch.export.export(model, inputs).module(check_guards=False)
    prepared = prepare_pt2e(captured, quantizer)
    prepared(*inputs)
    converted: nn.Module = convert_pt2e(prepared)
    return converted
