"""The scheduler: which order of some operations has the least alive at its peak.

Knows nothing of programs. Memory is alive from the first operation that touches it to the last
one. The compiled core searches exactly while there are few sets of operations that can have run,
and else as well as it can; it counts states, not seconds, so its answer is always the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onearena import _core
from onearena.errors import PlanError


@dataclass(frozen=True)
class ScheduledMemory:
    """Memory that operations touch.

    Attributes:
        from_start: alive before the first operation.
        to_end: alive behind the last one.
    """

    size_bytes: int
    from_start: bool = False
    to_end: bool = False


@dataclass(frozen=True)
class ScheduledStep:
    """One instant of an operation.

    Attributes:
        touched: positions of memories.
        overlays: pairs of them, of one size: the second one may take the place of the first one
            if it is born here and the first one dies here.
    """

    touched: tuple[int, ...]
    overlays: tuple[tuple[int, int], ...] = ()


@dataclass(frozen=True)
class ScheduledOperation:
    """Steps that run one after another, with nothing between them.

    Attributes:
        block: operations of one block run one after another; None for one that is in no block.
    """

    steps: tuple[ScheduledStep, ...]
    block: int | None = None


@dataclass(frozen=True)
class ScheduleProblem:
    """What to put into an order.

    Attributes:
        operations: in an order that may be kept, each block in one piece.
        precedes: pairs of positions; the first one runs before the second one.
    """

    memories: tuple[ScheduledMemory, ...]
    operations: tuple[ScheduledOperation, ...]
    precedes: tuple[tuple[int, int], ...]


@dataclass(frozen=True)
class Schedule:
    """An order, as positions of the operations.

    Attributes:
        peak_bytes: the most that is alive at one step of it.
        bound_bytes: no order has a lower peak.
    """

    order: tuple[int, ...]
    peak_bytes: int
    bound_bytes: int

    @property
    def optimal(self) -> bool:
        """True when it is proven that no order has a lower peak."""
        return self.peak_bytes <= self.bound_bytes


def find_schedule(problem: ScheduleProblem) -> Schedule:
    """The best order found. Where peaks are equal, operations stay where they are.

    Raises:
        PlanError: the problem is malformed.
    """
    try:
        order, peak, bound, _ = _core.schedule(*_native(problem))
    except (_core.MalformedProblemError, TypeError) as error:
        raise PlanError(f"the scheduling problem is malformed: {_reason(error)}") from None
    return Schedule(tuple(order), peak, bound)


def peak_bytes(problem: ScheduleProblem, order: Sequence[int]) -> int:
    """The most that is alive at one step of an order.

    Raises:
        PlanError: the problem is malformed, or its operations may not run in this order.
    """
    try:
        return _core.peak_of(*_native(problem), list(order))
    except (_core.MalformedProblemError, TypeError) as error:
        raise PlanError(f"the scheduling problem is malformed: {_reason(error)}") from None


def _reason(error: Exception) -> str:
    if isinstance(error, TypeError):
        return "a number does not fit into its place"
    return str(error)


_NativeOperation = tuple[int, list[tuple[list[int], list[tuple[int, int]]]]]


def _native(
    problem: ScheduleProblem,
) -> tuple[list[tuple[int, bool, bool]], list[_NativeOperation], list[tuple[int, int]]]:
    return (
        [(m.size_bytes, m.from_start, m.to_end) for m in problem.memories],
        [
            (
                -1 if operation.block is None else operation.block,
                [(list(step.touched), list(step.overlays)) for step in operation.steps],
            )
            for operation in problem.operations
        ],
        list(problem.precedes),
    )
