"""The algebra of layouts against numpy, which moves the elements for real."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from onearena.delegates.xnnpack.simplify_layout import MAX_RANK, Layout, Step

Dims = tuple[int, ...]


def moved(array: Any, steps: tuple[Step, ...]) -> Any:
    """The array after the steps; each says which shape it ends with."""
    for step in steps:
        array = array.reshape(step.dims) if step.perm is None else array.transpose(step.perm)
        assert array.shape == step.dims
    return array


@st.composite
def chains(draw: DrawFn) -> tuple[Dims, list[Step]]:
    """A shape, and transposes and reshapes in a row."""
    dims = tuple(draw(st.lists(st.sampled_from((1, 2, 3, 4)), min_size=1, max_size=5)))
    source, steps = dims, []
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            perm = tuple(draw(st.permutations(range(len(dims)))))
            dims = tuple(dims[axis] for axis in perm)
            steps.append(Step(dims, perm))
        else:
            dims = draw(st.sampled_from(_shapes(prod(dims))))
            steps.append(Step(dims))
    return source, steps


def _shapes(count: int) -> list[Dims]:
    """Some shapes of as many elements."""
    found: list[Dims] = [(count,), (1, count), (count, 1)]
    for first in range(2, count):
        if count % first == 0:
            rest = count // first
            found += [(first, rest), (first, 1, rest)]
            found += [(first, k, rest // k) for k in range(2, rest) if rest % k == 0]
    return found


def _layout(source: Dims, steps: list[Step]) -> Layout | None:
    layout: Layout | None = Layout.of(source)
    for step in steps:
        assert layout is not None
        layout = layout.reshaped(step.dims) if step.perm is None else layout.transposed(step.perm)
        if layout is None:
            return None
    return layout


@given(chains())
def test_the_steps_of_a_layout_do_what_the_chain_does(chain: tuple[Dims, list[Step]]) -> None:
    source, steps = chain
    layout = _layout(source, steps)
    if layout is None:
        return
    numbers = np.arange(prod(source)).reshape(source)
    expected = moved(numbers, tuple(steps))
    found = layout.steps()
    np.testing.assert_array_equal(moved(numbers, found), expected)
    assert layout.dims == expected.shape
    same_order = (expected.ravel() == numbers.ravel()).all()
    assert layout.keeps_order == same_order
    transposes = [step for step in found if step.perm is not None]
    assert len(transposes) == (0 if same_order else 1)
    assert len(found) <= 3
    assert same_order or transposes[0].perm != tuple(range(len(transposes[0].dims)))


@given(chains(), chains())
def test_equal_runs_are_the_same_order(
    one: tuple[Dims, list[Step]], other: tuple[Dims, list[Step]]
) -> None:
    layouts = [_layout(*chain) for chain in (one, other)]
    if None in layouts or prod(one[0]) != prod(other[0]):
        return
    first, second = (
        moved(np.arange(prod(source)).reshape(source), tuple(steps)).ravel()
        for source, steps in (one, other)
    )
    runs = [layout.runs for layout in layouts if layout is not None]
    assert (runs[0] == runs[1]) == (first == second).all()


@pytest.mark.parametrize(
    ("source", "steps", "wanted"),
    [
        # a query of an attention layer, split into heads in PyTorch's way
        (
            (1, 197, 192),
            [
                Step((1, 197, 3, 64)),
                Step((1, 3, 197, 64), (0, 2, 1, 3)),
                Step((197, 1, 3, 64), (2, 0, 1, 3)),
                Step((1, 3, 197, 64), (1, 2, 0, 3)),
                Step((3, 197, 64)),
            ],
            (Step((197, 3, 64)), Step((3, 197, 64), (1, 0, 2))),
        ),
        # from one image layout to another and back
        (
            (1, 14, 14, 8),
            [Step((1, 8, 14, 14), (0, 3, 1, 2)), Step((1, 14, 14, 8), (0, 2, 3, 1))],
            (),
        ),
        ((1, 1, 1, 64), [Step((1, 64, 1, 1), (0, 3, 1, 2))], (Step((1, 64, 1, 1)),)),
        # tokens become an image: no element moves
        (
            (1, 64, 32),
            [Step((1, 32, 64), (0, 2, 1)), Step((1, 32, 8, 8)), Step((1, 8, 8, 32), (0, 2, 3, 1))],
            (Step((1, 8, 8, 32)),),
        ),
        ((2, 3, 4), [Step((4, 3, 2), (2, 1, 0))], (Step((4, 3, 2), (2, 1, 0)),)),
    ],
)
def test_chains_of_real_programs(source: Dims, steps: list[Step], wanted: tuple[Step, ...]) -> None:
    layout = _layout(source, steps)
    assert layout is not None
    assert layout.steps() == wanted


def test_a_reshape_across_reordered_elements_cannot_be_told() -> None:
    assert Layout.of((2, 3)).transposed((1, 0)).reshaped((2, 3)) is None
    assert Layout.of((2, 3)).reshaped((3, 2)) is not None


def test_axes_of_one_element_stay_where_they_are_wanted() -> None:
    layout = Layout.of((1, 5, 1, 7)).transposed((3, 0, 1, 2))
    assert layout.steps() == (Step((7, 1, 5, 1), (3, 0, 1, 2)),)


def test_no_rank_is_higher_than_needed() -> None:
    layout = Layout.of((2,) * MAX_RANK).transposed(tuple(reversed(range(MAX_RANK))))
    assert len(layout.steps()) == 1
