"""The native runtime is tested where it was built; programs are exported as for the cases."""

from __future__ import annotations

from pathlib import Path

from onearena.engine.native import native_module
from onearena.errors import RuntimeUnavailableError

__all__ = ["collect_ignore"]

collect_ignore: list[str] = []

try:
    native_module()
except RuntimeUnavailableError:
    # test_available.py says whether that is as it should be
    here = Path(__file__).parent
    collect_ignore += [p.name for p in here.glob("test_*.py") if p.name != "test_available.py"]
else:
    from tests.cases.conftest import directory, program, same_weights

    __all__ += ["directory", "program", "same_weights"]
