"""Tables of pointers leave the heap for scratch, where that costs next to nothing.

See `delegates/xnnpack/indirection.py` for what they are. Only nodes with small tables get the
flag: in scratch the largest table counts, on the heap the sum, and small tables are many.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate

from onearena.candidates import Candidate
from onearena.delegates.xnnpack.indirection import with_transient_indirection
from onearena.delegates.xnnpack.work import POINTER_BYTES, POINTER_WORK
from onearena.delegates.xnnpack.workspace import pointer_tables
from onearena.drafts import Draft, method_work, opened_workspace
from onearena.opening import OpenedMethod
from onearena.options import Options, Pointers
from onearena.program import AnalysedMethod

MODELLED_SHARE = 0.02
"""Of a run's work: more than that is never spent on pointers by a model."""
_MOST_GROWTH = 1 / 32
"""So much may the workspace grow by, of what the method needs in all."""
_TRIES = 4


@dataclass(frozen=True)
class Moved:
    """A candidate with tables in scratch.

    Attributes:
        nodes: that make their tables in each run.
        heap_bytes: of their tables, which the heap holds no more.
        work: that making them takes, see `delegates/xnnpack/work.py`.
    """

    candidate: Candidate
    nodes: int
    heap_bytes: int
    work: int


@dataclass(frozen=True, order=True)
class _Table:
    """Pointers of one node of a delegate's payload."""

    size_bytes: int
    delegate: int
    node: int

    @property
    def work(self) -> int:
        return self.size_bytes // POINTER_BYTES * POINTER_WORK


def may_move_pointers(options: Options) -> bool:
    """Whether it is ours to decide which tables are in scratch."""
    return options.transient_indirection is Pointers.AUTO and options.open_delegates


def pointers_in_scratch(
    candidate: Candidate,
    method: AnalysedMethod,
    options: Options,
    most_bytes: int,
    *,
    measured: bool = False,
) -> Moved | None:
    """Moves as many tables as pays; None when that is none, or when options forbid it.

    Args:
        most_bytes: what the method may need in all.
        measured: what making tables costs will be measured: no model limits it. Otherwise they
            get what strips have left of `options.max_latency`, and never much.

    Raises:
        FormatError: a payload contradicts itself.
    """
    if not may_move_pointers(options):
        return None
    work = method_work(method)
    left = (options.max_latency - 1) * work - candidate.draft.more_work
    spare = math.inf if measured else min(MODELLED_SHARE * work, left)
    return _moved_within(candidate, method, spare, most_bytes)


def _moved_within(
    candidate: Candidate, method: AnalysedMethod, spare_work: float, most_bytes: int
) -> Moved | None:
    tables = sorted(_tables(candidate.draft.opened))
    total = candidate.footprint.total_bytes
    limit = candidate.footprint.workspace_bytes + int(total * _MOST_GROWTH)
    limit = min(limit, most_bytes - candidate.footprint.arena_bytes)
    sums = list(accumulate(table.size_bytes for table in tables))
    works = list(accumulate(table.work for table in tables))
    counts = [
        count
        for count in range(len(tables), 0, -1)
        if works[count - 1] <= spare_work
        and tables[count - 1].size_bytes <= limit
        # the last of equals
        and (count == len(tables) or tables[count].size_bytes > tables[count - 1].size_bytes)
    ]
    gains = {count: sums[count - 1] - tables[count - 1].size_bytes for count in counts}
    for count in sorted(counts, key=lambda count: -gains[count])[:_TRIES]:
        moved = _moved(candidate, method, tables[:count])
        grown = moved.footprint.workspace_bytes - candidate.footprint.workspace_bytes
        if moved.footprint.workspace_bytes <= limit and grown < sums[count - 1]:
            return Moved(moved, count, sums[count - 1], works[count - 1])
    return None


def _tables(opened: OpenedMethod) -> Iterator[_Table]:
    for delegate, payload in opened.payloads.items():
        for node, size_bytes in pointer_tables(payload.graph.source).items():
            yield _Table(size_bytes, delegate, node)


def _moved(candidate: Candidate, method: AnalysedMethod, tables: Sequence[_Table]) -> Candidate:
    draft = candidate.draft
    payloads = dict(draft.opened.payloads)
    for delegate in {table.delegate for table in tables}:
        nodes = frozenset(table.node for table in tables if table.delegate == delegate)
        graph, _ = with_transient_indirection(payloads[delegate].graph, "payload", nodes)
        payloads[delegate] = replace(payloads[delegate], graph=graph)
    opened = replace(draft.opened, payloads=payloads)
    workspace = opened_workspace(method, opened)
    changed: Draft = replace(draft, opened=opened, workspace_bytes=workspace)
    footprint = replace(candidate.footprint, workspace_bytes=workspace)
    return replace(candidate, draft=changed, footprint=footprint)
