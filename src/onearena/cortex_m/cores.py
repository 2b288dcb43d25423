"""Which instructions of a Cortex-M the kernels of CMSIS-NN use: they decide how much scratch."""

from __future__ import annotations

from collections.abc import Mapping
from enum import Enum


class Isa(Enum):
    """A variant of the kernels (`ARM_MATH_DSP`, `ARM_MATH_MVEI` in CMSIS-NN)."""

    SCALAR = "scalar"
    DSP = "DSP"
    MVE = "MVE"


_ISA_OF_CORE: Mapping[str, Isa] = {
    "m0": Isa.SCALAR,
    "m0plus": Isa.SCALAR,
    "m3": Isa.SCALAR,
    "m4": Isa.DSP,
    "m7": Isa.DSP,
    "m23": Isa.SCALAR,
    "m33": Isa.DSP,
    "m35p": Isa.DSP,
    "m55": Isa.MVE,
    "m85": Isa.MVE,
}
"""As `resolve_backend` of CMSIS-NN's Python binding has it: with the core's optional extensions."""

_PREFIX = "cortex-"


def isa_of(target: str) -> Isa | None:
    """What the kernels use on the target called `target` ("cortex-m55"); None for any other."""
    return _ISA_OF_CORE.get(target.removeprefix(_PREFIX)) if target.startswith(_PREFIX) else None
