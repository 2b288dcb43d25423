"""Which parts of a method's delegate calls to run in strips.

A hill climb from the peak: an activation of a call that is alive where most is alive grows into
a region, value by value over its largest neighbours. Each of these regions is tried with several
numbers of strips: an estimate of the call alone picks some of them, which are drafted in full.
The best is kept when it lowers what the method needs, and the search goes on from the new peak.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

from onearena.delegates.xnnpack.graph import Graph, Node
from onearena.delegates.xnnpack.opening import OpenedPayload
from onearena.delegates.xnnpack.rows import Rows, row_axis, row_count, strip_node
from onearena.delegates.xnnpack.strip_estimate import live_bytes as live_in_call
from onearena.delegates.xnnpack.strips import Region, Strips, cut_into_strips, cut_region
from onearena.drafts import Draft, Drafter, Regions, best_of
from onearena.payloads import called_delegates
from onearena.peak import soft_peak, values_at_peak

_COUNTS = (2, 3, 4, 6, 8, 12, 16, 24)
_MAX_ROUNDS = 40
_MAX_GROWTH = 16
_PLACES = 12
"""So many activations at the peak are tried as seeds."""
_DRAFTED = 3
"""So many of the estimated regions are drafted in full."""
_GAIN = 0.998
"""What a round must bring at least, in relation to before."""
_MOST_LOSS = 1.01
"""A round that lowers one of several equal peaks may cost this much at the others."""
_SMALL = 1 / 32
"""Neighbours that are smaller than this share of the seed are not grown over."""


@dataclass(frozen=True)
class _Trial:
    """A region to try.

    Attributes:
        place: the delegate, and the activation at the peak that the region has grown from.
        absorbed: regions of before that are part of it.
        peak_bytes: what the call's own peak changes by; below 0 is good.
        gain_bytes: the same, with the weights that it takes.
    """

    place: tuple[int, int]
    region: Region
    absorbed: tuple[Region, ...]
    peak_bytes: float
    gain_bytes: float

    def added_to(self, regions: Regions) -> Regions:
        """The regions with this one."""
        delegate = self.place[0]
        rest = (r for r in regions.get(delegate, ()) if r not in self.absorbed)
        return {**regions, delegate: (*rest, self.region)}


def strip_drafts(maker: Drafter, start: Draft) -> list[Draft]:
    """Drafts with parts in strips, each better than the one before and than `start`.

    Raises:
        FormatError: a payload contradicts itself.
    """
    return list(_Search(maker, start).run())


class _Search:
    def __init__(self, maker: Drafter, start: Draft) -> None:
        self._maker, self._start = maker, start
        self._payloads: Mapping[int, OpenedPayload] = start.opened.payloads
        self._is_row_wise = cache(self._row_wise)
        self._cut = cache(self._cut_anew)
        self._most = maker.spare_work
        self._drafted: set[tuple[tuple[int, tuple[Region, ...]], ...]] = set()

    def run(self) -> Iterator[Draft]:
        best: Draft = self._start
        regions: Regions = {}
        for _ in range(_MAX_ROUNDS):
            step = self._round(best, regions)
            if step is None:
                return
            regions, best = step
            yield best

    def _round(self, now: Draft, regions: Regions) -> tuple[Regions, Draft] | None:
        trials = sorted(self._trials(now, regions), key=lambda trial: trial.gain_bytes)
        choices = [trial.added_to(regions) for trial in trials[:_DRAFTED]]
        choices.append(self._together(trials, regions))
        limit = now.search_bytes * _GAIN
        best: tuple[Regions, Draft] | None = None
        for changed in choices:
            key = tuple(sorted(changed.items(), key=lambda item: item[0]))
            if key in self._drafted:
                continue
            self._drafted.add(key)
            draft = best_of(self._maker.opened(changed))
            if draft.more_work > self._most:
                continue
            cost = draft.search_bytes
            if cost < limit and draft.least_bytes <= now.least_bytes * _MOST_LOSS:
                limit, best = cost, (changed, draft)
        return best

    def _together(self, trials: Sequence[_Trial], regions: Regions) -> Regions:
        """The best trial of every place at the peak: equal peaks fall only together.

        Args:
            trials: the best first.
        """
        changed, done = regions, list[_Trial]()
        for trial in trials:
            delegate = trial.place[0]
            others = [other for other in done if other.place[0] == delegate]
            if trial.peak_bytes >= 0 or any(
                other.place == trial.place
                or set(other.absorbed).intersection(trial.absorbed)
                or self._touch(delegate, other.region.inside, trial.region.inside)
                for other in others
            ):
                continue
            done.append(trial)
            changed = trial.added_to(changed)
        return changed

    # -- what to try ----------------------------------------------------------------------

    def _trials(self, now: Draft, regions: Regions) -> Iterator[_Trial]:
        seen: set[tuple[int, frozenset[int]]] = set()
        for place in self._places(now):
            delegate, seed = place
            own = regions.get(delegate, ())
            before = self._cut(delegate, own)
            assert before is not None
            for inside in self._growing(delegate, seed):
                merged = tuple(r for r in own if self._touch(delegate, r.inside, inside))
                whole = frozenset(inside.union(*(r.inside for r in merged)))
                if (delegate, whole) not in seen:
                    seen.add((delegate, whole))
                    yield from self._counted(place, own, merged, whole, before)

    def _counted(
        self,
        place: tuple[int, int],
        own: tuple[Region, ...],
        merged: tuple[Region, ...],
        whole: frozenset[int],
        before: Strips,
    ) -> Iterator[_Trial]:
        """Trials of one region with more and more strips."""
        peak_before = _peak_bytes(before)
        rest = self._cut(place[0], tuple(r for r in own if r not in merged))
        for count in self._counts(place[0], whole):
            region = Region(whole, count)
            strips = rest and cut_region(rest, region, "")
            if strips is None or strips.work > self._most:
                return  # more strips compute more rows twice
            if region not in own:
                peak = _peak_bytes(strips) - peak_before
                gain = peak + strips.weights_bytes - before.weights_bytes
                yield _Trial(place, region, merged, peak, gain)

    def _places(self, now: Draft) -> Iterator[tuple[int, int]]:
        """Seeds: activations of calls at the peak, by delegate and value of its payload as it is
        without strips."""
        found: dict[tuple[int, int], None] = {}
        names: dict[int, list[tuple[int, int]]] = {}
        delegates = called_delegates(now.opened.plan)
        for instruction, call in now.opened.calls.items():
            delegate = delegates[instruction]
            for position, identifier in call.graph.externals.items():
                names.setdefault(call.args[position], []).append((delegate, identifier))
        for value in values_at_peak(now.timeline):
            for delegate, identifier in names.get(value, ()):
                payload = now.opened.payloads.get(delegate)
                if payload is not None and payload.strips is not None:
                    identifier = payload.strips.parts.get(identifier, (identifier, None))[0]
                if self._can_be_inside(delegate, identifier):
                    found[delegate, identifier] = None
        return iter(list(found)[:_PLACES])

    def _growing(self, delegate: int, seed: int) -> Iterator[frozenset[int]]:
        graph = self._payloads[delegate].graph
        least = (graph.values[seed].size_bytes or 0) * _SMALL
        inside = {seed}
        for _ in range(_MAX_GROWTH):
            yield frozenset(inside)
            around = {
                v
                for node in _nodes_of(graph, inside)
                for v in (*graph.activations(node), *node.outputs)
                if v not in inside and self._can_be_inside(delegate, v)
            }
            largest = max(around, key=lambda v: (graph.values[v].size_bytes or 0, -v), default=None)
            if largest is None or (graph.values[largest].size_bytes or 0) < least:
                return
            inside.add(largest)

    def _counts(self, delegate: int, inside: frozenset[int]) -> Iterable[int]:
        graph = self._payloads[delegate].graph
        rows = max((row_count(graph.values[v]) for v in inside if v in graph.values), default=0)
        return [count for count in _COUNTS if count * 2 <= rows]

    def _cut_anew(self, delegate: int, regions: tuple[Region, ...]) -> Strips | None:
        return cut_into_strips(self._maker.normalised(delegate), regions, "")

    # -- what can be tried ----------------------------------------------------------------

    def _can_be_inside(self, delegate: int, value: int) -> bool:
        payload = self._payloads.get(delegate)
        if payload is None or value not in payload.opened:
            return False
        graph = payload.graph
        if row_axis(graph.values[value]) is None or value not in graph.producer:
            return False
        nodes = (graph.producer[value], *graph.consumers.get(value, ()))
        return all(self._is_row_wise(delegate, node.index) for node in nodes)

    def _row_wise(self, delegate: int, node: int) -> bool:
        graph = self._payloads[delegate].graph
        return strip_node(graph, graph.nodes[node], Rows(0, 1)) is not None

    def _touch(self, delegate: int, first: frozenset[int], second: Iterable[int]) -> bool:
        graph = self._payloads[delegate].graph
        nodes = {node.index for node in _nodes_of(graph, first)}
        return any(node.index in nodes for node in _nodes_of(graph, second))


def _peak_bytes(strips: Strips) -> float:
    return soft_peak(live_in_call(strips))


def _nodes_of(graph: Graph, values: Iterable[int]) -> Iterator[Node]:
    """The nodes that write or read some values."""
    for value in values:
        if value in graph.producer:
            yield graph.producer[value]
        yield from graph.consumers.get(value, ())
