"""What must hold for every program: optimize, verify, run, and never a byte worse."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from onearena.options import Options
from onearena.pipeline import inspect, optimize, verify
from onearena.results import MethodReport, ProgramReport
from tests.cases.running import Call, Outputs, difference, play


@dataclass(frozen=True)
class Checked:
    """A program that passed.

    Attributes:
        stock, small: the files before and after.
        report: what `optimize` said.
        outputs: by run.
    """

    stock: Path
    small: Path
    report: ProgramReport
    outputs: list[Outputs]

    @property
    def method(self) -> MethodReport:
        """The only method."""
        (method,) = self.report.methods
        return method

    @property
    def saved_bytes(self) -> int:
        """Over all methods."""
        return sum(saved(method) for method in self.report.methods)


def saved(method: MethodReport) -> int:
    """Bytes that the new plan needs less."""
    assert method.after is not None
    return method.before.total_bytes - method.after.total_bytes


def check(
    stock: Path,
    calls: Sequence[Call],
    *,
    constant: bool = False,
    sound: bool = True,
    same_as: Any = None,
) -> Checked:
    """Optimizes a program, and proves what can be proven about the result.

    Args:
        calls: runs, in order, in one session each for the old and the new file.
        constant: outputs need not depend on the inputs.
        sound: `verify` finds nothing wrong with the old file.
        same_as: what the program was made from: its results must be close, so that a program
            that is wrong from the start is no reference.
    """
    small = stock.with_suffix(".small.pte")
    report = optimize_and_verify(stock, small, sound=sound)
    expected, found = play(stock, calls), play(small, calls)
    problem = difference(expected, found)
    assert problem is None, f"{stock.name}: {problem}"
    if not constant:
        _depends_on_inputs(expected)
    if same_as is not None:
        _close(expected, [_copied(same_as(*call.inputs)) for call in calls])
    return Checked(stock, small, report, expected)


def optimize_and_verify(
    stock: Path, small: Path, *, sound: bool = True, options: Options | None = None
) -> ProgramReport:
    """Optimizes; checks both files, the report, and that a second time changes nothing.

    A program that is planned into a memory map may need more than before, and another time
    may find another plan.
    """
    report = optimize(stock, small, options)
    has_map = options is not None and options.memory_map is not None
    if sound:
        assert verify(stock).violations == ()
        assert verify(small).violations == ()
    for method, again in zip(report.methods, inspect(small).methods, strict=True):
        assert method.after is not None
        assert has_map or method.after.total_bytes <= method.before.total_bytes, method.name
        assert again.before == method.after, f"{method.name}: the report is not about this file"
    if not has_map:
        _changes_nothing(small, options)
    return report


def _changes_nothing(small: Path, options: Options | None) -> None:
    again = small.with_suffix(".again.pte")
    second = optimize(small, again, options)
    assert not second.changed
    assert again.read_bytes() == small.read_bytes()
    again.unlink()


def _depends_on_inputs(outputs: Sequence[Outputs]) -> None:
    """Else a program that computes nothing would pass."""
    assert len(outputs) > 1
    assert difference(outputs[:1], outputs[1:2]) is not None, "outputs are the same in every run"


def _copied(outputs: Any) -> Outputs:
    """The module's outputs, which later runs may change."""
    listed = outputs if isinstance(outputs, tuple | list) else (outputs,)
    return tuple(x.clone() if isinstance(x, torch.Tensor) else x for x in listed)


def _close(outputs: Sequence[Outputs], expected: Sequence[Outputs]) -> None:
    for run, (found, wanted) in enumerate(zip(outputs, expected, strict=True)):
        for a, b in zip(found, wanted, strict=True):
            torch.testing.assert_close(
                a, b, rtol=1e-3, atol=1e-3, equal_nan=True, msg=lambda m, r=run: f"run {r}: {m}"
            )
