"""Opening a payload: inner activations become outputs of the delegate call.

An internal value becomes an external output when it gets an `external_id`, the output flag
and a place in `output_ids`, `num_externs` grows, and a tensor is appended to the arguments
of the call. The stock delegate then writes it where that tensor lives, in the arena.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from onearena.delegates.xnnpack.arguments import as_arguments
from onearena.delegates.xnnpack.commute import transposes_before_concatenations
from onearena.delegates.xnnpack.graph import Graph, index_graph
from onearena.delegates.xnnpack.indirection import with_transient_indirection
from onearena.delegates.xnnpack.joins import Joined, PayloadJoins, join_in_place
from onearena.delegates.xnnpack.normalise import Normalisation, normalise
from onearena.delegates.xnnpack.rules import Link, closed_reason, kept_internal
from onearena.delegates.xnnpack.schema import MAX_EXTERNALS, XNNGraph
from onearena.delegates.xnnpack.shapes import Dims, values_of_other_shape
from onearena.delegates.xnnpack.simplify_switches import ALL_SIMPLIFICATIONS, Simplifications
from onearena.delegates.xnnpack.strips import Piece, Region, Strips, cut_into_strips

Prepared = tuple[Graph, Normalisation]
"""A payload as it is opened, and how it was normalised."""


@dataclass(frozen=True)
class OpenedPayload:
    """A payload after opening, with what its lifetimes need.

    Attributes:
        graph: the rewritten graph, indexed.
        opened: ids of the values that became arguments, in argument order.
        kept: the activations that stay in XNNPACK's workspace, each with the reason.
        changes: how the graph was normalised before it was opened.
        pieces: opened values that name bytes inside another argument, by id.
        strips: what running parts of the payload in strips costs; None when nothing does.
        joined: what nodes wrote that are gone, since their results lie where their operands do.
        in_parts: arguments that no node writes as a whole.
    """

    graph: Graph
    opened: tuple[int, ...]
    kept: Mapping[int, Link]
    changes: Normalisation
    pieces: Mapping[int, Piece] = field(default_factory=dict)
    strips: Strips | None = None
    joined: tuple[int, ...] = ()
    in_parts: frozenset[int] = frozenset()


def open_payload(
    source: XNNGraph,
    what: str,
    calls: Sequence[Mapping[int, Dims]] = (),
    regions: Sequence[Region] = (),
    switches: Simplifications = ALL_SIMPLIFICATIONS,
    is_static: bool = False,
    joins: PayloadJoins | None = None,
    prepared: Prepared | str | None = None,
) -> OpenedPayload | str:
    """Opens every value that can be opened; returns the reason when none may be.

    Args:
        calls: for each call of the payload, by external id the shape of the argument in
            storage order. Values that would get another shape than declared stay internal.
        regions: what to run in strips, in values of the normalised payload.
        joins: what may lie inside other values; None for nothing but strips.
        prepared: what :func:`prepare_payload` made of it, when that is known already.

    Raises:
        FormatError: the graph contradicts itself.
    """
    if prepared is None:
        prepared = prepare_payload(index_graph(source, what), what, switches, is_static)
    if isinstance(prepared, str):
        return prepared
    split, changes = prepared
    strips = cut_into_strips(split, regions, what)
    if strips is None:
        return "it cannot be run in these strips"
    in_place = Joined(strips) if joins is None else join_in_place(strips, what, joins)
    first, split, made = split.source.num_externs, in_place.strips.graph, in_place.strips
    kept = dict(kept_internal(split))
    other = {v for dims in calls for v in values_of_other_shape(split, dims)}
    if other.intersection((*made.outside, *made.pieces)):
        return "shapes are not as it declares them"
    for value in other:
        if split.values[value].is_internal and value in split.producer:
            kept.setdefault(value, Link.SHAPE)
    candidates = [
        value
        for node in split.nodes
        for value in node.outputs
        if split.values[value].is_internal and value not in kept
    ]
    room = MAX_EXTERNALS - split.source.num_externs
    if room < 0:
        return "the delegate takes no more arguments"
    if len(candidates) > room:
        largest = sorted(candidates, key=lambda v: -(split.values[v].size_bytes or 0))[:room]
        kept.update((v, Link.LIMIT) for v in candidates if v not in set(largest))
        candidates = [v for v in candidates if v not in kept]
    graph = index_graph(as_arguments(split.source, candidates), what)
    opened = tuple(graph.externals[k] for k in range(first, graph.source.num_externs))
    return OpenedPayload(
        graph,
        opened,
        kept,
        changes,
        made.pieces,
        strips if regions else None,
        in_place.gone,
        frozenset(value for value, in_parts in made.outside.items() if in_parts),
    )


def prepare_payload(
    graph: Graph, what: str, switches: Simplifications, is_static: bool
) -> Prepared | str:
    """A payload as :func:`prepare` gives it; the reason when nothing inside it may be opened.

    Raises:
        FormatError: the graph contradicts itself.
    """
    reason = closed_reason(graph) or _bad_externals(graph)
    return reason if reason is not None else prepare(graph, what, switches, is_static)


def prepare(
    graph: Graph,
    what: str,
    switches: Simplifications = ALL_SIMPLIFICATIONS,
    is_static: bool = False,
) -> Prepared:
    """A payload as it is opened, and how it was normalised.

    Raises:
        FormatError: the graph contradicts itself.
    """
    graph, changes = normalise(graph, what, switches, is_static)
    if switches.layout_chains:
        graph, _ = transposes_before_concatenations(graph, what)
    if switches.transient_indirection:
        graph, _ = with_transient_indirection(graph, what)
    return graph, changes


def _bad_externals(graph: Graph) -> str | None:
    positions = sorted(v.tensor.external_id for v in graph.values.values() if v.is_external)
    if len(positions) != graph.source.num_externs or positions != list(range(len(positions))):
        return "arguments that are numbered with gaps"
    return None
