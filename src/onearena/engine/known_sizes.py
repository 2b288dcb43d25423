"""Sizes of a method's tensors at certain input shapes, known before anything runs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from onearena.errors import OnearenaError
from onearena.program import AnalysedMethod, analyse_method
from onearena.pte.reader import open_pte
from onearena.runtime.signature import select_plans
from onearena.shapes.live import live_sizes

Sizes = list[tuple[int, int, tuple[int, ...]]]
"""A value, its size in bytes, its sizes."""


class KnownSizes:
    """Derives a method's sizes from its program, which is analysed when it is first needed."""

    def __init__(self, path: str, method: str) -> None:
        self._path, self._name = path, method
        self._method: AnalysedMethod | None = None
        self._is_hopeless = False

    def of(self, given: Sequence[Any]) -> Callable[[], Sizes] | None:
        """What the native runtime asks when it has no plan for the shapes of these inputs.

        Args:
            given: the inputs as the native runtime takes them.
        """
        return None if self._is_hopeless else lambda: self._derive(given)

    def _derive(self, given: Sequence[Any]) -> Sizes:
        """The sizes that are known; none when the program refuses the shapes or cannot be read
        (the run itself will say what is wrong, or do without)."""
        shapes = {k: value[1] for k, value in enumerate(given) if isinstance(value, tuple)}
        try:
            if self._method is None:
                self._method = self._analyse()
            live = live_sizes(self._method, shapes)
        except OnearenaError:
            return []
        # a tensor that nothing ever touches may stay without a shape; views are touched
        storage = self._method.timeline.storage
        views = storage.accesses.points_to
        unused = {v: 0 for v in live.unknown if not storage.lifetimes.get(v) and not views.get(v)}
        if len(unused) < len(live.unknown):
            self._is_hopeless = True
            return []
        known = {**unused, **live.size_bytes}
        return [(value, size, live.dims.get(value, ())) for value, size in known.items()]

    def _analyse(self) -> AnalysedMethod:
        with open_pte(self._path) as file:
            (plan,) = select_plans(file.program, self._name, self._path)
            return analyse_method(file, plan)
