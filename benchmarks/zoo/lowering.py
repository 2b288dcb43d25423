"""From a PyTorch module to an ExecuTorch program, with XNNPACK and the default configuration."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
    XnnpackDynamicallyQuantizedPartitioner,
    XnnpackPartitioner,
)
from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
    XNNPACKQuantizer,
    get_symmetric_quantization_config,
)
from executorch.exir import to_edge_transform_and_lower
from executorch.exir._serialize._program import deserialize_pte_binary
from executorch.exir.schema import DelegateCall
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

from .models import Model, Precision


def reference(model: Model) -> nn.Module:
    """Return what the program must agree with: the module itself, or its quantised graph."""
    if model.precision is Precision.FLOAT:
        return model.module
    return _quantize(model, is_dynamic=model.precision is Precision.DYNAMIC_INT8)


def lower(model: Model) -> bytes:
    """Return the ``.pte`` of a model."""
    exported = torch.export.export(
        reference(model), model.inputs, dynamic_shapes=model.dynamic_shapes, strict=False
    )
    edge = to_edge_transform_and_lower(exported, partitioner=_partitioners(model.precision))
    return bytes(edge.to_executorch().buffer)


def save(model: Model, stem: Path) -> None:
    """Write a model's example inputs to ``<stem>.npz`` and its program to ``<stem>.pte``.

    Each file appears complete or not at all, the program last.
    """
    program = lower(model)
    stem.parent.mkdir(parents=True, exist_ok=True)
    partial = stem.with_name(f".{stem.name}.partial")
    with partial.open("wb") as stream:
        arrays = {f"input_{index}": x.numpy() for index, x in enumerate(model.inputs)}
        np.savez(stream, allow_pickle=False, **arrays)
    partial.replace(stem.with_name(f"{stem.name}.npz"))
    partial.write_bytes(program)
    partial.replace(stem.with_name(f"{stem.name}.pte"))


def _partitioners(precision: Precision) -> list[XnnpackPartitioner]:
    if precision is Precision.DYNAMIC_INT8:
        # The plain partitioner leaves the float-to-int8 conversion of each linear layer to
        # portable kernels; the first one takes it into the delegate along with the layer.
        return [XnnpackDynamicallyQuantizedPartitioner(), XnnpackPartitioner()]
    return [XnnpackPartitioner()]


def _quantize(model: Model, *, is_dynamic: bool) -> nn.Module:
    """Quantise by PT2E, weights per channel, calibrated on the example inputs."""
    config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=is_dynamic)
    quantizer = XNNPACKQuantizer().set_global(config)
    graph = torch.export.export(model.module, model.inputs, strict=False).module()
    prepared = prepare_pt2e(graph, quantizer)
    with torch.no_grad():
        prepared(*model.inputs)
    converted: nn.Module = convert_pt2e(prepared)
    return converted


@dataclass(frozen=True)
class Summary:
    """What a program looks like from outside."""

    file_bytes: int
    arena_bytes: int
    delegate_calls: int
    instructions: int

    def __str__(self) -> str:
        return (
            f"{self.file_bytes / 1e6:6.1f} MB  arena {self.arena_bytes:>11,}  "
            f"{self.delegate_calls:>3} delegate calls of {self.instructions:>3} instructions"
        )


def summarize(path: Path) -> Summary:
    """Read the numbers of a ``.pte`` with one method."""
    data = path.read_bytes()
    (plan,) = deserialize_pte_binary(data).program.execution_plan
    instructions = [step for chain in plan.chains for step in chain.instructions]
    return Summary(
        file_bytes=len(data),
        arena_bytes=sum(plan.non_const_buffer_sizes),
        delegate_calls=sum(isinstance(step.instr_args, DelegateCall) for step in instructions),
        instructions=len(instructions),
    )
