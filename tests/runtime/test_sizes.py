"""Proposed sizes for dynamic shapes: no runtime needed."""

from __future__ import annotations

from onearena.runtime.signature import ScalarInput, Signature, TensorInput
from onearena.runtime.sizes import size_groups


def _dynamic(*sizes: int) -> TensorInput:
    return TensorInput(6, sizes, tuple(range(len(sizes))), is_dynamic=True)


def test_images_move_in_height_and_width_first() -> None:
    groups = list(size_groups(Signature("f", (_dynamic(1, 3, 256, 256),))))
    assert groups[0].what == "last two dimensions"
    candidates = groups[0].candidates
    assert candidates[0] == ((1, 3, 128, 128),)
    assert ((1, 3, 256, 128),) in candidates  # not tied
    assert ((1, 3, 64, 64),) in candidates
    assert any(size is not None and size[2] % 2 for (size,) in candidates)  # an odd one
    assert all(size is not None and size[:2] == (1, 3) for (size,) in candidates)


def test_equal_bounds_are_tied_across_inputs() -> None:
    signature = Signature("f", (_dynamic(1, 128), _dynamic(1, 1, 128, 128), ScalarInput(3)))
    tied = {group.what: group.candidates[0] for group in size_groups(signature)}
    assert tied["dimensions of 128"] == ((1, 64), (1, 1, 64, 64), None)


def test_static_inputs_never_move() -> None:
    static = TensorInput(6, (8, 8), (0, 1), is_dynamic=False)
    assert list(size_groups(Signature("f", (static,)))) == []
    for group in size_groups(Signature("f", (static, _dynamic(8, 8)))):
        assert all(sizes[0] == (8, 8) for sizes in group.candidates)


def test_candidates_are_never_the_bound_nor_above_it() -> None:
    signature = Signature("f", (_dynamic(5, 7),))
    for group in size_groups(signature):
        for (sizes,) in group.candidates:
            assert sizes is not None
            assert sizes != (5, 7)
            assert all(1 <= size <= bound for size, bound in zip(sizes, (5, 7), strict=True))
