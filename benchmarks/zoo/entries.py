"""The list of zoo programs: what each is called and what it is there for.

This module imports neither torch nor executorch, so a benchmark can read the list quickly.
"""

from __future__ import annotations

from dataclasses import dataclass

Shape = tuple[int, ...]


@dataclass(frozen=True)
class ZooEntry:
    """One program of the zoo.

    Attributes:
        name: File name without the suffix: ``<name>.pte`` and ``<name>.npz``.
        description: One line for people.
        dynamic: Whether input shapes may change from run to run.
        stateful: Whether a run depends on earlier runs (mutable buffers).
        shapes: For a dynamic program, shapes of ``input_0`` at which to compare outputs.
    """

    name: str
    description: str
    dynamic: bool = False
    stateful: bool = False
    shapes: tuple[Shape, ...] = ()


def _image_shapes(*sizes: tuple[int, int]) -> tuple[Shape, ...]:
    return tuple((1, 3, height, width) for height, width in sizes)


ZOO: tuple[ZooEntry, ...] = (
    ZooEntry("u2net_nearest", "U²-Net (small), salient object detection, nearest upsampling"),
    ZooEntry("mobilenet_v2", "MobileNetV2 1.0, image classification"),
    ZooEntry("distilbert", "DistilBERT, 4 layers, sequence of 128 tokens"),
    ZooEntry("llama_kv", "Llama-style decoder with a KV cache, one token per run", stateful=True),
    ZooEntry("mobilenet_v2_int8", "MobileNetV2 1.0, static int8"),
    ZooEntry("distilbert_dq", "DistilBERT, 4 layers, dynamic int8"),
    ZooEntry(
        "dynamic_seg",
        "Small U-Net, height and width from 32 to 256",
        dynamic=True,
        shapes=_image_shapes((32, 32), (64, 208), (128, 128), (240, 96), (256, 256)),
    ),
    ZooEntry("u2net_bilinear", "U²-Net (small), bilinear upsampling, align_corners=False"),
    ZooEntry("u2net_align_corners", "U²-Net (small), bilinear upsampling, align_corners=True"),
    ZooEntry("resnet18", "ResNet-18, image classification"),
    ZooEntry("resnet18_int8", "ResNet-18, static int8"),
    ZooEntry("mobilevit", "MobileViT-S, image classification"),
    ZooEntry("segformer", "SegFormer-B0, semantic segmentation"),
    ZooEntry("vit_tiny", "ViT-Ti/16, image classification"),
    ZooEntry("convnext", "ConvNeXt-T, image classification"),
    ZooEntry("whisper_encoder", "Whisper tiny, audio encoder"),
    ZooEntry("super_resolution", "EDSR baseline, x2 super-resolution of a 128x128 image"),
)


def entry(name: str) -> ZooEntry:
    """Return the entry called ``name``; ``KeyError`` names the known ones."""
    for candidate in ZOO:
        if candidate.name == name:
            return candidate
    known = ", ".join(candidate.name for candidate in ZOO)
    raise KeyError(f"no zoo program is called {name!r}; there are: {known}")
