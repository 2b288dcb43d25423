"""What is closed at the end of a ``with`` block."""

from __future__ import annotations

from types import TracebackType
from typing import Self


class Closing:
    """Makes a context manager of a class that can be closed."""

    __slots__ = ()

    def close(self) -> None:
        """Releases what it holds."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()
