"""Reorders a list of operations so that less is alive at once. Knows nothing of programs.

Two moves, each only where it lowers the number of live bytes between the old and the new
place: an operation *sinks* to just before the first one that depends on it when its results
are larger than the operands it keeps alive, and it *rises* to just behind the last one it
depends on when the operands it frees are larger than its results.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

MAX_ROUNDS = 4


@dataclass(frozen=True)
class Operation:
    """One operation.

    Attributes:
        reads, writes: keys of what it touches; any two operations that share a key of which
            one writes keep their order.
        movable: False for operations that stay between their neighbours' places.
    """

    reads: frozenset[int]
    writes: frozenset[int]
    movable: bool = True


@dataclass(frozen=True)
class Sizes:
    """Bytes by key; keys without an entry cost nothing. `kept` stay alive to the end."""

    size_bytes: Mapping[int, int]
    kept: frozenset[int]

    def of(self, keys: frozenset[int]) -> int:
        """Total bytes of some keys."""
        return sum(self.size_bytes.get(key, 0) for key in keys)


def lower_live_bytes(operations: Sequence[Operation], sizes: Sizes) -> tuple[int, ...]:
    """A new order as positions in `operations`; dependences are respected."""
    order = list(range(len(operations)))
    for _ in range(MAX_ROUNDS):
        before = list(order)
        _sink_all(operations, sizes, order)
        _raise_all(operations, sizes, order)
        if order == before:
            break
    return tuple(order)


def _depends(first: Operation, second: Operation) -> bool:
    return bool(
        first.writes & second.reads or first.reads & second.writes or first.writes & second.writes
    )


def _last_use(operations: Sequence[Operation], order: Sequence[int]) -> dict[int, int]:
    last: dict[int, int] = {}
    for position, index in enumerate(order):
        for key in operations[index].reads | operations[index].writes:
            last[key] = position
    return last


def _sink_all(operations: Sequence[Operation], sizes: Sizes, order: list[int]) -> None:
    last = _last_use(operations, order)
    for position in range(len(order) - 2, -1, -1):
        operation = operations[order[position]]
        if not operation.movable:
            continue
        target = position
        while target + 1 < len(order) and not _depends(operation, operations[order[target + 1]]):
            target += 1
        if target == position:
            continue
        freed = sizes.of(operation.writes)
        held = {key for key in operation.reads - sizes.kept if last[key] < target}
        if freed > sizes.of(frozenset(held)):
            order.insert(target, order.pop(position))
            last = _last_use(operations, order)


def _raise_all(operations: Sequence[Operation], sizes: Sizes, order: list[int]) -> None:
    last = _last_use(operations, order)
    for position in range(1, len(order)):
        operation = operations[order[position]]
        if not operation.movable:
            continue
        target = position
        while target > 0 and not _depends(operations[order[target - 1]], operation):
            target -= 1
        if target == position:
            continue
        freed = {key for key in operation.reads - sizes.kept if last[key] == position}
        freed = {key for key in freed if _previous_use(operations, order, key, position) < target}
        if sizes.of(frozenset(freed)) > sizes.of(operation.writes):
            order.insert(target, order.pop(position))
            last = _last_use(operations, order)


def _previous_use(
    operations: Sequence[Operation], order: Sequence[int], key: int, position: int
) -> int:
    for earlier in range(position - 1, -1, -1):
        other = operations[order[earlier]]
        if key in other.reads or key in other.writes:
            return earlier
    return -1
