"""The arena: memory for everything that does not run at the same time."""

from __future__ import annotations

from typing import Any

from onearena.engine.native import native_module
from onearena.errors import UsageError

_DEFAULT_RESERVE_BYTES = 16 << 30
_MAX_BYTES = 1 << 47


class Arena:
    """Address space that takes memory only where something is written.

    Programs loaded with one arena take turns: a run waits for the one that has it. Nothing in it
    survives a run (state has memory of its own), so it may grow and give its pages back.
    """

    def __init__(
        self, *, limit_bytes: int | None = None, reserve_bytes: int = _DEFAULT_RESERVE_BYTES
    ) -> None:
        """Reserves nothing yet.

        Args:
            limit_bytes: no method may need more; one that does raises before anything runs.
            reserve_bytes: address space to take at once. An arena that needs more moves.

        Raises:
            RuntimeUnavailableError: the native runtime is not there.
            UsageError: a size is not positive, or above 2**47.
        """
        for name, size in (("limit_bytes", limit_bytes), ("reserve_bytes", reserve_bytes)):
            if size is not None and (type(size) is not int or not 0 < size <= _MAX_BYTES):
                raise UsageError(f"{name} must be from 1 to 2**47, it is {size!r}")
        self.native: Any = native_module().Arena(reserve_bytes, limit_bytes or 0)

    @property
    def size_bytes(self) -> int:
        """The largest need of the methods loaded so far."""
        size: int = self.native.size_bytes
        return size

    @property
    def limit_bytes(self) -> int | None:
        """No method may need more."""
        return self.native.limit_bytes or None

    def resident_bytes(self) -> int:
        """What the operating system has given: the pages written since the last :meth:`trim`."""
        resident: int = self.native.resident_bytes
        return resident

    def trim(self) -> None:
        """Gives all pages back to the operating system; waits for a run to end."""
        self.native.trim()
