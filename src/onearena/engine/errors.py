"""What the native runtime raises; `cpp/runtime/python/module.cc` looks the classes up here."""

from __future__ import annotations

from onearena.errors import ExecutionError, FormatError, UnsupportedError, UsageError

__all__ = [
    "ArenaBusyError",
    "ArenaLimitError",
    "ExecutionError",
    "FormatError",
    "UnsupportedError",
    "UsageError",
]


class ArenaLimitError(ExecutionError):
    """A program needs more memory than the arena may have, or the machine has."""


class ArenaBusyError(ExecutionError):
    """The arena is in use by another run, and the caller did not want to wait."""
