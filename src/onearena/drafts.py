"""What a method could become, before it is planned."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.simplify_switches import (
    ALL_SIMPLIFICATIONS,
    NO_SIMPLIFICATIONS,
    Simplifications,
)
from onearena.delegates.xnnpack.strips import Region
from onearena.delegates.xnnpack.work import graph_work
from onearena.elision import Part
from onearena.opening import MethodJoins, OpenedMethod, open_method
from onearena.options import Options, Pointers
from onearena.payloads import called_delegates
from onearena.peak import live_bytes, soft_peak
from onearena.planners import lower_bound_bytes
from onearena.program import (
    AnalysedMethod,
    arena_bytes,
    boundaries,
    foreign_state,
    method_label,
    with_repeats,
    without_copies,
    workspace_of,
)
from onearena.pte.container import PteFile
from onearena.repetition import Repeat
from onearena.schedule import Rescheduled, find_order, rescheduled
from onearena.temp_planning import temp_region
from onearena.timeline.build import Timeline, build_timeline
from onearena.timeline.steps import Boundary, MethodSteps, method_steps
from onearena.timeline.storage import Storage

Regions = Mapping[int, tuple[Region, ...]]
"""By delegate, what is run in strips."""

_CLOSE = 1.01
"""An order with at most so much more than the bound on all orders is good: bounds on plans count
what is lost to alignment."""


@dataclass(frozen=True)
class Draft:
    """A method that may be planned.

    Attributes:
        order: `order[new] = old` instruction; empty when none moved or went.
        bound_bytes: no plan of it is smaller.
        workspace_bytes: predicted.
        weights_bytes: of weights that delegates keep more than once, since they run in strips.
        parts: values of the method that lie inside each other, since kernels that would copy
            them are left out.
        moved: `moved[new] = old` instruction of the form that it was drafted from; empty when
            none moved.
        regions: what runs in strips.
        repeat_work: what kernels compute that run once more.
        order_bound_bytes: no order has less alive at its peak; None when none was looked for.
    """

    opened: OpenedMethod
    order: tuple[int, ...]
    timeline: Timeline
    bound_bytes: int
    workspace_bytes: int
    weights_bytes: int = 0
    parts: tuple[Part, ...] = ()
    moved: tuple[int, ...] = ()
    regions: Regions = field(default_factory=dict)
    repeat_work: int = 0
    order_bound_bytes: int | None = None

    @property
    def more_work(self) -> int:
        """What is computed more than once: by strips, and by kernels that run once more."""
        payloads = self.opened.payloads.values()
        return self.repeat_work + sum(p.strips.work for p in payloads if p.strips)

    @property
    def search_bytes(self) -> float:
        """What a search is to lower: as `least_bytes`, but how many steps are near the peak counts
        as well."""
        peak = soft_peak(live_bytes(self.timeline))
        return peak + self.workspace_bytes + self.weights_bytes

    @property
    def least_bytes(self) -> int:
        """No plan of it takes less in all."""
        return self.bound_bytes + self.workspace_bytes + self.weights_bytes


def simplifications(options: Options) -> Simplifications:
    """How payloads are simplified before they are opened."""
    passes = ALL_SIMPLIFICATIONS if options.simplify else NO_SIMPLIFICATIONS
    is_on = options.transient_indirection is Pointers.ON
    return replace(passes, transient_indirection=is_on)


@dataclass(frozen=True)
class Form:
    """A method as drafts start from it.

    Attributes:
        order: by instruction, its number in the file; empty when it has those of the file.
        parts: see :class:`Draft`.
        joins: results inside calls lie where their operands do, wherever that is possible.
    """

    method: AnalysedMethod
    order: tuple[int, ...] = ()
    parts: tuple[Part, ...] = ()
    joins: bool = False

    def composed(self, order: tuple[int, ...]) -> tuple[int, ...]:
        """The numbers in the file of an order of this form's instructions; empty is as it is."""
        return tuple(self.order[k] for k in order) if self.order and order else order or self.order


