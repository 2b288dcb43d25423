"""Which dimension of which input is responsible for the memory that a smaller shape saves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from onearena.errors import UsageError
from onearena.planners.native import DEFAULT_TIME_LIMIT_S
from onearena.program import AnalysedMethod
from onearena.results import Footprint
from onearena.shapes.inputs import tensor_inputs
from onearena.shapes.live import LiveShapes, live_sizes
from onearena.shapes.live_plan import PlannedAt, bound_footprint, file_footprint, plan_at
from onearena.shapes.rules.call import Cause, Dims, with_dim


@dataclass(frozen=True)
class Dimension:
    """A dimension of an input that is smaller than its bound."""

    input: int
    dim: int
    name: str
    bound: int
    live: int


@dataclass(frozen=True)
class DimensionEffect:
    """What is saved when these dimensions alone have their live sizes, all others their bounds.

    Attributes:
        dimensions: one, or several that the program does not let change apart.
        saved_bytes: arena and workspace together, against a plan made for exactly the bound.
            None when the program refuses the shapes, so that nothing can be said.
    """

    dimensions: tuple[Dimension, ...]
    saved_bytes: int | None


@dataclass(frozen=True)
class LiveFootprint:
    """Memory at certain input shapes, next to memory at the bound.

    Attributes:
        in_file: as the file is planned.
        bound: what one plan needs that serves every shape up to the bound.
        bound_exactly: what a plan for exactly the bound, as a static shape, would need.
        live: what a program exported and planned for exactly these shapes would need. XNNPACK
            sizes its workspace by the shapes that the payload declares, so the workspace of the
            program at hand stays that of its bound.
        by_dimension: the dimensions that differ from their bounds, what saves most first.
        unknown: by tensor value whose shape cannot be derived, where and why.
        notes: what the numbers rest on, where that is not certain.
        planned: the plan for these shapes, with all shapes and sizes.
    """

    in_file: Footprint
    bound: Footprint
    bound_exactly: Footprint
    live: Footprint
    by_dimension: tuple[DimensionEffect, ...]
    unknown: Mapping[int, Cause]
    notes: tuple[str, ...]
    planned: PlannedAt


def live_footprint(
    method: AnalysedMethod,
    shapes: Mapping[int, Dims],
    time_limit_s: float = DEFAULT_TIME_LIMIT_S,
) -> LiveFootprint:
    """Plans a method for certain input shapes, for its bound, and for each dimension alone.

    Args:
        shapes: by position among the method's inputs; inputs left out are at their bounds.
        time_limit_s: for each plan.

    Raises:
        UsageError: the program was not exported for these shapes, or refuses them.
        PlanError: the method cannot be planned.
    """
    live = plan_at(method, shapes, time_limit_s)
    bound = bound_footprint(method, time_limit_s)
    exact, notes = bound, live.notes
    try:
        exact = plan_at(method, {}, time_limit_s).footprint
    except UsageError as error:
        notes = (*notes, f"the program refuses its own bound, nothing is known of it: {error}")
    moved = _moved(live.live)
    effects = [_effect(method, group, exact, time_limit_s) for group in _groups(method, moved)]
    effects.sort(key=lambda effect: (effect.saved_bytes is None, -(effect.saved_bytes or 0)))
    return LiveFootprint(
        file_footprint(method),
        bound,
        exact,
        live.footprint,
        tuple(effects),
        live.live.unknown,
        notes,
        live,
    )


def _moved(live: LiveShapes) -> tuple[Dimension, ...]:
    """The dimensions that are below their bounds."""
    return tuple(
        Dimension(spec.position, axis, spec.name, bound, size)
        for spec in live.inputs
        for axis, (bound, size) in enumerate(
            zip(spec.bound, live.shapes[spec.position], strict=True)
        )
        if size != bound
    )


def _shapes(method: AnalysedMethod, group: Sequence[Dimension]) -> dict[int, Dims]:
    """The shapes of the inputs when only these dimensions are below their bounds."""
    shapes: dict[int, Dims] = {}
    for spec in tensor_inputs(method.plan):
        for dimension in group:
            if dimension.input == spec.position:
                dims = shapes.get(spec.position, spec.bound)
                shapes[spec.position] = with_dim(dims, dimension.dim, dimension.live)
    return shapes


def _is_accepted(method: AnalysedMethod, group: Sequence[Dimension]) -> bool:
    try:
        live_sizes(method, _shapes(method, group))
    except UsageError:
        return False
    return True


def _groups(method: AnalysedMethod, moved: Sequence[Dimension]) -> Iterator[tuple[Dimension, ...]]:
    """The dimensions one by one; those that cannot change alone, with others of the same bound
    that cannot either; what is left, all together."""
    tied = [dimension for dimension in moved if not _is_accepted(method, (dimension,))]
    yield from ((dimension,) for dimension in moved if dimension not in tied)
    left: list[Dimension] = []
    for bound in dict.fromkeys(dimension.bound for dimension in tied):
        group = tuple(dimension for dimension in tied if dimension.bound == bound)
        if _is_accepted(method, group):
            yield group
        else:
            left += group
    if left:
        yield tuple(left)


def _effect(
    method: AnalysedMethod, group: tuple[Dimension, ...], exact: Footprint, time_limit_s: float
) -> DimensionEffect:
    if not _is_accepted(method, group):
        return DimensionEffect(group, None)
    alone = plan_at(method, _shapes(method, group), time_limit_s).footprint
    return DimensionEffect(group, exact.total_bytes - alone.total_bytes)
