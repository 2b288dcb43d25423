"""Arrays and tensors of the caller to what the native runtime takes, and back."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from onearena.errors import UnsupportedError, UsageError
from onearena.runtime.signature import TORCH_NAMES

_INT64 = range(-(1 << 63), 1 << 63)
_MAX_SIZE = (1 << 31) - 1
_NUMBERS = {name: number for number, name in TORCH_NAMES.items()}

NativeTensor = tuple[int, tuple[int, ...], int, int]
"""Element type, sizes, address, size in bytes."""
Info = tuple[int, tuple[int, ...], tuple[int, ...], bool]
"""Element type, sizes (bounds), dimension order, whether it is dynamic."""


def flatten(values: Iterable[Any]) -> list[Any]:
    """Inputs as the program wants them: lists, tuples and dicts opened, in order.

    Raises:
        UsageError: they are lists in lists without an end, or nearly so.
    """
    try:
        return _flatten(values)
    except RecursionError as error:
        raise UsageError("the inputs are lists in lists in lists, too many to be opened") from error


def _flatten(values: Iterable[Any]) -> list[Any]:
    flat: list[Any] = []
    for value in values:
        if isinstance(value, dict):
            flat += _flatten(value.values())
        elif isinstance(value, list | tuple):
            flat += _flatten(value)
        else:
            flat.append(value)
    return flat


def is_torch(value: Any) -> bool:
    """Whether a value is a torch tensor, without importing torch."""
    return hasattr(value, "data_ptr") and hasattr(value, "detach")


def native_inputs(
    what: str, values: Sequence[Any], infos: Sequence[Any]
) -> tuple[list[Any], list[Any]]:
    """What the native runtime takes, and the objects that must live until it has run.

    Args:
        what: how errors name the method.
        infos: what the method says about its inputs.

    Raises:
        UsageError: a value is nothing that an input can be.
    """
    kept: list[Any] = []
    given: list[Any] = []
    for position, value in enumerate(values):
        info = infos[position] if position < len(infos) else None
        order = info[2] if isinstance(info, tuple) else ()
        name = f"{what}: input {position}"
        try:
            if is_torch(value):
                given.append(_torch_input(value, order, kept))
            elif hasattr(value, "__array__"):
                given.append(_numpy_input(name, value, order, kept))
            else:
                given.append(_number(name, value))
        except (MemoryError, RuntimeError, TypeError, ValueError) as error:
            # a broadcast too large to be made dense, a tensor without data, ...
            reason = (str(error).splitlines() or [type(error).__name__])[0]
            raise UsageError(f"{name} cannot be read: {reason}") from error
    return given, kept


def _number(name: str, value: Any) -> Any:
    if isinstance(value, str):
        value.encode()  # lone surrogates are refused
        return value
    if value is None or isinstance(value, bool | float):
        return value
    if isinstance(value, int) and value in _INT64:
        return value
    raise UsageError(f"{name} is {type(value).__name__}, not a tensor or a number of 64 bits")


def _torch_input(value: Any, order: tuple[int, ...], kept: list[Any]) -> NativeTensor:
    tensor = value.detach().cpu()
    sizes = tuple(tensor.shape)
    if len(order) == len(sizes) and order != tuple(range(len(sizes))):
        tensor = tensor.permute(order)
    tensor = tensor.resolve_conj().resolve_neg().contiguous()
    kept.append(tensor)
    number = _NUMBERS.get(str(tensor.dtype).removeprefix("torch."), -1)
    return number, _checked(sizes), tensor.data_ptr(), tensor.numel() * tensor.element_size()


def _numpy_input(name: str, value: Any, order: tuple[int, ...], kept: list[Any]) -> NativeTensor:
    import numpy as np

    array = np.asarray(value)
    number = _NUMBERS.get(array.dtype.name) if array.dtype.isnative else None
    if number is None:
        raise UsageError(f"{name} is {array.dtype}, which no input can be")
    sizes = array.shape
    if len(order) == len(sizes) and order != tuple(range(len(sizes))):
        array = array.transpose(order)
    array = np.ascontiguousarray(array)
    kept.append(array)
    return number, _checked(sizes), array.ctypes.data, array.nbytes


def _checked(sizes: tuple[int, ...]) -> tuple[int, ...]:
    if any(size > _MAX_SIZE for size in sizes):
        raise UsageError(f"an input of the shape {list(sizes)} is too large")
    return sizes


def outputs_as(results: Sequence[Any], *, torch: bool) -> list[Any]:
    """The outputs as torch tensors or NumPy arrays; numbers as they are.

    Raises:
        UnsupportedError: NumPy has no such element type.
    """
    convert = _to_torch if torch else _to_numpy
    return [convert(*result) if isinstance(result, tuple) else result for result in results]


def _in_memory(sizes: tuple[int, ...], order: tuple[int, ...]) -> tuple[list[int], list[int]]:
    """The sizes in the order in memory, and the permutation back."""
    return [sizes[dim] for dim in order], [order.index(dim) for dim in range(len(order))]


def _to_numpy(number: int, sizes: tuple[int, ...], order: tuple[int, ...], data: Any) -> Any:
    import numpy as np

    try:
        dtype = np.dtype(TORCH_NAMES[number])
    except (KeyError, TypeError):
        name = TORCH_NAMES.get(number, f"element type {number}")
        raise UnsupportedError(
            f"NumPy has no {name}: give the inputs as torch tensors to get torch tensors"
        ) from None
    in_memory, back = _in_memory(sizes, order)
    return data.view(dtype).reshape(in_memory).transpose(back)


def _to_torch(number: int, sizes: tuple[int, ...], order: tuple[int, ...], data: Any) -> Any:
    import torch

    dtype = getattr(torch, TORCH_NAMES.get(number, ""), None)
    if dtype is None:
        raise UnsupportedError(f"torch has no element type {number}")
    in_memory, back = _in_memory(sizes, order)
    if not data.size:
        return torch.empty(in_memory, dtype=dtype).permute(back)
    return torch.from_numpy(data).view(dtype).view(in_memory).permute(back)
