"""Inputs that the user gives: NumPy and torch files, arrays, tensors, numbers."""

from __future__ import annotations

import os
import pickle
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from onearena.errors import FormatError, UsageError
from onearena.runtime.inputs import in_dim_order
from onearena.runtime.signature import ScalarInput, Signature, TensorInput


def load_inputs(paths: Sequence[str]) -> list[Any]:
    """The inputs in the files, in order: one per ``.npy``, all the arrays of an ``.npz``, the
    tensor or the list of tensors in a ``.pt``.

    Raises:
        FormatError: a file is missing, corrupt, or of another kind.
    """
    return [value for path in paths for value in _load(path)]


def check_inputs(signature: Signature, values: Sequence[Any]) -> list[Any]:
    """The values in the form the runtime wants.

    Raises:
        UsageError: the number of inputs, an element type or a shape is not the method's.
    """
    name, wanted = signature.name, signature.inputs
    if len(values) != len(wanted):
        raise UsageError(
            f"method {name!r} takes {len(wanted)} inputs ({signature}), {len(values)} were given"
        )
    return [
        _check_scalar(f"method {name!r}: input {position}", spec, value)
        if isinstance(spec, ScalarInput)
        else _check_tensor(f"method {name!r}: input {position}", spec, value)
        for position, (spec, value) in enumerate(zip(wanted, values, strict=True))
    ]


def _load(path: str) -> list[Any]:
    loaders = {".npy": _load_npy, ".npz": _load_npz, ".pt": _load_torch, ".pth": _load_torch}
    loader = loaders.get(Path(path).suffix.lower())
    if loader is None:
        raise FormatError(f"{path}: inputs come from .npy, .npz and .pt files")
    if not Path(path).is_file():
        raise FormatError(f"{path}: no such file")
    try:
        return loader(path)
    except FormatError:
        raise
    except (OSError, ValueError, EOFError, RuntimeError, KeyError, zipfile.BadZipFile) as error:
        raise FormatError(f"{path}: cannot be read: {_first_line(error)}") from error
    except (pickle.UnpicklingError, AttributeError, TypeError, IndexError) as error:
        raise FormatError(f"{path}: holds more than plain numbers, or is corrupt") from error
    except Exception as error:  # a corrupt header makes numpy's parser raise what it likes
        raise FormatError(f"{path}: is corrupt: {_first_line(error)}") from error


def _load_npy(path: str) -> list[Any]:
    import numpy as np

    array = np.load(path, allow_pickle=False)
    if not isinstance(array, np.ndarray):
        raise FormatError(f"{path}: is an archive of arrays; call it .npz")
    return [array]


def _load_npz(path: str) -> list[Any]:
    import numpy as np

    with np.load(path, allow_pickle=False) as archive:
        if not isinstance(archive, np.lib.npyio.NpzFile):
            raise FormatError(f"{path}: is not an archive of arrays")
        return [archive[name] for name in archive.files]


def _load_torch(path: str) -> list[Any]:
    import torch

    return _flatten(torch.load(path, map_location="cpu", weights_only=True))


def _flatten(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list | tuple):
        return [leaf for item in value for leaf in _flatten(item)]
    return [value]


def _check_scalar(what: str, spec: ScalarInput, value: Any) -> Any:
    if hasattr(value, "item") and getattr(value, "ndim", 0) == 0:
        value = value.item()
    if type(value) is not type(spec.value) or value != spec.value:
        raise UsageError(f"{what} must be {spec.value!r}, the value recorded in the program")
    return value


def _check_tensor(what: str, spec: TensorInput, value: Any) -> Any:
    tensor = _as_tensor(what, spec, value)
    given, wanted = str(tensor.dtype).removeprefix("torch."), spec.dtype
    if given != wanted:
        raise UsageError(f"{what} is {given}, the method takes {spec}")
    shape = tuple(tensor.shape)
    if len(shape) != len(spec.sizes):
        raise UsageError(f"{what} has the shape {list(shape)}, the method takes {spec}")
    fits = all(size <= bound for size, bound in zip(shape, spec.sizes, strict=True))
    if shape != spec.sizes and not (spec.is_dynamic and fits):
        raise UsageError(f"{what} has the shape {list(shape)}, the method takes {spec}")
    return in_dim_order(tensor, spec.dim_order)


def _as_tensor(what: str, spec: TensorInput, value: Any) -> Any:
    import numpy as np
    import torch

    if isinstance(value, torch.Tensor):
        return value.detach().cpu()
    if not isinstance(value, np.ndarray | np.generic):
        raise UsageError(f"{what} is {type(value).__name__}, the method takes {spec}")
    array = np.asarray(value)
    try:
        return torch.from_numpy(np.ascontiguousarray(array).reshape(array.shape).copy())
    except TypeError:  # strings, dates, big-endian numbers
        raise UsageError(f"{what} is {array.dtype}, the method takes {spec}") from None


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]


def is_path(value: Any) -> bool:
    """Whether an input given to the library names a file."""
    return isinstance(value, str | os.PathLike)
