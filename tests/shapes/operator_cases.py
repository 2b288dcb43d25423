"""Random arguments for every operator of ATen that has a rule."""

from __future__ import annotations

from tests.shapes import cases_of_layers, cases_of_pointwise, cases_of_views
from tests.shapes.random_shapes import Maker

CASES: dict[str, Maker] = {
    **cases_of_pointwise.CASES,
    **cases_of_views.CASES,
    **cases_of_layers.CASES,
}
