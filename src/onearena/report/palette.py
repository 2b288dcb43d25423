"""Colours of what a tensor is for, the same in every picture.

The hues are those of Okabe and Ito's palette, which people with any kind of colour vision can
tell apart (https://jfly.uni-koeln.de/color/).
"""

from __future__ import annotations

from collections.abc import Mapping

from onearena.summary.model import Kind

KIND_COLOURS: Mapping[Kind, str] = {
    Kind.INPUT: "#0072b2",
    Kind.OUTPUT: "#d55e00",
    Kind.ACTIVATION: "#009e73",
    Kind.INNER: "#56b4e9",
    Kind.SCRATCH: "#e69f00",
    Kind.STATE: "#cc79a7",
}
"""As #rrggbb."""
