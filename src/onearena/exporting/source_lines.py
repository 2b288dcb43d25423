"""From torch's stack traces to one line of the model's source."""

from __future__ import annotations

import re
import sys
from pathlib import Path, PurePath
from typing import Any

from onearena.export_record import ExportedLine

_FRAME = re.compile(r'File "(?P<file>[^"]+)", line (?P<line>\d+), in (?P<function>\S+)')
_FRAMEWORKS = ("torch", "executorch", "torchao")
_MAX_TEXT = 200


class SourceLines:
    """Finds the innermost line that is not of PyTorch itself, and names its file without the
    directories of this machine: a program goes out into the world with it."""

    def __init__(self) -> None:
        # torch itself shortens some of its own paths to what is below site-packages
        self._frameworks = tuple(
            f"{PurePath(root)}/" for name in _FRAMEWORKS for root in (name, *_directories(name))
        )
        roots = {str(Path.cwd()), *(path for path in sys.path if path)}
        self._roots = sorted((f"{PurePath(root)}/" for root in roots), key=len, reverse=True)
        self._known: dict[str, ExportedLine | None] = {}

    def of(self, node: Any) -> ExportedLine | None:
        """The line that a node of a graph comes from; None when nobody knows."""
        trace = node.meta.get("stack_trace")
        if not isinstance(trace, str):
            return None
        if trace not in self._known:
            self._known[trace] = self._find(trace)
        return self._known[trace]

    def _find(self, trace: str) -> ExportedLine | None:
        frames = _FRAME.finditer(trace)
        own = [frame for frame in frames if not frame["file"].startswith(self._frameworks)]
        if not own:
            return None
        frame = own[-1]
        file = _printable(self._short(frame["file"]))
        return ExportedLine(file, int(frame["line"]), _printable(frame["function"]))

    def _short(self, file: str) -> str:
        for root in self._roots:
            if file.startswith(root):
                return file[len(root) :]
        if not file.startswith("/"):
            return file
        return "/".join(PurePath(file).parts[-2:])


def _directories(package: str) -> list[str]:
    module = sys.modules.get(package)
    return [str(path) for path in getattr(module, "__path__", ())]


def _printable(text: str) -> str:
    return "".join(c if c.isprintable() else "?" for c in text)[-_MAX_TEXT:]
