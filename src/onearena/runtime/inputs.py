"""Random inputs for a method, reproducible from a seed."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from onearena.errors import UnsupportedError
from onearena.pte.tensors import ScalarType
from onearena.runtime.ranges import DEFAULT_RANGE, IntRange
from onearena.runtime.signature import (
    TORCH_NAMES,
    Input,
    ScalarInput,
    Signature,
    Sizes,
    SizeSet,
)

if TYPE_CHECKING:
    import numpy as np

_COMPLEX = frozenset((ScalarType.COMPLEXHALF, ScalarType.COMPLEXFLOAT, ScalarType.COMPLEXDOUBLE))
INTEGERS = frozenset(
    {
        *(ScalarType.BYTE, ScalarType.CHAR, ScalarType.SHORT, ScalarType.INT, ScalarType.LONG),
        *(ScalarType.UINT16, ScalarType.UINT32, ScalarType.UINT64),
    }
)


class Strategy(enum.Enum):
    """How integers are drawn; the later ones are for methods that refuse the earlier ones."""

    INFERRED = "inferred"
    """From the range that the method's operators set."""
    BINARY = "binary"
    """0 or 1."""
    ZERO = "zero"
    """0 only."""


def random_inputs(
    signature: Signature,
    ranges: Mapping[int, IntRange],
    sizes: SizeSet,
    *,
    seed: int,
    run: int,
    strategy: Strategy = Strategy.INFERRED,
) -> list[Any]:
    """Inputs of run number `run`: normal floats, integers in range, fair booleans.

    The same arguments always give the same inputs; another run gives others.

    Args:
        ranges: by input position, as :func:`onearena.runtime.ranges.input_ranges` finds them.
        sizes: the sizes of every tensor input.

    Returns:
        Torch tensors, laid out in the dimension order that the method expects, and scalars.

    Raises:
        UnsupportedError: an input's element type cannot be made here.
    """
    import numpy as np

    made: list[Any] = []
    for position, (spec, shape) in enumerate(zip(signature.inputs, sizes, strict=True)):
        if isinstance(spec, ScalarInput) or shape is None:
            made.append(spec.value if isinstance(spec, ScalarInput) else None)
            continue
        generator = np.random.default_rng([seed, run, position])
        drawn = _draw(spec.scalar_type, shape, generator, ranges.get(position), run, strategy)
        made.append(_as_tensor(drawn, spec, f"method {signature.name!r}, input {position}"))
    return made


def _draw(
    scalar_type: int,
    shape: Sizes,
    generator: np.random.Generator,
    limits: IntRange | None,
    run: int,
    strategy: Strategy,
) -> np.ndarray[Any, Any]:
    import numpy as np

    if scalar_type == ScalarType.BOOL:
        return generator.integers(0, 2, shape, dtype=np.int8).astype(np.bool_)
    if scalar_type in INTEGERS:
        return _draw_integers(shape, generator, limits or DEFAULT_RANGE, run, strategy)
    if scalar_type in _COMPLEX:
        return generator.standard_normal(shape) + 1j * generator.standard_normal(shape)
    if scalar_type == ScalarType.DOUBLE:
        return np.asarray(generator.standard_normal(shape))
    return np.asarray(generator.standard_normal(shape, dtype=np.float32))


def _draw_integers(
    shape: Sizes, generator: np.random.Generator, limits: IntRange, run: int, strategy: Strategy
) -> np.ndarray[Any, Any]:
    import numpy as np

    if strategy is Strategy.ZERO:
        return np.zeros(shape, dtype=np.int64)
    if limits.is_position:  # a sequence goes on where the last run's stopped, then starts again
        length = shape[-1] if shape else 1
        starts = max(1, limits.high - length + 1)
        first = run * length % starts
        line = np.minimum(np.arange(first, first + length), limits.high - 1)
        return np.broadcast_to(line.reshape(shape[-1:]), shape).copy()
    low, high = limits.low, limits.high
    if strategy is Strategy.BINARY:
        low, high = 0, min(2, high)
    return generator.integers(low, high, shape, dtype=np.int64)


def _as_tensor(drawn: np.ndarray[Any, Any], spec: Input, what: str) -> Any:
    import torch

    assert not isinstance(spec, ScalarInput)
    name = TORCH_NAMES.get(spec.scalar_type)
    if name is None or not hasattr(torch, name):
        raise UnsupportedError(f"{what}: no random numbers of {spec.dtype}")
    tensor = torch.from_numpy(drawn).to(getattr(torch, name))
    return in_dim_order(tensor, spec.dim_order)


def in_dim_order(tensor: Any, dim_order: tuple[int, ...]) -> Any:
    """The same numbers, laid out in memory in `dim_order`, outermost dimension first."""
    if sorted(dim_order) != list(range(tensor.dim())):
        return tensor.contiguous()
    inverse = [dim_order.index(dim) for dim in range(tensor.dim())]
    return tensor.permute(dim_order).contiguous().permute(inverse)
