"""The rule for an operator, by its name."""

from __future__ import annotations

from collections.abc import Mapping

from onearena.shapes.rules import layers, numbers, pointwise, views
from onearena.shapes.rules.call import NumberRule, ShapeRule

SHAPE_RULES: Mapping[str, ShapeRule] = {**pointwise.RULES, **views.RULES, **layers.RULES}
"""By operator, or by operator and overload where overloads differ."""
NUMBER_RULES: Mapping[str, NumberRule] = numbers.RULES

DATA_DEPENDENT = frozenset({"aten::nonzero", "aten::masked_select", "aten::_local_scalar_dense"})
"""Operators whose result's size (or value) is not known before they run."""


def shape_rule(name: str, overload: str) -> ShapeRule | None:
    """The rule for an operator that returns tensors, or None."""
    return SHAPE_RULES.get(f"{name}.{overload}") or SHAPE_RULES.get(name)


def number_rule(name: str, overload: str) -> NumberRule | None:
    """The rule for an operator that returns a number, or None."""
    return NUMBER_RULES.get(f"{name}.{overload}") or NUMBER_RULES.get(name)
