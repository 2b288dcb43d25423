"""Advice on programs with several methods: one arena for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onearena.advice.model import Advice, AdviceKind, Basis
from onearena.summary.model import MethodSummary

_MAX_NAMES = 8


def shared_arena_advice(methods: Sequence[MethodSummary]) -> Iterable[Advice]:
    """Counts arenas only: the workspace is shared anyway."""
    planned = [method for method in methods if method.arena_bytes]
    if len(planned) < 2:
        return
    largest: dict[int, int] = {}
    for method in planned:
        for arena in method.arenas:
            largest[arena.memory_id] = max(largest.get(arena.memory_id, 0), arena.size_bytes)
    yield Advice(
        AdviceKind.SHARE_ARENAS,
        None,
        "let the methods share their arenas",
        "give every method the same planned buffers, each as large as the largest method needs "
        "(Module's share_memory_arenas); methods must not run at the same time",
        Basis.AS_IS,
        sum(method.arena_bytes for method in planned),
        sum(largest.values()),
        (f"methods: {_names(planned)}",),
        ("counted are the arenas alone: the delegates' workspace is shared anyway",),
    )


def _names(methods: Sequence[MethodSummary]) -> str:
    names = [method.name for method in methods]
    more = len(names) - _MAX_NAMES
    return ", ".join(names[:_MAX_NAMES]) + (f" and {more} more" if more > 0 else "")
