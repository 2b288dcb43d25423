"""Reads a page of text with a detector and a reader, whatever runs them.

The steps and numbers are those of rapidocr's PP-OCRv4 pipeline, but boxes are upright: a photograph
of a page held straight needs no more.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from PIL import Image
from scipy import ndimage

from .inputs import Array

# Height and width; three times the size of scikit-image's page.
DETECTOR_SIZE = (576, 1152)
READER_SIZE = (48, 960)
THRESHOLD = 0.3
# The detector is trained on text shrunk inwards; boxes grow back by this ratio of area to outline.
GROWTH = 1.6
SMALLEST_AREA = 250

Picture = Image.Image
Box = tuple[int, int, int, int]
Runner = Callable[[Array], Array]


@dataclass(frozen=True)
class Line:
    """A line of text: where it is (left, top, right, bottom), what it says, how sure that is."""

    box: Box
    text: str
    confidence: float

    def __str__(self) -> str:
        return f"{self.confidence:4.0%}  {self.text}"


def read_page(picture: Picture, detector: Runner, reader: Runner, characters: str) -> list[Line]:
    """Return the lines of ``picture`` from top to bottom."""
    lines = []
    for box in find_boxes(detector(detector_input(picture)), picture.size):
        text, confidence = decode(reader(reader_input(picture.crop(box))), characters)
        lines.append(Line(box, text, confidence))
    return lines


def detector_input(picture: Picture) -> Array:
    """Return the whole picture as the detector wants it, ``[1, 3, height, width]``."""
    height, width = DETECTOR_SIZE
    return _normalized(picture.resize((width, height), Image.Resampling.BILINEAR))


def reader_input(line: Picture) -> Array:
    """Return one line of text as the reader wants it, grey to the right of its end."""
    height, width = READER_SIZE
    scaled_width = min(width, round(line.width * height / line.height))
    padded: Array = np.zeros((1, 3, height, width), np.float32)
    padded[..., :scaled_width] = _normalized(
        line.resize((scaled_width, height), Image.Resampling.BILINEAR)
    )
    return padded


def _normalized(picture: Picture) -> Array:
    pixels = np.asarray(picture.convert("RGB"), np.float32) / 127.5 - 1
    return np.ascontiguousarray(pixels.transpose(2, 0, 1)[np.newaxis])


def find_boxes(probability: Array, size: tuple[int, int]) -> list[Box]:
    """Return boxes, in pixels of a picture of ``size``, around the spots where text is likely."""
    spots, _ = ndimage.label(probability[0, 0] > THRESHOLD)
    height, width = DETECTOR_SIZE
    scale = np.array([size[0] / width, size[1] / height] * 2)
    boxes = []
    for rows, columns in ndimage.find_objects(spots):
        area = (rows.stop - rows.start) * (columns.stop - columns.start)
        if area >= SMALLEST_AREA:
            edges = np.rint(_grown(rows, columns) * scale).clip(0, size * 2)
            left, top, right, bottom = (int(edge) for edge in edges)
            boxes.append((left, top, right, bottom))
    return boxes


def _grown(rows: slice, columns: slice) -> Array:
    """Return a spot's left, top, right and bottom, grown back to the size of the text."""
    height, width = rows.stop - rows.start, columns.stop - columns.start
    margin = GROWTH * height * width / (2 * (height + width))
    return np.array(
        [columns.start - margin, rows.start - margin, columns.stop + margin, rows.stop + margin]
    )


def decode(scores: Array, characters: str) -> tuple[str, float]:
    """Return the likeliest text and the mean probability of its characters.

    This is greedy CTC decoding: class 0 is blank, repetitions count once.
    """
    classes = scores[0].argmax(axis=1)
    starts = (classes != 0) & (np.diff(classes, prepend=0) != 0)
    text = "".join(characters[index - 1] for index in classes[starts])
    return text, float(scores[0].max(axis=1)[starts].mean()) if text else 0.0
