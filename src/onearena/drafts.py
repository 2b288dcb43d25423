"""What a method could become, before it is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from onearena.delegates.xnnpack.graph import Graph, index_graph
from onearena.delegates.xnnpack.opening import prepare
from onearena.delegates.xnnpack.simplify_switches import (
    ALL_SIMPLIFICATIONS,
    NO_SIMPLIFICATIONS,
    Simplifications,
)
from onearena.delegates.xnnpack.strips import Region
from onearena.delegates.xnnpack.work import graph_work
from onearena.opening import OpenedMethod, called_delegates, open_method
from onearena.options import Options
from onearena.planners import lower_bound_bytes
from onearena.program import (
    AnalysedMethod,
    arena_bytes,
    boundaries,
    foreign_state,
    method_label,
    workspace_of,
)
from onearena.pte.container import PteFile
from onearena.schedule import rescheduled
from onearena.temp_planning import temp_region
from onearena.timeline.build import Timeline, build_timeline
from onearena.timeline.steps import MethodSteps, method_steps
from onearena.timeline.storage import Storage

Regions = Mapping[int, tuple[Region, ...]]
"""By delegate, what is run in strips."""


@dataclass(frozen=True)
class Draft:
    """A method that may be planned.

    Attributes:
        order: `order[new] = old` instruction; empty when none moved.
        bound_bytes: no plan of it is smaller.
        workspace_bytes: predicted.
        weights_bytes: of weights that delegates keep more than once, since they run in strips.
    """

    opened: OpenedMethod
    order: tuple[int, ...]
    timeline: Timeline
    bound_bytes: int
    workspace_bytes: int
    weights_bytes: int = 0

    @property
    def least_bytes(self) -> int:
        """No plan of it takes less in all."""
        return self.bound_bytes + self.workspace_bytes + self.weights_bytes


def simplifications(options: Options) -> Simplifications:
    """How payloads are simplified before they are opened."""
    passes = ALL_SIMPLIFICATIONS if options.simplify else NO_SIMPLIFICATIONS
    return replace(passes, transient_indirection=options.transient_indirection)


class Drafter:
    """Makes drafts of one method."""

    def __init__(
        self,
        file: PteFile,
        analysed: Mapping[int, AnalysedMethod],
        position: int,
        options: Options,
    ) -> None:
        """Prepares drafts of method `position` of a file."""
        self._method, self._options = analysed[position], options
        # methods that only return constants have no memory in which they could meet this one
        self._shared = any(
            arena_bytes(other.plan) for k, other in analysed.items() if k != position
        )
        self._reserved = foreign_state(analysed, position) if self._shared else ()
        self._label = method_label(file, self._method.plan)
        self._edges = boundaries(self._method.plan, self._method.payloads)
        self._normalised: dict[int, Graph] = {}
        self._switches = simplifications(options)

    def normalised(self, delegate: int) -> Graph:
        """The payload of a delegate that can be opened, as it is before that."""
        if delegate not in self._normalised:
            payload = self._method.payloads[delegate]
            assert payload.payload is not None
            graph = index_graph(payload.payload.graph, self._label)
            prepared, _ = prepare(graph, self._label, self._switches, payload.is_static)
            self._normalised[delegate] = prepared
        return self._normalised[delegate]

    @cached_property
    def spare_work(self) -> int:
        """What strips may compute more, all together: rows that two strips both need."""
        graphs = [p.graph for p in self._method.payloads.values() if p.graph is not None]
        share = self._options.max_latency - 1
        return int(share * sum(graph_work(graph) for graph in graphs))

    def closed(self) -> Draft:
        """The method as it is, with another plan."""
        method = self._method
        opened = OpenedMethod(method.plan, method.steps.calls, frozenset(), {}, 0, ())
        return self._draft(opened, (), method.steps)

    def opened(self, regions: Regions) -> list[Draft]:
        """The method with its delegates opened, in its order and in a better one.

        Args:
            regions: what delegates run in strips. A delegate that cannot run so stays closed;
                one whose arguments are where the program puts them only at run time runs whole.

        Raises:
            FormatError: a payload contradicts itself.
        """
        method, edges = self._method, self._edges
        opened = open_method(method.plan, method.payloads, self._label, regions, self._switches)
        known = method.steps.known_state
        steps = method_steps(opened.plan, opened.calls, self._label, edges, known)
        plain = self._draft(opened, (), steps)
        moving = _delegates_with_moving_parts(plain)
        if moving:
            return self.opened({k: found for k, found in regions.items() if k not in moving})
        if not self._options.reorder:
            return [plain]
        moved, order = rescheduled(opened, steps, plain.timeline.storage, self._label)
        if moved is opened:
            return [plain]
        shifted = {k: edges[old] for k, old in enumerate(order) if old in edges}
        edges = shifted if order else edges
        steps = method_steps(moved.plan, moved.calls, self._label, edges, known)
        return [plain, self._draft(moved, order, steps, plain.timeline.storage)]

    def _draft(
        self,
        opened: OpenedMethod,
        order: tuple[int, ...],
        steps: MethodSteps,
        storage: Storage | None = None,
    ) -> Draft:
        method = self._method
        temp = temp_region(method, opened.plan, self._options.target)
        in_place = self._options.in_place_kernels
        if steps is method.steps and not self._shared and temp is None and in_place:
            timeline = method.timeline
        else:
            reserved, shared = self._reserved, self._shared
            timeline = build_timeline(
                steps, opened.added, reserved, shared, storage, temp, in_place
            )
        bound = sum(lower_bound_bytes(timeline.problem, a) for a in timeline.problem.arenas)
        graphs = {k: p.graph.source for k, p in method.payloads.items() if p.graph is not None}
        graphs.update((k, p.graph.source) for k, p in opened.payloads.items())
        weights = sum(p.strips.weights_bytes for p in opened.payloads.values() if p.strips)
        workspace = workspace_of(opened.plan, graphs)
        return Draft(opened, order, timeline, bound, workspace, weights)


def _delegates_with_moving_parts(draft: Draft) -> frozenset[int]:
    """Delegates with a piece of a value that is a handle (`MoveCall`, `et_view`): its memory is
    another one's, and a piece of it would have to be moved along."""
    points = draft.timeline.storage.accesses.points_to
    delegates = called_delegates(draft.opened.plan)
    return frozenset(
        delegates[instruction]
        for instruction, call in draft.opened.calls.items()
        for piece in call.pieces.values()
        if points.get(call.whole_of(piece)) not in (None, {call.whole_of(piece)})
    )


def best_of(found: Sequence[Draft]) -> Draft:
    """The draft that promises the least memory."""
    return min(found, key=lambda draft: draft.least_bytes)
