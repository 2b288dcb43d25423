"""Debug handles by instruction, for a program whose instructions have moved.

ExecuTorch's runtime notes in an ETDump which instruction did what, by its number in the method.
Its Inspector looks that number up in three maps, which an ETRecord carries (ExecuTorch 1.5.1,
`devtools/inspector/_inspector.py`): instruction → debug handles; instruction → what is known of the
delegate called there; instruction → how many of the last logged values are outputs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from onearena.errors import AnalysisError
from onearena.pte.schema import ExecutionPlan, Program
from onearena.record import Record

_T = TypeVar("_T")


@dataclass(frozen=True)
class DebugMaps:
    """What an exported program knows of its instructions, by method and instruction number.

    Attributes:
        handles: debug handles: one, or a list of a delegate's.
        delegates: the backend's name and its own map.
        outputs: how many outputs a delegate call has.
    """

    handles: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)
    delegates: Mapping[str, Mapping[int, Any]] = field(default_factory=dict)
    outputs: Mapping[str, Mapping[int, int]] = field(default_factory=dict)


def moved_maps(
    maps: DebugMaps, before: Program, after: Program, record: Record | None
) -> DebugMaps:
    """The maps of a program that `optimize` has rewritten.

    The number of outputs of a call stays what it was. The values of an opened call follow its
    outputs in the arguments, and are logged with them: the Inspector, which looks for outputs at
    the end and for as many as there are debug handles, cannot find them there.

    Args:
        before, after: the program, as it was and as it is.
        record: what `optimize` noted; None when it changed nothing.

    Raises:
        AnalysisError: the programs are not two of a kind.
    """
    old_names = {plan.name or "" for plan in before.execution_plan or ()}
    handles: dict[str, dict[int, Any]] = {k: dict(m) for k, m in maps.handles.items()}
    delegates: dict[str, dict[int, Any]] = {k: dict(m) for k, m in maps.delegates.items()}
    outputs: dict[str, dict[int, Any]] = {k: dict(m) for k, m in maps.outputs.items()}
    for plan in after.execution_plan or ():
        name = plan.name or ""
        if name not in old_names:
            raise AnalysisError(f"method {name!r} was not there before it was rewritten")
        entry = record.methods.get(name) if record else None
        order = original_numbers(plan, entry.order if entry else ())
        for moved in (handles, delegates, outputs):
            if name in moved:
                moved[name] = _moved(moved[name], order)
    return DebugMaps(handles, delegates, outputs)


def original_numbers(plan: ExecutionPlan, order: Sequence[int]) -> tuple[int, ...]:
    """By instruction, its number before kernels moved.

    Raises:
        AnalysisError: the recorded order is not one of this method.
    """
    chains = plan.chains or ()
    count = len(chains[0].instructions or ()) if chains else 0
    if not order:
        return tuple(range(count))
    if len(order) != count:
        raise AnalysisError(
            f"method {plan.name!r}: the record orders {len(order)} of {count} instructions"
        )
    return tuple(order)


def _moved(entries: Mapping[int, _T], order: Sequence[int]) -> dict[int, _T]:
    return {new: entries[old] for new, old in enumerate(order) if old in entries}
