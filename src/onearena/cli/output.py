"""What the commands share: JSON, and progress that stays quiet in a pipe."""

from __future__ import annotations

import json
import shutil
import sys
from typing import Any


def print_json(content: dict[str, Any]) -> None:
    """Prints one JSON object to standard output."""
    print(json.dumps(content, indent=2))


class Progress:
    """A status line on a terminal's standard error; nothing at all elsewhere."""

    def __init__(self, title: str, enabled: bool = True) -> None:
        """`title` stands in front of every status."""
        self._title = title
        self._enabled = enabled and sys.stderr.isatty()

    def __call__(self, status: str) -> None:
        """Shows a status in place of the one before."""
        if self._enabled:
            line = f"{self._title}: {status} …"
            # a line that wraps could not be cleared
            width = shutil.get_terminal_size().columns - 1
            sys.stderr.write(f"\r\x1b[K{line[:width]}")
            sys.stderr.flush()

    def close(self) -> None:
        """Clears the line."""
        if self._enabled:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
