"""The PyTorch side of the pretrained programs, and the page they read. See ``pretrained``."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

import onnx
import torch
from PIL import Image

from .agreement import load
from .inputs import Array
from .models import Model
from .ocr import (
    Line,
    Picture,
    Runner,
    detector_input,
    find_boxes,
    read_page,
    reader_input,
)
from .onnx_module import OnnxModule
from .pretrained import DETECTOR, WEIGHTS, WEIGHTS_PACKAGE


def build(name: str) -> Model:
    """Return a pretrained network with an input made from the page."""
    module = OnnxModule(_weights(name)).eval()
    example = detector_input(page()) if name == DETECTOR.name else reader_input(_first_line())
    return Model(module, (torch.from_numpy(example),))


def read(detector: Path, reader: Path) -> list[Line]:
    """Return what two program files read on the page."""
    return read_page(page(), _runner(detector), _runner(reader), _characters())


def page() -> Picture:
    """Return scikit-image's photograph of a printed page, 384x191, grey."""
    return Image.open(_package_file("skimage", "data/page.png"))


def _first_line() -> Picture:
    """Return the page's top line of text, as eager PyTorch finds it."""
    picture = page()
    detector = build(DETECTOR.name)
    with torch.no_grad():
        probability = detector.module(*detector.inputs).numpy()
    return picture.crop(find_boxes(probability, picture.size)[0])


def _runner(path: Path) -> Runner:
    """Load a program; return a function that runs it."""
    method = load(path)

    def run(x: Array) -> Array:
        (output,) = method.execute([torch.from_numpy(x)])
        copy: Array = output.numpy().copy()
        return copy

    return run


def _characters() -> str:
    """Return the reader's alphabet: its classes from 1 on, of which the last is the space."""
    metadata = onnx.load(_weights("ppocr_reader")).metadata_props
    (alphabet,) = [item.value for item in metadata if item.key == "character"]
    return "".join(alphabet.splitlines()) + " "


def _weights(name: str) -> Path:
    return _package_file(WEIGHTS_PACKAGE, WEIGHTS[name])


def _package_file(package: str, name: str) -> Path:
    """Return a file of an installed package, without importing the package."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        raise ModuleNotFoundError(f"{package} is not installed; see pretrained.PIP_PACKAGES")
    return Path(found.submodule_search_locations[0]) / name
