"""What the planner's benchmark finds out, as records that go into ``results.json``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from .replanning import Replan


@dataclass(frozen=True)
class Entry:
    """What one planner made of one instance.

    Attributes:
        height: of its plan, or None.
        seconds: without bringing the problem into the planner's form.
        prepared_s: what that took.
        bound: what it says that no plan can beat, or None.
        is_proven: whether it says that its plan is the best.
        note: how the plan was found, or why there is none.
        is_failure: there is no plan, and there should be one.
    """

    height: int | None
    seconds: float = 0.0
    prepared_s: float = 0.0
    bound: int | None = None
    is_proven: bool = False
    note: str = ""
    is_failure: bool = False


@dataclass(frozen=True)
class Row:
    """One instance. `bound`: no plan is smaller; the optimum where that is known."""

    family: str
    name: str
    buffers: int
    limit_s: float
    bound: int
    is_optimum_known: bool
    ours: Entry
    omnimalloc: Entry
    cp_sat: Entry
    executorch: Entry

    @property
    def rivals(self) -> Sequence[tuple[str, Entry]]:
        """Those that ours is held against; ExecuTorch's is but for information."""
        return (("OmniMalloc", self.omnimalloc), ("CP-SAT", self.cp_sat))

    def gap(self, entry: Entry) -> float | None:
        """How far a plan is above the bound, relative to it."""
        return None if entry.height is None else entry.height / self.bound - 1

    def winners(self) -> list[str]:
        """Those with a smaller plan than ours."""
        return [
            f"{self.family} {self.name} ({name} {entry.height:,}, ours {_number(self.ours)})"
            for name, entry in self.rivals
            if entry.height is not None
            and (self.ours.height is None or entry.height < self.ours.height)
        ]


def _number(entry: Entry) -> str:
    return "none" if entry.height is None else f"{entry.height:,}"


@dataclass(frozen=True)
class Fit:
    """Fitting one instance into its capacity: ours by seed (None: not found), others once."""

    name: str
    buffers: int
    capacity: int
    seconds: Sequence[float | None]
    omnimalloc: Entry
    cp_sat: Entry


@dataclass
class Results:
    """Everything; a section that was left out is empty."""

    fits: list[Fit] = field(default_factory=list)
    sections: dict[str, list[Row]] = field(default_factory=dict)
    replans: list[Replan] = field(default_factory=list)
