"""Small networks for microcontrollers, with random weights.

Four follow MLPerf Tiny (`mlcommons/tiny`, `benchmark/training`): keyword spotting (`DsCnn`), image
classification (`ResNet8`), anomaly detection (`DeepAutoencoder`), visual wake words
(`MobileNetV1`, width 0.25). `SileroVad` has the layers of Silero's voice activity detector at
16 kHz (`snakers4/silero-vad`). `Conv2dX3` are the three convolutions that ExecuTorch measures its
scratch buffers with (pytorch/executorch#16580).
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import torch
from torch import Tensor, nn


class Conv2dX3(nn.Module):
    """Three 3x3 convolutions: 3, 8, 16 and 8 channels."""

    def __init__(self) -> None:
        super().__init__()
        channels = (3, 8, 16, 8)
        self.layers = nn.Sequential(
            *(
                nn.Conv2d(before, after, 3, padding=1, bias=False)
                for before, after in pairwise(channels)
            )
        )

    def forward(self, image: Tensor) -> Tensor:
        """float32[N, 3, H, W] to float32[N, 8, H, W]."""
        return torch.as_tensor(self.layers(image))


def _normalized(convolution: nn.Conv2d, activation: bool = True) -> list[nn.Module]:
    layers: list[nn.Module] = [convolution, nn.BatchNorm2d(convolution.out_channels)]
    return [*layers, nn.ReLU()] if activation else layers


def _separable(before: int, after: int, stride: int = 1) -> list[nn.Module]:
    depthwise = nn.Conv2d(before, before, 3, stride=stride, padding=1, groups=before, bias=False)
    return [*_normalized(depthwise), *_normalized(nn.Conv2d(before, after, 1, bias=False))]


class DsCnn(nn.Module):
    """Keyword spotting: one convolution, four separable ones, 12 words."""

    def __init__(self) -> None:
        super().__init__()
        first = nn.Conv2d(1, 64, (10, 4), stride=2, padding=(5, 1), bias=False)
        layers = _normalized(first)
        for _ in range(4):
            layers += _separable(64, 64)
        self.features = nn.Sequential(*layers, nn.AvgPool2d((24, 5)))
        self.classifier = nn.Linear(64, 12)

    def forward(self, spectrogram: Tensor) -> Tensor:
        """float32[1, 1, 49, 10] to float32[1, 12]."""
        return torch.as_tensor(self.classifier(self.features(spectrogram).flatten(1)))


class MobileNetV1(nn.Module):
    """Visual wake words: a MobileNet of a quarter of the width, 2 classes."""

    _BLOCKS = (
        (16, 1),
        (32, 2),
        (32, 1),
        (64, 2),
        (64, 1),
        (128, 2),
        *(((128, 1),) * 5),
        (256, 2),
        (256, 1),
    )
    """Output channels and stride."""

    def __init__(self) -> None:
        super().__init__()
        layers = _normalized(nn.Conv2d(3, 8, 3, stride=2, padding=1, bias=False))
        before = 8
        for after, stride in self._BLOCKS:
            layers += _separable(before, after, stride)
            before = after
        self.features = nn.Sequential(*layers, nn.AdaptiveAvgPool2d(1))
        self.classifier = nn.Linear(before, 2)

    def forward(self, image: Tensor) -> Tensor:
        """float32[1, 3, 96, 96] to float32[1, 2]."""
        return torch.as_tensor(self.classifier(self.features(image).flatten(1)))


class _Residual(nn.Module):
    def __init__(self, before: int, after: int, stride: int) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            *_normalized(nn.Conv2d(before, after, 3, stride, padding=1, bias=False)),
            *_normalized(nn.Conv2d(after, after, 3, padding=1, bias=False), activation=False),
        )
        self.shortcut: nn.Module = nn.Identity()
        if before != after:
            self.shortcut = nn.Conv2d(before, after, 1, stride, bias=False)

    def forward(self, image: Tensor) -> Tensor:
        return torch.relu(self.layers(image) + self.shortcut(image))


class ResNet8(nn.Module):
    """Image classification: three residual stages, 10 classes."""

    def __init__(self) -> None:
        super().__init__()
        self.features = nn.Sequential(
            *_normalized(nn.Conv2d(3, 16, 3, padding=1, bias=False)),
            _Residual(16, 16, 1),
            _Residual(16, 32, 2),
            _Residual(32, 64, 2),
            nn.AdaptiveAvgPool2d(1),
        )
        self.classifier = nn.Linear(64, 10)

    def forward(self, image: Tensor) -> Tensor:
        """float32[1, 3, 32, 32] to float32[1, 10]."""
        return torch.as_tensor(self.classifier(self.features(image).flatten(1)))


class DeepAutoencoder(nn.Module):
    """Anomaly detection: nine hidden layers, the narrowest has 8 values."""

    _HIDDEN = (128, 128, 128, 128, 8, 128, 128, 128, 128)

    def __init__(self) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        before = 640
        for after in self._HIDDEN:
            layers += [nn.Linear(before, after), nn.BatchNorm1d(after), nn.ReLU()]
            before = after
        self.layers = nn.Sequential(*layers, nn.Linear(before, 640))

    def forward(self, spectrum: Tensor) -> Tensor:
        """float32[1, 640] to float32[1, 640]."""
        return torch.as_tensor(self.layers(spectrum))


class SileroVad(nn.Module):
    """Voice activity: a learned Fourier transform, four convolutions, an LSTM cell."""

    _BINS = 129
    _HIDDEN = 128

    def __init__(self) -> None:
        super().__init__()
        self.transform = nn.Conv1d(1, 2 * self._BINS, 256, stride=128, bias=False)
        self.encoder = nn.Sequential(
            nn.Conv1d(self._BINS, 128, 3, padding=1),
            nn.ReLU(),
            nn.Conv1d(128, 64, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv1d(64, 64, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv1d(64, 128, 3, padding=1),
            nn.ReLU(),
        )
        self.cell = nn.LSTMCell(128, self._HIDDEN)
        self.decoder = nn.Conv1d(self._HIDDEN, 1, 1)

    def forward(self, samples: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """float32[1, 576] and the state float32[2, 1, 128] to float32[1, 1] and the next state."""
        padded = nn.functional.pad(samples, (0, 64), mode="reflect").unsqueeze(1)
        spectrum = self.transform(padded)
        real, imaginary = spectrum[:, : self._BINS], spectrum[:, self._BINS :]
        magnitude = (real**2 + imaginary**2).sqrt()
        features = self.encoder(magnitude).squeeze(-1)
        hidden, cell = self.cell(features, (state[0], state[1]))
        next_state = torch.stack([hidden, cell], dim=0)
        speech = torch.sigmoid(self.decoder(torch.relu(hidden).unsqueeze(-1)))
        return speech.squeeze(1).mean(dim=1, keepdim=True), next_state


def responsive(build: Callable[[], nn.Module]) -> nn.Module:
    """A network with weights that keep the size of the activations. With PyTorch's own they
    shrink from layer to layer, until the last bias alone decides."""
    network = build()
    for module in network.modules():
        if isinstance(module, nn.Conv2d | nn.Linear):
            nn.init.kaiming_normal_(module.weight, nonlinearity="relu")
            if module.bias is not None:
                nn.init.zeros_(module.bias)
    return network
