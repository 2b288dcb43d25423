"""Makes a failing case smaller: fewer switches, fewer steps, fewer outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import fields, replace

import torch

from onearena.options import Options
from tests.cases.random_cases import Case, Variant
from tests.cases.random_graphs import Graph, Network


def shrunk(case: Case, fails: Callable[[Case], bool], limit: int = 120) -> Case:
    """A smaller case that still fails; `fails` is asked at most `limit` times."""
    tried = 0
    again = True
    while again:
        again = False
        for candidate in smaller(case):
            if tried >= limit:
                return case
            if not _is_sound(candidate):
                continue
            tried += 1
            if fails(candidate):
                case, again = candidate, True
                break
    return case


def _is_sound(case: Case) -> bool:
    try:
        with torch.no_grad():
            Network(case.graph)(*case.inputs)
    except (RuntimeError, ValueError, IndexError):
        return False
    return True


def smaller(case: Case) -> Iterator[Case]:
    """Cases that are simpler in one thing, what takes away most first."""
    yield from _more_usual(case)
    graph = case.graph
    for last in range(len(graph.inputs), len(graph.inputs) + len(graph.steps)):
        if len(graph.outputs) > 1 or graph.outputs != (last,):
            yield replace(case, graph=pruned(replace(graph, outputs=(last,))))
    for position in range(len(graph.outputs)):
        if len(graph.outputs) > 1:
            kept = graph.outputs[:position] + graph.outputs[position + 1 :]
            yield replace(case, graph=pruned(replace(graph, outputs=kept)))
    for number in reversed(range(len(graph.steps))):
        yield replace(case, graph=without(graph, number))


def _more_usual(case: Case) -> Iterator[Case]:
    """All switches as by default, then each; the same for how the program is exported."""
    options, variant = Options(), Variant()
    if case.options != options:
        yield replace(case, options=options)
    for member in fields(Options):
        usual = replace(case.options, **{member.name: getattr(options, member.name)})
        if usual not in (case.options, options):
            yield replace(case, options=usual)
    if case.variant != variant:
        yield replace(case, variant=variant)
    for member in fields(Variant):
        plain = replace(case.variant, **{member.name: getattr(variant, member.name)})
        if plain not in (case.variant, variant):
            yield replace(case, variant=plain)


def without(graph: Graph, number: int) -> Graph:
    """The graph without a step: its first operand takes its place."""
    value = len(graph.inputs) + number
    instead = graph.steps[number].operands[0]

    def moved(k: int) -> int:
        k = instead if k == value else k
        return k - 1 if k > value else k

    steps = [s for k, s in enumerate(graph.steps) if k != number]
    made = tuple(replace(s, operands=tuple(moved(k) for k in s.operands)) for s in steps)
    return pruned(replace(graph, steps=made, outputs=tuple(moved(k) for k in graph.outputs)))


def pruned(graph: Graph) -> Graph:
    """The graph without steps that no output depends on."""
    needed = set(graph.outputs)
    first = len(graph.inputs)
    for number in reversed(range(len(graph.steps))):
        if first + number in needed:
            needed.update(graph.steps[number].operands)
    kept = [k for k in range(len(graph.steps)) if first + k in needed]
    place = {first + k: first + position for position, k in enumerate(kept)}
    place.update({k: k for k in range(first)})
    steps = (graph.steps[k] for k in kept)
    return replace(
        graph,
        steps=tuple(replace(s, operands=tuple(place[k] for k in s.operands)) for s in steps),
        outputs=tuple(place[k] for k in graph.outputs),
    )
