"""Programs with random parts in strips of rows, or in place, whether that pays or not."""

from __future__ import annotations

import random
from collections.abc import Mapping
from pathlib import Path

from onearena.candidates import solve
from onearena.delegates.xnnpack.graph import Graph
from onearena.delegates.xnnpack.rows import row_axis, row_count
from onearena.delegates.xnnpack.strips import Region, cut_into_strips
from onearena.drafts import Draft, Drafter, Regions
from onearena.errors import PlanError
from onearena.options import Options
from onearena.pipeline import write_planned
from onearena.program import AnalysedMethod, analyse_method
from onearena.pte.container import PteFile
from onearena.pte.reader import open_pte

_ATTEMPTS = 30
OPTIONS = Options(time_limit_s=0.05)


def force_strips(source: Path, target: Path, rng: random.Random, options: Options = OPTIONS) -> int:
    """Writes `source` to `target` with random regions of its first method in strips; what is
    concatenated or sliced lies in place, too, if `options` allow it.

    Args:
        options: how it is simplified, opened and planned.

    Returns:
        The number of values inside others; 0, and nothing written, when nothing can be done.
    """
    with open_pte(source) as file:
        plans = file.program.execution_plan or ()
        analysed = {k: analyse_method(file, plan) for k, plan in enumerate(plans)}
        draft = _draft(file, analysed, rng, options)
        if draft is None:
            return 0
        try:
            candidate = solve(analysed[0], draft, options)
        except PlanError:
            return 0  # something pinned lies in the way
        write_planned(file, target, analysed, {0: candidate}, options)
        return len(draft.opened.pieces) + len(draft.parts)


def _draft(
    file: PteFile,
    analysed: Mapping[int, AnalysedMethod],
    rng: random.Random,
    options: Options,
) -> Draft | None:
    maker = Drafter(file, analysed, 0, options)
    if options.join_in_place:
        maker = maker.joining()
    delegates = sorted(maker.opened({})[0].opened.payloads)
    regions: dict[int, tuple[Region, ...]] = {}
    for delegate in delegates:
        found = random_regions(maker.normalised(delegate), rng)
        if found and _is_possible(maker, {delegate: found}):
            regions[delegate] = found
    draft = rng.choice(maker.opened(regions if rng.random() < 0.7 else {}))
    return draft if draft.opened.pieces or draft.parts else None


def _is_possible(maker: Drafter, regions: Regions) -> bool:
    """Whether the payload as a whole may run so: it is called once, with planned arguments."""
    opened = maker.opened(regions)[0].opened
    return all(delegate in opened.payloads for delegate in regions)


def random_regions(graph: Graph, rng: random.Random) -> tuple[Region, ...]:
    """Some regions of a payload that can run in strips."""
    inner = [v.id for v in graph.values.values() if v.is_internal and row_axis(v) is not None]
    found: tuple[Region, ...] = ()
    for _ in range(_ATTEMPTS if inner else 0):
        inside = _grown(graph, {rng.choice(inner)}, inner, rng)
        rows = max(row_count(graph.values[value]) for value in inside)
        if rows < 2:
            continue
        region = Region(inside, rng.randint(2, min(rows, 6)))
        if cut_into_strips(graph, (*found, region), "") is not None:
            found = (*found, region)
        if len(found) == 3:
            break
    return found


def _grown(graph: Graph, inside: set[int], inner: list[int], rng: random.Random) -> frozenset[int]:
    for _ in range(rng.choice([0, 0, 1, 2, 3, 6])):
        around = {
            other
            for node in graph.nodes
            if inside.intersection((*node.inputs, *node.outputs))
            for other in (*node.inputs, *node.outputs)
            if other in inner and other not in inside
        }
        if not around:
            break
        inside.add(rng.choice(sorted(around)))
    return frozenset(inside)
