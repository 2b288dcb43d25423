"""From PyTorch modules to programs, with everything off the clock that no case needs."""

from __future__ import annotations

import gc
import logging
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from executorch.backends.xnnpack.partition.xnnpack_partitioner import XnnpackPartitioner
from executorch.exir import (
    EdgeCompileConfig,
    ExecutorchBackendConfig,
    to_edge_transform_and_lower,
)
from executorch.exir.passes import MemoryPlanningPass
from torch import nn


class Module(nn.Module):
    """The base of all networks of the cases."""


VERSION = tuple(int(part) for part in version("executorch").split(".")[:2])
NEEDS_1_5 = pytest.mark.skipif(VERSION < (1, 5), reason="ExecuTorch 1.4 exports it wrongly")


def _cpu_has(feature: str) -> bool:
    """Whether Linux says so of an x86-64."""
    try:
        return f" {feature} " in f"{Path('/proc/cpuinfo').read_text(encoding='utf-8')} "
    except OSError:
        return False


HAS_AVX512 = _cpu_has("avx512_vnni")
NEEDS_AVX512 = pytest.mark.skipif(
    not HAS_AVX512, reason="workspaces are predicted for a CPU with AVX-512"
)
Partitioners = Callable[[], list[Any]]


def xnnpack() -> list[Any]:
    """Everything that XNNPACK takes, in as few calls as possible."""
    return [XnnpackPartitioner()]


def xnnpack_per_op() -> list[Any]:
    """One call per operator: many payloads of one node."""
    return [XnnpackPartitioner(per_op_mode=True)]


def portable() -> list[Any]:
    """Portable kernels only."""
    return []


@dataclass(frozen=True)
class Method:
    """One method to export.

    Attributes:
        module: what it computes; int8 modules come as the converted graph.
        inputs: example inputs.
        dynamic: `dynamic_shapes` of `torch.export.export`.
    """

    module: nn.Module
    inputs: tuple[Any, ...]
    dynamic: Any = None


def planned(**options: Any) -> ExecutorchBackendConfig:
    """A configuration whose memory planning has these options."""
    return ExecutorchBackendConfig(memory_planning_pass=MemoryPlanningPass(**options))


def lower(
    module: nn.Module,
    inputs: Sequence[Any],
    *,
    dynamic: Any = None,
    partitioners: Partitioners = xnnpack,
    config: ExecutorchBackendConfig | None = None,
    passes: Sequence[Any] = (),
) -> bytes:
    """The ``.pte`` of one module, as method `forward`."""
    method = Method(module, tuple(inputs), dynamic)
    return lower_methods(
        {"forward": method}, partitioners=partitioners, config=config, passes=passes
    )


def lower_methods(
    methods: Mapping[str, Method],
    *,
    partitioners: Partitioners = xnnpack,
    config: ExecutorchBackendConfig | None = None,
    constants: Mapping[str, Any] | None = None,
    passes: Sequence[Any] = (),
) -> bytes:
    """The ``.pte`` of several methods; `constants` become methods without instructions."""
    with quiet():
        exported = {name: _export(method) for name, method in methods.items()}
        edge = to_edge_transform_and_lower(
            exported,
            partitioner={name: partitioners() for name in exported},
            constant_methods=dict(constants) if constants else None,
            compile_config=EdgeCompileConfig(_check_ir_validity=False),
        )
        if passes:
            edge = edge.transform(list(passes))
        program = edge.to_executorch(replace(config) if config else None)
    return bytes(program.buffer)


def _export(method: Method) -> Any:
    module = method.module
    if not isinstance(module, torch.fx.GraphModule):
        module = module.eval().requires_grad_(False)
    return torch.export.export(module, method.inputs, dynamic_shapes=method.dynamic, strict=False)


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings, no garbage collection: exporting makes a million objects and few cycles."""
    level = logging.root.manager.disable
    logging.disable(logging.WARNING)
    gc.disable()
    try:
        with warnings.catch_warnings(), torch.no_grad():
            warnings.simplefilter("ignore")
            yield
    finally:
        gc.enable()
        logging.disable(level)


def quantized(
    module: nn.Module, inputs: tuple[Any, ...], *, dynamic: bool = False, per_channel: bool = True
) -> nn.Module:
    """The module as a graph with int8 operators (PT2E), calibrated on its example inputs."""
    from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
        XNNPACKQuantizer,
        get_symmetric_quantization_config,
    )
    from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

    config = get_symmetric_quantization_config(is_per_channel=per_channel, is_dynamic=dynamic)
    with quiet():
        module = module.eval().requires_grad_(False)
        graph = torch.export.export(module, inputs, strict=False).module()
        prepared = prepare_pt2e(graph, XNNPACKQuantizer().set_global(config))
        prepared(*inputs)
        converted: nn.Module = convert_pt2e(prepared)
    return converted
