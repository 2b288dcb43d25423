"""What verification reports."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Violation:
    """One fault of a plan or program.

    Attributes:
        kind: a short word for machines: overlap, alignment, bounds, alias, state, order, sharing.
        method: the method's name; empty for a bare plan.
        message: one line that names instruction, values and bytes.
    """

    kind: str
    method: str
    message: str

    def __str__(self) -> str:
        """`method: message`."""
        return f"{self.method}: {self.message}" if self.method else self.message
