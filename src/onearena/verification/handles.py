"""Which handles somebody may still read: the others need not tell paths apart."""

from __future__ import annotations

from onearena.timeline.access import successors
from onearena.timeline.steps import MethodSteps


def live_handles(method: MethodSteps) -> tuple[frozenset[int], ...]:
    """Per step, the values re-pointed somewhere in the method that may be read from this step
    on before they are re-pointed again.

    A value that a `MoveCall` fills keeps naming its source in the next run too, but there it
    is filled again before it is read, or it would not be in this set at the entry.
    """
    steps = method.steps
    handles = {view for step in steps for _, view in step.roles.aliases}
    elsewhere: dict[int, list[int]] = {}
    for step in steps:
        for value, when in (*step.late_reads, *step.early_writes):
            elsewhere.setdefault(when, []).append(value)
    uses: list[frozenset[int]] = []
    kills: list[frozenset[int]] = []
    for position, step in enumerate(steps):
        bases = [base for base, _ in step.roles.aliases] + elsewhere.get(position, [])
        uses.append(
            frozenset(handles.intersection((*step.roles.reads, *step.roles.writes, *bases)))
        )
        kills.append(frozenset(view for _, view in step.roles.aliases))
    live = [frozenset[int]()] * len(steps)
    changed = True
    while changed:
        changed = False
        for position in range(len(steps) - 1, -1, -1):
            after: set[int] = set()
            for target in successors(method, position):
                after |= live[target]
            found = frozenset((after - kills[position]) | uses[position])
            if found != live[position]:
                live[position] = found
                changed = True
    return tuple(live)
