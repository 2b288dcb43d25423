"""Integers inside XNNPACK: static and dynamic int8, weights of 4 bits."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from torch import nn
from torch.nn import functional
from torch.nn.functional import softplus

from tests.cases.checking import check
from tests.cases.conftest import Program
from tests.cases.lowering import NEEDS_1_5, Module, lower, quantized, quiet, xnnpack, xnnpack_per_op
from tests.cases.nets import NETS
from tests.cases.running import random_calls


class Residual(Module):
    """Fused activations, sums with a clamp, pools, a concat, a linear layer."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16))
        self.depthwise = nn.Conv2d(16, 16, 3, padding=1, groups=16)
        self.point = nn.Conv2d(16, 16, 1)
        self.last = nn.Linear(32, 10)

    def forward(self, x: Any) -> Any:
        a = functional.relu(self.stem(x))
        b = functional.relu(self.point(functional.relu6(self.depthwise(a))) + a)
        c = torch.cat([functional.max_pool2d(b, 2), functional.avg_pool2d(a, 2)], 1)
        return self.last(functional.adaptive_avg_pool2d(c, 1).flatten(1)), b


class Chains(Module):
    """Element-wise chains that XNNPACK turns into tables, and sums without one."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)
        self.other = nn.Conv2d(4, 8, 1)

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        z = functional.hardtanh(torch.sigmoid(y), 0.25, 0.75)
        w = functional.leaky_relu(z.tanh().abs() + self.other(x))
        return self.second(w).relu() * x, functional.elu(w).exp()


class Joins(Module):
    """A chain that joins with its own start, which is one table all the same."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        y = self.first(x)
        return self.second(functional.hardtanh(torch.sigmoid(y) * y, -0.5, 2.0))


class Breaks(Module):
    """Kernels between the calls: the integers leave and enter the delegate."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.second = nn.Conv2d(4, 8, 3, padding=1), nn.Conv2d(8, 4, 3, padding=1)

    def forward(self, x: Any) -> Any:
        y = functional.relu(self.first(x))
        z = functional.interpolate(y, scale_factor=2, mode="nearest")
        return functional.relu(self.second(softplus(z)) + functional.pad(x, (8, 8, 8, 8))), y


IMAGES = (torch.zeros(1, 3, 32, 32),)
INT8: dict[str, tuple[type[Module], tuple[torch.Tensor, ...]]] = {
    "residual": (Residual, IMAGES),
    "chains": (Chains, (torch.zeros(1, 4, 16, 16),)),
    "joins": (Joins, (torch.zeros(1, 4, 16, 16),)),
    "breaks": (Breaks, (torch.zeros(1, 4, 16, 16),)),
    "shapes": NETS["shapes"],
}


def calibrated(make: type[Module], inputs: tuple[torch.Tensor, ...], **options: Any) -> nn.Module:
    """An int8 network, with ranges from random inputs."""
    (call,) = random_calls(*inputs, runs=1, seed=7)
    return quantized(make(), call.inputs, **options)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=NEEDS_1_5 if name == "residual" else ()) for name in INT8]
)
def test_static_int8(program: Program, name: str) -> None:
    make, inputs = INT8[name]
    stock = program(lambda: lower(calibrated(make, inputs), inputs))
    checked = check(stock, random_calls(*inputs))
    assert checked.method.opened_calls > 0


@NEEDS_1_5
def test_static_int8_weights_per_tensor(program: Program) -> None:
    stock = program(lambda: lower(calibrated(Residual, IMAGES, per_channel=False), IMAGES))
    checked = check(stock, random_calls(*IMAGES))
    assert checked.saved_bytes > 0


class Layers(Module):
    """Linear layers, a norm between them, and one tensor that several of them read."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.a, self.b, self.c = (nn.Linear(width, width) for _ in range(3))
        self.norm = nn.LayerNorm(width)

    def forward(self, x: Any) -> Any:
        y = self.norm(self.a(x).relu() + self.b(x))
        z = torch.tanh(self.c(y)) * self.b(y)
        return self.a(softplus(z)), z


