"""When a value's bytes are not needed any more, by the analysis that plans are made with."""

from __future__ import annotations

from collections.abc import Mapping

from onearena.lifetime import Lifetime, merge
from onearena.simulator.memory import Memory
from onearena.simulator.names import MemoryNames
from onearena.timeline.steps import MethodSteps
from onearena.timeline.storage import Storage


class Expiry:
    """Takes the bytes of values away when their lifetime ends, so that a lifetime that is too
    short shows. Values that are names of one memory go together."""

    def __init__(self, method: MethodSteps, storage: Storage, names: MemoryNames) -> None:
        """Keeps out of it: state, what is pinned, and names that no instruction fills."""
        self._method = method
        lifetimes = _shared_lifetimes(storage)
        lasting = storage.state | storage.pinned.keys() | names.persistent
        self._lifetimes = {v: lifetimes[v] for v in names.places if v not in lasting}
        self._ends: dict[int, list[int]] = {}
        for value, lifetime in self._lifetimes.items():
            for interval in lifetime:
                self._ends.setdefault(interval.end, []).append(value)

    def between(self, memory: Memory, before: int, after: int) -> None:
        """Called when instruction `before` is done and `after` comes next; -1 stands for the
        inputs, the count of instructions for the outputs."""
        first = self._method.first_step
        now, then = (first[before] if before >= 0 else 0), first[after]
        if then == now + 1:
            ended = self._ends.get(then, [])
        else:
            ended = [v for v, life in self._lifetimes.items() if _at(life, now)]
        for value in ended:
            if not _at(self._lifetimes[value], then):
                memory.expire(value, before)

    def after(self, memory: Memory, count: int) -> None:
        """The run is over: only state is left."""
        for value in self._lifetimes:
            memory.expire(value, count)


def _at(lifetime: Lifetime, step: int) -> bool:
    return any(interval.start <= step < interval.end for interval in lifetime)


def _shared_lifetimes(storage: Storage) -> Mapping[int, Lifetime]:
    """By value, when any value of its group is alive."""
    result = dict(storage.lifetimes)
    for group in storage.groups:
        together = merge(interval for value in group for interval in storage.lifetimes[value])
        result.update((value, together) for value in group)
    return result
