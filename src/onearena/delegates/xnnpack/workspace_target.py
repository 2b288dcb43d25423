"""What a prediction must know about the machine: micro-kernel tiles, caches, threads, version.

XNNPACK picks its matrix kernels when it starts, from the CPU it runs on (`src/configs/
gemm-config.c`); the tile sizes decide how much scratch packing takes. The `.pte` doesn't say
where it will run, so a target is an assumption, and predictions name it in their notes.
For a CPU that is not listed here, fill in a :class:`Target` from that file: per kernel the rows
`mr` and columns `nr` of its tile and the depth `kr * sr` it packs together. Arm with KleidiAI
or SME packs operands in further cases and by other formulas; that is not modelled.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from onearena.delegates.xnnpack.schema import Datatype


class Revision(Enum):
    """The XNNPACK that an ExecuTorch release carries."""

    EXECUTORCH_1_4 = "1.4"
    """XNNPACK 1adaa7c70 of March 2026."""
    EXECUTORCH_1_5 = "1.5"
    """XNNPACK 92a7ad501 of July 2026."""


@dataclass(frozen=True)
class Gemm:
    """A matrix kernel. `planes`: 4-bit weights are padded to a multiple of this many."""

    rows: int
    columns: int
    depth: int = 1
    planes: int = 1


@dataclass(frozen=True)
class Target:
    """A machine and an XNNPACK.

    Attributes:
        name: what notes call it.
        float_gemm: fp32 products; `float_gemm_narrow` is the variant with fewer columns.
        half_gemm: fp16 products.
        float_int8_gemm: fp32 by channel-wise int8 products.
        int8_gemm: int8 by int8 products.
        dynamic_gemm: products of dynamically quantized rows, by weight type.
        convolution: fp32 convolutions with at least as many channels as the kernel has columns.
        dynamic_convolution: convolutions of dynamically quantized images.
        threads: size of the thread pool; ExecuTorch takes the number of fast cores.
        l2_bytes: second level cache of one core, as `cpuinfo` reports it.
        cache_line_bytes: its line.
        alignment_bytes: `XNN_ALLOCATION_ALIGNMENT`: 64 on x86, 16 on Arm.
        pointer_bytes: size of a pointer.
    """

    name: str
    float_gemm: Gemm
    float_gemm_narrow: Gemm
    half_gemm: Gemm
    float_int8_gemm: Gemm
    int8_gemm: Gemm
    dynamic_gemm: Mapping[int, Gemm]
    convolution: Gemm
    dynamic_convolution: Gemm
    threads: int = 2
    l2_bytes: int = 2 << 20
    cache_line_bytes: int = 64
    alignment_bytes: int = 64
    pointer_bytes: int = 8
    revision: Revision = Revision.EXECUTORCH_1_5


X86_64_AVX512 = Target(
    name="x86-64 with AVX-512 VNNI",
    float_gemm=Gemm(7, 32),
    float_gemm_narrow=Gemm(7, 16),
    half_gemm=Gemm(8, 32),
    float_int8_gemm=Gemm(7, 32),
    int8_gemm=Gemm(7, 16, depth=8),
    dynamic_gemm={
        Datatype.QCINT8: Gemm(5, 64, depth=4),
        Datatype.QCINT4: Gemm(8, 16, depth=8, planes=2),
        Datatype.QBINT4: Gemm(8, 16, depth=8, planes=2),
    },
    convolution=Gemm(7, 32),
    dynamic_convolution=Gemm(10, 16, depth=8),
)
"""Server CPUs since 2019; measured with the wheel of ExecuTorch 1.5.1."""

X86_64_AVX512_1_4 = replace(X86_64_AVX512, half_gemm=Gemm(4, 16), revision=Revision.EXECUTORCH_1_4)
"""The same CPUs, measured with the wheel of ExecuTorch 1.4.1."""

X86_64_AVX2 = Target(
    name="x86-64 with AVX2 and FMA3",
    float_gemm=Gemm(6, 16),
    float_gemm_narrow=Gemm(10, 8),
    half_gemm=Gemm(4, 16),
    float_int8_gemm=Gemm(5, 16),
    int8_gemm=Gemm(3, 8, depth=8),
    dynamic_gemm={
        Datatype.QCINT8: Gemm(4, 8, depth=8),
        Datatype.QCINT4: Gemm(4, 8, depth=8, planes=2),
        Datatype.QBINT4: Gemm(3, 8, depth=8, planes=2),
    },
    convolution=Gemm(5, 16),
    dynamic_convolution=Gemm(4, 8, depth=8),
)
"""Other CPUs since 2013; from the source, measured with ExecuTorch 1.5.1's wheel on a Zen 3."""
