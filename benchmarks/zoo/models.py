"""Builds the PyTorch side of each zoo program: module, example inputs, how to lower it.

Architectures named "transformers" below are those of the Hugging Face library, made from a
configuration object, with that library's random initialisation.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from functools import partial
from typing import Any, TypeVar

import torch
import transformers
from torch import Tensor, nn

from .convnets import Edsr, UNet
from .llama import Llama, LlamaConfig
from .u2net import U2Net, Upsampling

Config = TypeVar("Config", bound=transformers.PretrainedConfig)

SEED = 0


class Precision(Enum):
    """Number formats a program computes in."""

    FLOAT = "float"
    STATIC_INT8 = "static int8"
    DYNAMIC_INT8 = "dynamic int8"


@dataclass(frozen=True)
class Model:
    """A module ready to be exported, with everything the exporter must know about it."""

    module: nn.Module
    inputs: tuple[Tensor, ...]
    precision: Precision = Precision.FLOAT
    dynamic_shapes: tuple[dict[int, Any], ...] | None = None


class Output(nn.Module):
    """Narrows a transformers model to one tensor of its output record."""

    def __init__(self, model: nn.Module, field: str) -> None:
        super().__init__()
        self.model = model
        self.field = field

    def forward(self, x: Tensor) -> Tensor:
        result: Tensor = getattr(self.model(x), self.field)
        return result


def build(name: str) -> Model:
    """Return the model called ``name``, the same one each time."""
    torch.manual_seed(SEED)
    model = BUILDERS[name]()
    model.module.eval().requires_grad_(False)
    return model


def _image(size: int) -> tuple[Tensor, ...]:
    return (torch.randn(1, 3, size, size),)


def _settle_batch_norm(module: nn.Module, inputs: tuple[Tensor, ...]) -> nn.Module:
    """Set running statistics from one random batch, so that activations stay in a usual range.

    Untrained networks fade out or blow up over their depth otherwise, and a comparison of
    outputs would say little.
    """
    norms = [part for part in module.modules() if isinstance(part, nn.BatchNorm2d)]
    for norm in norms:
        norm.momentum = None
    module.train()
    with torch.no_grad():
        module(torch.cat([inputs[0], torch.randn_like(inputs[0])]))
    return module.eval()


def _conv_net(module: nn.Module, size: int, precision: Precision = Precision.FLOAT) -> Model:
    inputs = _image(size)
    return Model(_settle_batch_norm(module, inputs), inputs, precision)


def _with_classes(config: Config, classes: int) -> Config:
    config.num_labels = classes
    return config


def _u2net(upsampling: Upsampling) -> Model:
    return _conv_net(U2Net(upsampling), 320)


def _mobilenet_v2(precision: Precision = Precision.FLOAT) -> Model:
    """MobileNetV2 (Sandler et al., 2018), transformers' default: width 1.0, 1000 classes."""
    config = _with_classes(transformers.MobileNetV2Config(), 1000)
    network = transformers.MobileNetV2ForImageClassification(config)
    return _conv_net(Output(network, "logits"), 224, precision)


def _resnet18(precision: Precision = Precision.FLOAT) -> Model:
    """ResNet-18 (He et al., 2015): basic blocks, two per stage."""
    config = transformers.ResNetConfig(
        depths=[2, 2, 2, 2],
        hidden_sizes=[64, 128, 256, 512],
        embedding_size=64,
        layer_type="basic",
    )
    network = transformers.ResNetForImageClassification(_with_classes(config, 1000))
    return _conv_net(Output(network, "logits"), 224, precision)


def _mobilevit() -> Model:
    """MobileViT-S (Mehta and Rastegari, 2021), transformers' default configuration."""
    config = _with_classes(transformers.MobileViTConfig(), 1000)
    return _conv_net(Output(transformers.MobileViTForImageClassification(config), "logits"), 256)


def _segformer() -> Model:
    """SegFormer-B0 (Xie et al., 2021), transformers' default configuration, 150 classes."""
    config = _with_classes(transformers.SegformerConfig(), 150)
    network = transformers.SegformerForSemanticSegmentation(config)
    return _conv_net(Output(network, "logits"), 256)


def _vit_tiny() -> Model:
    """ViT-Ti/16 (Touvron et al., "DeiT", 2020): 12 layers, width 192, 3 heads."""
    config = transformers.ViTConfig(hidden_size=192, num_attention_heads=3, intermediate_size=768)
    network = transformers.ViTForImageClassification(_with_classes(config, 1000))
    return Model(Output(network, "logits"), _image(224))


def _convnext() -> Model:
    """ConvNeXt-T (Liu et al., 2022), transformers' default configuration."""
    config = _with_classes(transformers.ConvNextConfig(), 1000)
    return Model(Output(transformers.ConvNextForImageClassification(config), "logits"), _image(224))


def _distilbert(precision: Precision = Precision.FLOAT) -> Model:
    """DistilBERT (Sanh et al., 2019) cut to 4 layers.

    Attention is transformers' "eager" one: plain matmul and softmax, which XNNPACK takes.
    """
    config = transformers.DistilBertConfig(n_layers=4)
    network = transformers.DistilBertModel(config)
    network.set_attn_implementation("eager")
    tokens = torch.randint(0, config.vocab_size, (1, 128))
    return Model(Output(network, "last_hidden_state"), (tokens,), precision)


def _whisper_encoder() -> Model:
    """The encoder of Whisper tiny (Radford et al., 2022): 30 s of sound as 80 mel bands."""
    network = transformers.WhisperModel(transformers.WhisperConfig()).get_encoder()
    return Model(Output(network, "last_hidden_state"), (torch.randn(1, 80, 3000),))


def _super_resolution() -> Model:
    return Model(Edsr(), _image(128))


def _llama_kv() -> Model:
    return Model(Llama(LlamaConfig()), (torch.tensor([[1]]), torch.tensor([0])))


def _dynamic_seg() -> Model:
    height = 16 * torch.export.Dim("height_16", min=2, max=16)
    width = 16 * torch.export.Dim("width_16", min=2, max=16)
    model = _conv_net(UNet(), 128)
    return Model(model.module, model.inputs, dynamic_shapes=({2: height, 3: width},))


BUILDERS: dict[str, Callable[[], Model]] = {
    "u2net_nearest": partial(_u2net, Upsampling("nearest")),
    "u2net_bilinear": partial(_u2net, Upsampling("bilinear", align_corners=False)),
    "u2net_align_corners": partial(_u2net, Upsampling("bilinear", align_corners=True)),
    "mobilenet_v2": _mobilenet_v2,
    "mobilenet_v2_int8": partial(_mobilenet_v2, Precision.STATIC_INT8),
    "resnet18": _resnet18,
    "resnet18_int8": partial(_resnet18, Precision.STATIC_INT8),
    "mobilevit": _mobilevit,
    "segformer": _segformer,
    "vit_tiny": _vit_tiny,
    "convnext": _convnext,
    "distilbert": _distilbert,
    "distilbert_dq": partial(_distilbert, Precision.DYNAMIC_INT8),
    "whisper_encoder": _whisper_encoder,
    "super_resolution": _super_resolution,
    "llama_kv": _llama_kv,
    "dynamic_seg": _dynamic_seg,
}
