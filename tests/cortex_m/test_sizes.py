"""Every formula against CMSIS-NN's own functions, on random operators, for every core."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import pytest

from onearena.cortex_m import sizes
from onearena.cortex_m.cores import Isa, isa_of
from onearena.cortex_m.sizes import Convolution, Image
from onearena.sizes.targets import TARGETS

CORES = tuple(name for name in TARGETS if name.startswith("cortex-"))
ROUNDS = 3000


@pytest.fixture(scope="module")
def cmsis() -> Any:
    """CMSIS-NN's Python binding, as ExecuTorch's package has it."""
    binding = pytest.importorskip("executorch.backends.cortex_m.library.cmsis_nn")
    try:
        binding.resolve_backend(binding.CortexM.M55)
    except ModuleNotFoundError as error:
        pytest.skip(str(error))
    return binding


def _backend(cmsis: Any, core: str) -> Any:
    return cmsis.resolve_backend(getattr(cmsis.CortexM, core.removeprefix("cortex-").upper()))


def _pick(source: random.Random) -> tuple[int, int]:
    return source.choice((1, 1, 1, 2, 3, 5)), source.choice((1, 1, 2, 3, 4, 7))


def _convolutions(seed: int) -> Iterable[Convolution]:
    """Also such that no exporter would write: the formulas ask for no sense."""
    source = random.Random(seed)
    for _ in range(ROUNDS):
        channels = source.choice((1, 2, 3, 4, 8, 15, 16, 17, 32, 33, 130))
        height = source.choice((1, 1, 1, 2, 7))
        image = Image(source.choice((1, 1, 2)), height, source.randint(1, 40), channels)
        outputs = source.choice((1, 2, 8, 9, channels, 2 * channels))
        output = Image(image.batch, source.randint(1, 7), source.randint(1, 40), outputs)
        kernel = _pick(source)
        pad = source.randint(0, 3)
        yield Convolution(
            image,
            output,
            kernel,
            source.choice((channels, channels, 1)),
            (source.randint(1, 3), source.randint(1, 4)),
            source.choice(((0, 0), (0, pad), (pad, pad))),
            source.choice(((1, 1), (1, 1), (1, 2), (2, 1))),
        )


def _nhwc(image: Image) -> list[int]:
    return [image.batch, image.height, image.width, image.channels]


def _arguments(convolution: Convolution) -> dict[str, list[int]]:
    return {
        "input_nhwc": _nhwc(convolution.input),
        "padding_hw": list(convolution.padding),
        "stride_hw": list(convolution.stride),
        "dilation_hw": list(convolution.dilation),
    }


@pytest.mark.parametrize("core", CORES)
def test_the_cores_use_what_the_binding_says(cmsis: Any, core: str) -> None:
    assert isa_of(core) is Isa[_backend(cmsis, core).name]


@pytest.mark.parametrize("core", CORES)
def test_convolutions(cmsis: Any, core: str) -> None:
    isa, backend = isa_of(core), _backend(cmsis, core)
    assert isa is not None
    kinds = set()
    for convolution in _convolutions(seed=1):
        expected = cmsis.convolve_wrapper_buffer_size(
            backend,
            cmsis.DataType.A8W8,
            filter_nhwc=[
                convolution.output.channels,
                *convolution.kernel,
                convolution.filter_channels,
            ],
            output_nhwc=_nhwc(convolution.output),
            **_arguments(convolution),
        )
        assert sizes.convolution_bytes(convolution, isa) == expected, convolution
        kinds.add((convolution.is_pointwise, convolution.is_row))
    assert kinds == {(False, False), (False, True), (True, False), (True, True)}


@pytest.mark.parametrize("core", CORES)
def test_depthwise_convolutions(cmsis: Any, core: str) -> None:
    isa, backend = isa_of(core), _backend(cmsis, core)
    assert isa is not None
    seen = set()
    for convolution in _convolutions(seed=2):
        expected = cmsis.depthwise_conv_wrapper_buffer_size(
            backend,
            cmsis.DataType.A8W8,
            # as ExecuTorch's kernel has it
            filter_nhwc=[1, *convolution.kernel, convolution.output.channels],
            output_nhwc=_nhwc(convolution.output),
            ch_mult=max(1, convolution.output.channels // convolution.input.channels),
            **_arguments(convolution),
        )
        assert sizes.depthwise_bytes(convolution, isa) == expected, convolution
        seen.add(expected > 0)
    assert seen == ({False} if isa is Isa.SCALAR else {False, True})


@pytest.mark.parametrize("core", CORES)
def test_transposed_convolutions(cmsis: Any, core: str) -> None:
    isa, backend = isa_of(core), _backend(cmsis, core)
    assert isa is not None
    for convolution in _convolutions(seed=3):
        arguments = {
            **_arguments(convolution),
            "filter_nhwc": [
                convolution.output.channels,
                *convolution.kernel,
                convolution.input.channels,
            ],
            "padding_offsets_hw": [0, 0],
        }
        first = cmsis.transpose_conv_buffer_size(
            backend, cmsis.DataType.A8W8, output_nhwc=_nhwc(convolution.output), **arguments
        )
        second = cmsis.transpose_conv_reverse_conv_buffer_size(
            backend, cmsis.DataType.A8W8, **arguments
        )
        assert sizes.transpose_convolution_bytes(convolution, isa) == first, convolution
        assert sizes.reversed_weights_bytes(convolution) == second, convolution


@pytest.mark.parametrize("core", CORES)
def test_pools_and_sums(cmsis: Any, core: str) -> None:
    isa, backend = isa_of(core), _backend(cmsis, core)
    assert isa is not None
    for count in range(1, 200):
        pool = cmsis.avgpool_buffer_size(
            backend, cmsis.DataType.A8W8, dim_dst_width=count, ch_src=count
        )
        assert sizes.average_pool_bytes(count, isa) == pool
        sums = cmsis.fully_connected_buffer_size(
            backend, cmsis.DataType.A8W8, filter_nhwc=[7, 1, 1, count]
        )
        assert sizes.column_sum_bytes(count, isa) == sums


def _convolution(kernel: tuple[int, int], **other: Any) -> Convolution:
    image = Image(1, 8, 8, 3)
    return Convolution(image, Image(1, 8, 8, 8), kernel, 3, padding=(1, 1), **other)


@pytest.mark.parametrize(("isa", "expected"), [(Isa.SCALAR, 112), (Isa.DSP, 112), (Isa.MVE, 128)])
def test_the_first_convolution_of_conv2d_x3(isa: Isa, expected: int) -> None:
    """27 bytes under the filter: as int16, twice, in fours; or four times, in sixteens."""
    assert sizes.convolution_bytes(_convolution((3, 3)), isa) == expected


def test_a_depthwise_layer_of_ds_cnn_needs_blocks_of_channels_on_mve_only() -> None:
    image = Image(1, 25, 5, 64)
    depthwise = Convolution(image, image, (3, 3), 64, padding=(1, 1))
    needs = [sizes.depthwise_bytes(depthwise, isa) for isa in Isa]
    assert needs == [0, 0, 4464]


def test_other_targets_have_no_kernels_of_cmsis_nn() -> None:
    assert isa_of("host64") is None
    assert isa_of("cortex-a53") is None
    assert isa_of("m55") is None
