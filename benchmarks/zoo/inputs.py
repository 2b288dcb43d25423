"""What to run a zoo program on. Needs numpy only."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .entries import ZooEntry

Array = np.ndarray[Any, np.dtype[Any]]

TOKENS_PER_SESSION = 6
SEED = 1


def load_example(path: Path) -> list[Array]:
    """Return ``input_0``, ``input_1``, … of a ``.npz``."""
    with np.load(path) as arrays:
        return [arrays[f"input_{index}"] for index in range(len(arrays.files))]


def cases(program: ZooEntry, example: list[Array]) -> list[list[Array]]:
    """Return the inputs of consecutive runs that together exercise ``program``.

    A dynamic program runs once at each of its shapes, a stateful one for several tokens, any
    other one on its example.
    """
    if program.dynamic:
        generator = np.random.default_rng(SEED)
        return [[generator.standard_normal(shape, np.float32)] for shape in program.shapes]
    if program.stateful:
        token, position = example
        return [[token + 37 * step, position + step] for step in range(TOKENS_PER_SESSION)]
    return [example]
