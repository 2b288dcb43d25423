"""Advice on programs with dynamic shapes: what the bound costs at a shape that is really used."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onearena.advice.model import Advice, AdviceKind, Basis
from onearena.errors import PlanError, UsageError
from onearena.program import AnalysedMethod
from onearena.shapes.effects import Dimension, DimensionEffect, LiveFootprint, live_footprint
from onearena.shapes.inputs import parse_shapes, tensor_inputs


def at_shape(
    method: AnalysedMethod, texts: Sequence[str], time_limit_s: float
) -> LiveFootprint | None:
    """The method's memory at the shapes that are written; None when it cannot be planned.

    Raises:
        UsageError: they are no shapes of this method's inputs.
    """
    if not texts:
        return None
    try:
        shapes = parse_shapes(texts, tensor_inputs(method.plan))
    except UsageError as error:
        raise UsageError(f"{method.steps.what}: {error}") from None
    try:
        return live_footprint(method, shapes, time_limit_s)
    except PlanError:
        return None


def dynamic_advice(method: AnalysedMethod, found: LiveFootprint | None) -> Iterable[Advice]:
    """One advice for each dimension, or dimensions that are tied, that the bound makes large."""
    for effect in found.by_dimension if found else ():
        if found is None or effect.saved_bytes is None:
            continue
        before = found.bound_exactly.total_bytes
        yield Advice(
            AdviceKind.DYNAMIC_BOUND,
            method.plan.name,
            f"a smaller bound for {effect_text(effect)}",
            "export with the largest size that is needed; the program then refuses larger ones",
            Basis.REPLANNED,
            before,
            before - effect.saved_bytes,
            tuple(_dimension_text(dimension) for dimension in effect.dimensions),
            ("both with the delegate calls as they stand", *found.notes),
        )


def effect_text(effect: DimensionEffect) -> str:
    """The dimensions of an effect, in words."""
    word = "dimension" if len(effect.dimensions) == 1 else "dimensions"
    names = dict.fromkeys(dimension.name for dimension in effect.dimensions)
    parts = []
    for name in names:
        dims = [str(d.dim) for d in effect.dimensions if d.name == name]
        parts.append(f"{' and '.join(dims)} of {name}")
    return f"{word} {', '.join(parts)}"


def _dimension_text(dimension: Dimension) -> str:
    return (
        f"dimension {dimension.dim} of {dimension.name}: {dimension.live} instead of up to "
        f"{dimension.bound}"
    )
