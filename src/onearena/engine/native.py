"""Finds the extension module of the native runtime, and the libraries that it needs."""

from __future__ import annotations

import ctypes
import functools
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from onearena.errors import RuntimeUnavailableError

EXECUTORCH_VERSION = "1.5.1"
"""The one version whose headers the module was compiled against; its classes cross over."""
_HOW = (
    f"pip install executorch=={EXECUTORCH_VERSION} scikit-build-core nanobind 'cmake>=3.28', then "
    "pip install --no-build-isolation --force-reinstall --no-deps onearena"
)
_LIBRARIES = (
    "libexecutorch.so",
    "libexecutorch_threadpool.so",
    "libexecutorch_kernels_optimized.so",
    "libexecutorch_backend_xnnpack.so",
)
"""The runtime, then what registers itself with it: kernels and the XNNPACK backend."""


@functools.cache
def native_module() -> Any:
    """The module `onearena._runtime`, with the libraries of the executorch wheel loaded.

    Raises:
        RuntimeUnavailableError: no executorch, another version of it, or no such module.
    """
    folder = _libraries_folder()
    try:
        for name in _LIBRARIES:
            # their symbols must be found by the module, which knows no path
            ctypes.CDLL(str(folder / name), mode=ctypes.RTLD_GLOBAL)
        return import_module("onearena._runtime")
    except ModuleNotFoundError as error:
        raise RuntimeUnavailableError(
            f"onearena was built without its native runtime; {_HOW}"
        ) from error
    except (ImportError, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise RuntimeUnavailableError(f"the native runtime cannot be loaded: {reason}") from error


def _libraries_folder() -> Path:
    try:
        found = version("executorch")
    except PackageNotFoundError:
        raise RuntimeUnavailableError(
            f"the native runtime needs executorch {EXECUTORCH_VERSION}; {_HOW}"
        ) from None
    if found.partition("+")[0] != EXECUTORCH_VERSION:
        raise RuntimeUnavailableError(
            f"the native runtime needs executorch {EXECUTORCH_VERSION}, installed is {found}"
        )
    spec = find_spec("executorch")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        if (Path(folder) / "lib" / _LIBRARIES[0]).is_file():
            return Path(folder) / "lib"
    raise RuntimeUnavailableError(
        f"the installed executorch {found} has no {_LIBRARIES[0]}; the wheel for Linux has it"
    )
