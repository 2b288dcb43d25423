"""Python starts with this: onearena's extension modules are those that the sanitizers watch.

On `PYTHONPATH` of `python -m tests.sanitized`, and so of every process that its tests start.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType


class _Finder(MetaPathFinder):
    """Finds the modules that were built for it, wherever the package itself is."""

    def __init__(self, folder: Path) -> None:
        self._paths = {f"onearena.{p.name.partition('.')[0]}": p for p in folder.rglob("_*.so")}

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """The module's specification, for those that were built."""
        found = self._paths.get(fullname)
        return spec_from_file_location(fullname, found) if found is not None else None


if folder := os.environ.get("ONEARENA_SANITIZED"):
    # before what an editable installation put there
    sys.meta_path.insert(0, _Finder(Path(folder)))