def dynamically() -> list[Any]:
    """The conversion to int8 goes into the delegate along with the layer."""
    from executorch.backends.xnnpack.partition.xnnpack_partitioner import (
        XnnpackDynamicallyQuantizedPartitioner,
    )

    return [XnnpackDynamicallyQuantizedPartitioner(), *xnnpack()]


def test_dynamic_int8(program: Program) -> None:
    inputs = (torch.zeros(24, 64),)

    def make() -> bytes:
        net = calibrated(Layers, inputs, dynamic=True)
        return lower(net, inputs, partitioners=dynamically)

    check(program(make), random_calls(*inputs))


def test_dynamic_int8_of_any_length(program: Program) -> None:
    inputs = (torch.zeros(24, 64),)
    length = torch.export.Dim("length", min=2, max=48)

    def make() -> bytes:
        net = Layers()
        from executorch.backends.xnnpack.quantizer.xnnpack_quantizer import (
            XNNPACKQuantizer,
            get_symmetric_quantization_config,
        )
        from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e

        config = get_symmetric_quantization_config(is_per_channel=True, is_dynamic=True)
        with quiet():
            shapes = ({0: length},)
            graph = torch.export.export(net.eval(), inputs, dynamic_shapes=shapes).module()
            prepared = prepare_pt2e(graph, XNNPACKQuantizer().set_global(config))
            prepared(*inputs)
            converted = convert_pt2e(prepared)
        return lower(converted, inputs, dynamic=shapes, partitioners=dynamically)

    calls = [c for n in (48, 2, 31, 48) for c in random_calls(torch.zeros(n, 64), runs=1)]
    check(program(make), calls)


def test_weights_of_four_bits(program: Program) -> None:
    """torchao's 8-bit activations and 4-bit weights in groups of 32."""
    inputs = (torch.zeros(24, 64),)

    def make() -> bytes:
        from torchao.quantization import quantize_
        from torchao.quantization.granularity import PerGroup
        from torchao.quantization.quant_api import Int8DynamicActivationIntxWeightConfig
        from torchao.utils import unwrap_tensor_subclass

        net = Layers().eval()
        config = Int8DynamicActivationIntxWeightConfig(
            weight_dtype=torch.int4, weight_granularity=PerGroup(32)
        )
        with quiet():
            quantize_(net, config)
            unwrap_tensor_subclass(net)
        return lower(net, inputs, partitioners=dynamically)

    checked = check(program(make), random_calls(*inputs))
    assert checked.method.delegate_calls > 1


@NEEDS_1_5
def test_integers_between_calls(program: Program) -> None:
    """One call per operator: int8 tensors are the calls' arguments."""
    stock = program(
        lambda: lower(calibrated(Residual, IMAGES), IMAGES, partitioners=xnnpack_per_op)
    )
    checked = check(stock, random_calls(*IMAGES))
    assert checked.method.delegate_calls > 5


def test_integers_at_the_edges(program: Program) -> None:
    """The caller gives and takes int8."""
    from executorch.exir import EdgeCompileConfig, to_edge
    from executorch.exir.passes.quantize_io_pass import QuantizeInputs, QuantizeOutputs

    def make() -> bytes:
        net = calibrated(Residual, IMAGES)
        with quiet():
            exported = torch.export.export(net, IMAGES)
            edge = to_edge(exported, compile_config=EdgeCompileConfig(_check_ir_validity=False))
            edge = edge.transform([QuantizeInputs(edge, [0]), QuantizeOutputs(edge, [0])])
            (partitioner,) = xnnpack()
            return bytes(edge.to_backend(partitioner).to_executorch().buffer)

    check(program(make), random_calls(IMAGES[0].to(torch.int8), high=100))