class Drafter:
    """Makes drafts of one method."""

    def __init__(
        self,
        file: PteFile,
        analysed: Mapping[int, AnalysedMethod],
        position: int,
        options: Options,
        form: Form | None = None,
    ) -> None:
        """Prepares drafts of method `position` of a file.

        Args:
            form: the method with other instructions; by default it is as it stands.
        """
        self._given = (file, analysed, position, options)
        self.form = form or Form(analysed[position])
        self.method, self._options = self.form.method, options
        # methods that only return constants have no memory in which they could meet this one
        self._shared = any(
            arena_bytes(other.plan) for k, other in analysed.items() if k != position
        )
        self._reserved = foreign_state(analysed, position) if self._shared else ()
        self._label = method_label(file, self.method.plan)
        self._edges = boundaries(self.method.plan, self.method.payloads)
        self._switches = simplifications(options)
        self._fixed = _fixed_values(self.method.timeline.storage)

    def joining(self) -> Drafter:
        """One for the same method whose drafts let results lie where their operands do."""
        form = replace(self.form, joins=True)
        found = None if self.method.temp else without_copies(self.method)
        if found is not None:
            form = replace(form, method=found[0], order=found[1].order, parts=found[1].parts)
        return Drafter(*self._given, form)

    def repeating(self, repeats: Sequence[Repeat]) -> Drafter | None:
        """One for the same method with some kernels once more; None when that cannot be."""
        found = None if self.method.temp else with_repeats(self.method, repeats)
        if found is None:
            return None
        order = self.form.composed(found[1].order)
        return Drafter(*self._given, replace(self.form, method=found[0], order=order))

    def normalised(self, delegate: int) -> Graph:
        """The payload of a delegate that can be opened, as it is before that."""
        prepared = self.method.payloads[delegate].prepared(self._switches, self._label)
        assert not isinstance(prepared, str)
        return prepared[0]

    @cached_property
    def spare_work(self) -> int:
        """What strips may compute more, all together: rows that two strips both need."""
        return int((self._options.max_latency - 1) * method_work(self.method))

    def more_work(self, kernels: int) -> int:
        """What strips, and kernels that run once more, may compute more together, when kernels
        count that much for all that they make."""
        return self.spare_work + int((self._options.max_latency - 1) * kernels)

    def closed(self) -> Draft:
        """The method as it is, with another plan."""
        method = self.method
        opened = OpenedMethod(method.plan, method.steps.calls, frozenset(), {}, 0, ())
        return self._draft(opened, (), method.steps)

    def opened(self, regions: Regions, whole: frozenset[int] = frozenset()) -> list[Draft]:
        """The method with its delegates opened, in its order and in a better one.

        Args:
            regions: what delegates run in strips. A delegate that cannot run so stays closed;
                one whose arguments are where the program puts them only at run time runs whole.
            whole: delegates whose values have no parts.

        Raises:
            FormatError: a payload contradicts itself.
        """
        method, edges = self.method, self._edges
        regions = {k: found for k, found in regions.items() if k not in whole}
        joins = MethodJoins(self._fixed, without=whole) if self.form.joins else None
        opened = open_method(
            method.plan, method.payloads, self._label, regions, self._switches, joins
        )
        steps = self._steps(opened, edges)
        plain = self._draft(opened, (), steps, regions=regions)
        moving = _delegates_with_moving_parts(plain)
        if moving:
            return self.opened(regions, whole | moving)
        if not self._options.reorder:
            return [plain]
        storage, in_place = plain.timeline.storage, self._options.in_place_kernels
        best, schedule = find_order(opened, plain.timeline, in_place, self._label)
        found = [plain, *self._moved(best, storage, regions)]
        is_modelled = not steps.remade  # the scheduler knows no memory that is free in between
        if not is_modelled or found[-1].bound_bytes > schedule.bound_bytes * _CLOSE:
            # not proven, or not as the scheduler thought: the simple way may be better
            simple = rescheduled(opened, steps, storage, self._label)
            found += self._moved(simple, storage, regions)
        bound = schedule.bound_bytes if is_modelled else None
        return [replace(draft, order_bound_bytes=bound) for draft in found]

    def _moved(self, moved: Rescheduled | None, storage: Storage, regions: Regions) -> list[Draft]:
        """A draft of a method in another order; none when nothing moved.

        Args:
            storage: what was found in the order before.
            regions: what runs in strips.
        """
        if moved is None:
            return []
        opened, order, edges = moved.opened, moved.order, self._edges
        shifted = {k: edges[old] for k, old in enumerate(order) if old in edges}
        steps = self._steps(opened, shifted if order else edges)
        return [self._draft(opened, order, steps, storage, regions)]

    def _steps(self, opened: OpenedMethod, edges: Mapping[int, Boundary]) -> MethodSteps:
        known = self.method.steps
        state = known.known_state
        steps = method_steps(opened.plan, opened.calls, self._label, edges, state)
        return replace(steps, sources=known.sources, remade=known.remade)

    def _draft(
        self,
        opened: OpenedMethod,
        order: tuple[int, ...],
        steps: MethodSteps,
        storage: Storage | None = None,
        regions: Regions | None = None,
    ) -> Draft:
        method = self.method
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
        weights = sum(p.strips.weights_bytes for p in opened.payloads.values() if p.strips)
        workspace = opened_workspace(method, opened)
        return Draft(
            opened,
            self.form.composed(order),
            timeline,
            bound,
            workspace,
            weights,
            self.form.parts,
            order,
            regions or {},
        )


def opened_workspace(method: AnalysedMethod, opened: OpenedMethod) -> int:
    """Predicted workspace of a method some of whose delegates are opened, in bytes."""
    graphs = {k: p.graph.source for k, p in method.payloads.items() if p.graph is not None}
    graphs.update((k, p.graph.source) for k, p in opened.payloads.items())
    return workspace_of(opened.plan, graphs)


def method_work(method: AnalysedMethod) -> int:
    """What the XNNPACK calls of a method compute, see `delegates/xnnpack/work.py`."""
    graphs = (payload.graph for payload in method.payloads.values())
    return sum(graph_work(graph) for graph in graphs if graph is not None)


def _fixed_values(storage: Storage) -> frozenset[int]:
    """Values of a method that can have no parts: somebody else has their memory, too."""
    points = storage.accesses.points_to
    elsewhere = {v for v, targets in points.items() if targets != frozenset((v,))}
    grouped = {value for group in storage.groups for value in group}
    return frozenset(elsewhere | grouped | storage.state | storage.pinned.keys())


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
