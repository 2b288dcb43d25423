"""What `bundle` did."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onearena.errors import OnearenaError


class NotReproducedError(OnearenaError):
    """The program does not give the expected outputs on this machine; nothing was written."""


@dataclass(frozen=True)
class BundledMethodReport:
    """One method.

    Attributes:
        cases: how many test cases.
        inputs, outputs: of each of them.
        is_stateful: whether something survives from run to run: the cases are to be run in order.
    """

    name: str
    cases: int
    inputs: int
    outputs: int
    is_stateful: bool

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "cases": self.cases,
            "inputs": self.inputs,
            "outputs": self.outputs,
            "is_stateful": self.is_stateful,
        }


@dataclass(frozen=True)
class BundleReport:
    """A bundled program that was written.

    Attributes:
        path: the program.
        reference: where the expected outputs come from; None: from the program itself.
        size_bytes, program_bytes: of the bundle, and of the program in it.
        skipped: (method, reason) of those without test cases.
        runtime: the version of ExecuTorch that computed the outputs, and confirmed them.
    """

    path: str
    output: str
    reference: str | None
    size_bytes: int
    program_bytes: int
    methods: tuple[BundledMethodReport, ...]
    skipped: tuple[tuple[str, str], ...]
    runtime: str
    notes: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """The stable keys of the command line's JSON."""
        return {
            "path": self.path,
            "output": self.output,
            "reference": self.reference,
            "size_bytes": self.size_bytes,
            "program_bytes": self.program_bytes,
            "methods": [method.to_json() for method in self.methods],
            "skipped": [{"name": name, "reason": reason} for name, reason in self.skipped],
            "runtime": self.runtime,
            "notes": list(self.notes),
        }
