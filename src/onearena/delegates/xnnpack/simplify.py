"""Passes over a payload that take out bytes and work nobody needs, and change no bit of its
results."""

from __future__ import annotations

from dataclasses import dataclass, fields

from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.simplify_chains import Saved, shorten_chains
from onearena.delegates.xnnpack.simplify_nodes import (
    drop_dead_nodes,
    flag_transposes,
    merge_pads,
    share_duplicates,
)
from onearena.delegates.xnnpack.simplify_switches import ALL_SIMPLIFICATIONS, Simplifications


@dataclass(frozen=True)
class Simplified:
    """How many nodes each pass took out."""

    dead_nodes: int = 0
    transposes: int = 0
    reshapes: int = 0
    duplicates: int = 0
    merged_pads: int = 0
    flagged_transposes: int = 0

    def __add__(self, other: Simplified) -> Simplified:
        """Both."""
        names = (member.name for member in fields(self))
        return Simplified(*(getattr(self, name) + getattr(other, name) for name in names))


def simplify(
    graph: Graph,
    what: str,
    switches: Simplifications = ALL_SIMPLIFICATIONS,
    is_static: bool = False,
) -> tuple[Graph, Simplified]:
    """Runs the passes.

    Args:
        is_static: shapes are at run time exactly what the payload declares.

    Raises:
        FormatError: the graph contradicts itself.
    """
    total = Simplified()
    while True:
        # one pass makes work for another; each has fewer transposes or nodes left than before
        graph, found = _round(graph, what, switches, is_static)
        if found == Simplified():
            return graph, total
        total += found


def _round(
    graph: Graph, what: str, switches: Simplifications, is_static: bool
) -> tuple[Graph, Simplified]:
    dead = pads = flagged = duplicates = 0
    saved = Saved()
    if switches.dead_nodes:
        graph, dead = drop_dead_nodes(graph, what)
    if switches.padding:
        graph, pads = merge_pads(graph, what)
    if switches.duplicates:
        graph, duplicates = share_duplicates(graph, what)
    if switches.layout_chains:
        graph, saved = shorten_chains(graph, is_static, what)
    if switches.transposed_operands:
        graph, flagged = flag_transposes(graph, what)
    return graph, Simplified(dead, saved.transposes, saved.reshapes, duplicates, pads, flagged)
