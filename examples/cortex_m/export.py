"""Exports a network for a Cortex-M: int8, kernels of CMSIS-NN, scratch planned with the tensors.

Needs `pip install "executorch[ethos-u]==1.5.1"` (requirements/cortex-m.txt).
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from executorch.backends.cortex_m.edge_compile_config import cortex_m_edge_compile_config
from executorch.backends.cortex_m.passes.cortex_m_pass_manager import CortexMPassManager
from executorch.backends.cortex_m.quantizer.quantizer import CortexMQuantizer
from executorch.backends.cortex_m.target_config import CortexMTargetConfig
from executorch.exir import ExecutorchBackendConfig, to_edge_transform_and_lower
from executorch.exir.passes import MemoryPlanningPass
from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs
from torch import Tensor, nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from examples.cortex_m import models


@dataclass(frozen=True)
class Network:
    """A network and the shapes of its inputs.

    Attributes:
        build: makes the network.
        shapes: of its float32 inputs.
    """

    build: Callable[[], nn.Module]
    shapes: tuple[tuple[int, ...], ...]


NETWORKS: Mapping[str, Network] = {
    "conv2d_x3": Network(models.Conv2dX3, ((1, 3, 8, 8),)),
    "ds_cnn": Network(lambda: models.responsive(models.DsCnn), ((1, 1, 49, 10),)),
    "resnet8": Network(models.ResNet8, ((1, 3, 32, 32),)),
    "mobilenet_v1_025": Network(models.MobileNetV1, ((1, 3, 96, 96),)),
    "deep_autoencoder": Network(models.DeepAutoencoder, ((1, 640),)),
    "silero_vad": Network(models.SileroVad, ((1, 576), (2, 1, 128))),
}
"""By name."""


@dataclass(frozen=True)
class Interface:
    """How the program takes its inputs and gives its outputs.

    Attributes:
        is_int8: as int8; else as float32, and the program quantizes.
        is_planned: their memory is planned; else the application brings it.
    """

    is_int8: bool = False
    is_planned: bool = True


def example_inputs(network: Network) -> tuple[Tensor, ...]:
    """Random values in [-1, 1), images with channels last."""
    inputs = (torch.rand(shape) * 2 - 1 for shape in network.shapes)
    return tuple(
        value.to(memory_format=torch.channels_last) if value.dim() == 4 else value
        for value in inputs
    )


def export(name: str, target: str = "cortex-m55", interface: Interface | None = None) -> bytes:
    """The program of network `name`, with weights that depend on nothing but the name.

    Args:
        name: a key of `NETWORKS`.
        target: "cortex-m0" to "cortex-m85": decides how much scratch the kernels get.
        interface: float32 and planned when None.

    Raises:
        KeyError: there is no such network.
        ValueError: there is no such target.
    """
    return export_network(NETWORKS[name], target, interface)


def export_network(
    network: Network, target: str = "cortex-m55", interface: Interface | None = None
) -> bytes:
    """The program of a network; see :func:`export`.

    Raises:
        ValueError: there is no such target.
    """
    interface = interface or Interface()
    torch.manual_seed(0)
    model = network.build().eval().to(memory_format=torch.channels_last)
    inputs = example_inputs(network)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        quantized = torch.export.export(_quantized(model, inputs), inputs)
        edge = to_edge_transform_and_lower(quantized, compile_config=cortex_m_edge_compile_config())
        if interface.is_int8:
            # without the edge manager no methods are added that return scale and zero point
            program = edge.exported_program()
            edge = edge.transform(
                [
                    QuantizeInputs(None, [0], exported_program=program),
                    QuantizeOutputs(None, [0], exported_program=program),
                ]
            )
        passes = CortexMPassManager(
            edge.exported_program(),
            target_config=CortexMTargetConfig.from_target_string(target),
        )
        edge._edge_programs["forward"] = passes.transform()
        planning = MemoryPlanningPass(
            alloc_graph_input=interface.is_planned, alloc_graph_output=interface.is_planned
        )
        planned = edge.to_executorch(
            ExecutorchBackendConfig(memory_planning_pass=planning, extract_delegate_segments=False)
        )
    return bytes(planned.buffer)


def _quantized(model: nn.Module, inputs: tuple[Tensor, ...]) -> nn.Module:
    """Calibrated with the inputs alone: the figures here are sizes, no accuracies."""
    captured = torch.export.export(model, inputs).module(check_guards=False)
    prepared = prepare_pt2e(captured, CortexMQuantizer())
    prepared(*inputs)
    converted: nn.Module = convert_pt2e(prepared)
    return converted
