"""Programs with real weights and a real input: ``python -m benchmarks.zoo.pretrained --out DIR``.

They are the two networks of PP-OCRv4 mobile, with which phones read text: a detector (PP-LCNetV3,
a feature pyramid that upsamples by nearest neighbours, and the head of DBNet; Liao et al., 2020)
and a reader (PP-LCNetV3, two transformer blocks, CTC; SVTR, Du et al., 2022). The package
rapidocr-onnxruntime ships PaddlePaddle's trained weights as ONNX files. The picture is a photograph
of a printed page that ships with scikit-image. Neither package is imported, so what they depend on
need not be there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from .entries import ZooEntry
from .isolation import run_apart

# What this needs beyond the zoo: "pip install" these, and these with "--no-deps".
PIP_PACKAGES = ("onnx", "pillow", "scipy")
PIP_PACKAGES_WITHOUT_DEPENDENCIES = ("rapidocr-onnxruntime==1.4.4", "scikit-image>=0.24")

DETECTOR = ZooEntry("ppocr_detector", "PP-OCRv4 mobile text detector, trained, 576x1152 pixels")
READER = ZooEntry("ppocr_reader", "PP-OCRv4 mobile text reader, trained, a line of 48x960 pixels")
PRETRAINED = (DETECTOR, READER)

WEIGHTS_PACKAGE = "rapidocr_onnxruntime"
WEIGHTS = {
    DETECTOR.name: "models/ch_PP-OCRv4_det_infer.onnx",
    READER.name: "models/ch_PP-OCRv4_rec_infer.onnx",
}
# Lines of the page that must be read to the letter.
PRINTED = ("Region-based segmentation", "Let us first determine markers of the coins and the")


def export(name: str, directory: Path) -> str:
    """Write ``<name>.pte`` and ``<name>.npz`` as the zoo does; return a line to print."""
    from .lowering import save, summarize
    from .ocr_models import build

    save(build(name), directory / name)
    return str(summarize(directory / f"{name}.pte"))


def check(program: ZooEntry, directory: Path) -> tuple[bool, str]:
    """Compare a program with PyTorch; return whether it agrees, and the line to print."""
    from .agreement import compare
    from .ocr_models import build

    (run,) = compare(program, directory, build)
    return run.passes, str(run)


def read(detector: Path, reader: Path) -> list[str]:
    """Return the lines of text that two program files read on the page, with their confidence."""
    from . import ocr_models

    return [str(line) for line in ocr_models.read(detector, reader)]


def _export_and_check(program: ZooEntry, directory: Path, *, force: bool) -> bool:
    if force or not (directory / f"{program.name}.pte").exists():
        print(f"{program.name:20} {run_apart(export, program.name, directory)}", flush=True)
    passes, line = run_apart(check, program, directory)
    print(f"{program.name:20} {line}", flush=True)
    return passes


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return its exit code."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.zoo.pretrained",
        description="Export pretrained text detection and reading; read a page with them.",
    )
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where to write")
    parser.add_argument("--force", action="store_true", help="also export what exists already")
    options = parser.parse_args(arguments)
    passes = [_export_and_check(each, options.out, force=options.force) for each in PRETRAINED]
    detector, reader = (options.out / f"{each.name}.pte" for each in PRETRAINED)
    page = run_apart(read, detector, reader)
    print(*page, sep="\n")
    legible = all(any(line.endswith(text) for line in page) for text in PRINTED)
    return 0 if all(passes) and legible else 1


if __name__ == "__main__":
    sys.exit(main())
