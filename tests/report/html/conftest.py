"""Summaries and pages that the tests share."""

from __future__ import annotations

from dataclasses import replace

import pytest

from onearena.lifetime import Interval
from onearena.summary.model import (
    Block,
    MethodSummary,
    ProgramSummary,
    Rectangle,
)


@pytest.fixture(scope="session")
def aliased(rich: ProgramSummary) -> ProgramSummary:
    """As `rich`; its first method has a block with two names, one of them alive later."""
    return replace(rich, path="aliased.pte", methods=(with_alias(rich.methods[0]),))


@pytest.fixture(scope="session")
def unused(rich: ProgramSummary) -> ProgramSummary:
    """As `rich`; its first method has a tensor that nothing touches."""
    method = rich.methods[0]
    idle = replace(
        method.tensors[0],
        value=901,
        name="unused",
        lifetime=(),
        producers=(),
        consumers=(),
        block=len(method.blocks),
    )
    block = replace(
        method.blocks[0],
        number=len(method.blocks),
        tensors=(len(method.tensors),),
        rectangles=(),
    )
    changed = replace(method, tensors=(*method.tensors, idle), blocks=(*method.blocks, block))
    return replace(rich, methods=(changed,))


def with_alias(method: MethodSummary) -> MethodSummary:
    """The second name covers the first half of the block's bytes, one step longer."""
    block = method.blocks[1]
    first = method.tensors[block.tensors[0]]
    piece = block.rectangles[0]
    half = piece.low + (piece.high - piece.low) // 2
    second = replace(
        first,
        value=900,
        name="second name",
        size_bytes=half - piece.low,
        lifetime=(Interval(piece.end, piece.end + 1),),
        producers=(),
        consumers=(),
    )
    both = Block(
        block.number,
        block.arena,
        block.kind,
        (*block.tensors, len(method.tensors)),
        (piece, Rectangle(piece.end, piece.end + 1, piece.low, half)),
    )
    blocks = tuple(both if old is block else old for old in method.blocks)
    return replace(method, tensors=(*method.tensors, second), blocks=blocks)
