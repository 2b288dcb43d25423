"""The headers and libraries in the executorch wheel, for tests that compile."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

LIBRARIES = ("", "_kernels_optimized", "_backend_xnnpack", "_threadpool")


def compile_flags() -> list[str]:
    """How to compile against the wheel's headers; skips the test when there are none."""
    include = _root() / "include"
    if not (include / "executorch/runtime/executor/method.h").exists():
        pytest.skip("this executorch brings no headers")
    return [
        "-std=c++17",
        f"-I{include}",
        f"-I{include / 'executorch/runtime/core/portable_type/c10'}",
        "-DC10_USING_CUSTOM_GENERATED_MACROS",
    ]


def link_flags() -> list[str]:
    """How to link the wheel's libraries; skips the test when there are none."""
    lib = _root() / "lib"
    if not all((lib / f"libexecutorch{name}.so").exists() for name in LIBRARIES):
        pytest.skip("this executorch brings no libraries to link")
    names = [f"-lexecutorch{name}" for name in LIBRARIES]
    return [f"-L{lib}", f"-Wl,-rpath,{lib}", "-Wl,--no-as-needed", *names]


def _root() -> Path:
    spec = importlib.util.find_spec("executorch")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("executorch is not installed")
    return Path(spec.submodule_search_locations[0])
