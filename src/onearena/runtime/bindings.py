"""Finds the installed ExecuTorch runtime, and the kernel libraries its wheel ships apart."""

from __future__ import annotations

import functools
import importlib
import importlib.util
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from onearena.errors import RuntimeUnavailableError

_HINT = "install it with: pip install 'onearena[run]'"
_EXTENSIONS = ("_C", "_portable_lib", "portable_lib")
"""Names of the runtime's extension module, newest wheel first, then the public wrapper.

The wrapper comes last because it imports the whole exporter first (several seconds); what
runs is the same library.
"""
_KERNEL_LIBRARIES = {
    "quantized_decomposed": "kernels/quantized/*quantized_ops_aot_lib.*",
    "llama": "extension/llm/custom_ops/*custom_ops_aot_lib.*",
    "preprocess": "extension/llm/custom_ops/*custom_ops_aot_lib.*",
}
"""Operator namespace → where in the executorch package the library with its kernels is."""


def check_installed() -> None:
    """Says at once, without loading it, that there is no runtime.

    Raises:
        RuntimeUnavailableError: something is not installed.
    """
    for name, product in (("torch", "PyTorch"), ("executorch", "ExecuTorch")):
        if importlib.util.find_spec(name) is None:
            raise RuntimeUnavailableError(f"running programs needs {product}; {_HINT}")


@functools.cache
def runtime_module() -> Any:
    """The runtime's Python bindings.

    Raises:
        RuntimeUnavailableError: executorch, torch or numpy is missing, or cannot be loaded.
    """
    _import("numpy", "NumPy")
    import_torch()
    _import("executorch", "ExecuTorch")
    problem = "no runtime extension in the package"
    for name in _EXTENSIONS:
        try:
            return importlib.import_module(f"executorch.extension.pybindings.{name}")
        except ModuleNotFoundError:
            continue  # a wheel of another version has it under another name
        except (ImportError, OSError) as error:
            problem = _first_line(error)
    raise RuntimeUnavailableError(f"the installed ExecuTorch cannot be loaded: {problem}")


def import_torch() -> Any:
    """The torch module; errors as in :func:`runtime_module`."""
    return _import("torch", "PyTorch")


def runtime_version() -> str:
    """Version of the installed executorch package, or "unknown"."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version("executorch")
    except PackageNotFoundError:
        return "unknown"


def missing_kernels(operators: Iterable[str]) -> tuple[str, ...]:
    """Those of `operators` (as in `aten::add.out`) that no kernel is installed for.

    Kernel libraries that come with the wheel but are not loaded by default are loaded when
    something needs them.
    """
    module = runtime_module()
    missing = set(operators) - set(module._get_operator_names())
    patterns = {_KERNEL_LIBRARIES.get(operator.partition("::")[0]) for operator in missing}
    for pattern in sorted(pattern for pattern in patterns if pattern):
        _load_kernel_library(pattern)
    return tuple(sorted(missing - set(module._get_operator_names())))


def missing_backends(backends: Iterable[str]) -> tuple[str, ...]:
    """Those of `backends` (as in `XnnpackBackend`) that the installed runtime lacks."""
    return tuple(sorted(set(backends) - set(runtime_module()._get_registered_backend_names())))


def _load_kernel_library(pattern: str) -> None:
    torch = import_torch()
    executorch = _import("executorch", "ExecuTorch")
    for root in executorch.__path__:
        for library in sorted(Path(root).glob(pattern)):
            try:
                torch.ops.load_library(str(library))
            except OSError:
                continue  # its kernels stay missing, which the caller reports


def _import(name: str, product: str) -> Any:
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise RuntimeUnavailableError(f"running programs needs {product}; {_HINT}") from error
    except (ImportError, OSError) as error:
        raise RuntimeUnavailableError(
            f"{product} is installed but cannot be loaded: {_first_line(error)}"
        ) from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
