"""Gives tensors other places in their arenas."""

from __future__ import annotations

from dataclasses import replace

from onearena.pte.schema import AllocationDetails, EValue, Tensor

_ALIGNMENT = 64


def placed_at(entry: EValue, offset: int) -> EValue:
    """A planned tensor at another offset of its arena."""
    tensor = entry.val
    assert isinstance(tensor, Tensor)
    assert tensor.allocation_info is not None
    place = AllocationDetails.at(tensor.allocation_info.memory_id, offset)
    return EValue(replace(tensor, allocation_info=place))


def place_behind(sizes: list[int], arena: int, size_bytes: int) -> int:
    """An offset behind all that an arena holds; the arena grows.

    Args:
        sizes: of the arenas, in bytes.
    """
    start = sizes[arena] + -sizes[arena] % _ALIGNMENT
    sizes[arena] = start + size_bytes
    return start
