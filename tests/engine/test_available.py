"""Where the executorch of the native runtime is installed, its module was built."""

from __future__ import annotations

from importlib.metadata import version

import pytest

from onearena.engine.native import EXECUTORCH_VERSION, native_module


def test_the_module_is_there() -> None:
    found = version("executorch").partition("+")[0]
    if found != EXECUTORCH_VERSION:
        pytest.skip(f"executorch {found} is not {EXECUTORCH_VERSION}; no other engine test runs")
    assert native_module().__name__ == "onearena._runtime"
