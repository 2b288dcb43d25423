"""Tensors as bytes: element type, sizes, order of dimensions ⇄ a flat row of bytes."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Any

from onearena.errors import UnsupportedError
from onearena.pte.schema import Tensor
from onearena.pte.tensors import ELEMENT_BYTES, is_dynamic
from onearena.runtime.bindings import import_torch
from onearena.runtime.signature import TORCH_NAMES


@dataclass(frozen=True)
class Layout:
    """How a tensor value is laid out.

    Attributes:
        dtype: the torch type of its elements.
        item_bytes: size of an element.
        sizes: as recorded; upper bounds when it is dynamic.
        dim_order: the dimensions, outermost first.
        is_dynamic: whether the sizes may be smaller at run time.
    """

    dtype: Any
    item_bytes: int
    sizes: tuple[int, ...]
    dim_order: tuple[int, ...]
    is_dynamic: bool

    @property
    def capacity_bytes(self) -> int:
        """What the recorded sizes take."""
        return self.bytes_of(self.sizes)

    def bytes_of(self, sizes: tuple[int, ...]) -> int:
        """What a tensor of these sizes takes."""
        return prod(sizes) * self.item_bytes

    def admits(self, sizes: tuple[int, ...]) -> bool:
        """Whether a tensor of these sizes can be this value."""
        if len(sizes) != len(self.sizes):
            return False
        if not self.is_dynamic:
            return sizes == self.sizes
        return all(size <= bound for size, bound in zip(sizes, self.sizes, strict=True))

    def tensor(self, raw: Any, sizes: tuple[int, ...]) -> Any:
        """The tensor whose bytes are `raw` (uint8, one dimension, exactly as many as needed)."""
        torch = import_torch()
        if not raw.numel():
            return torch.empty(sizes, dtype=self.dtype)
        inner = [sizes[dim] for dim in self.dim_order]
        inverse = [self.dim_order.index(dim) for dim in range(len(sizes))]
        return raw.view(self.dtype).view(inner).permute(inverse)

    def raw(self, tensor: Any) -> Any:
        """The bytes of a tensor in this layout: uint8, one dimension."""
        flat = tensor.to(self.dtype).permute(self.dim_order).contiguous().reshape(-1)
        return flat.view(import_torch().uint8)

    def empty(self) -> Any:
        """A tensor of the recorded sizes with undefined content, laid out like this."""
        torch = import_torch()
        raw = torch.empty(self.capacity_bytes, dtype=torch.uint8)
        return self.tensor(raw, self.sizes)


def layout_of(tensor: Tensor, what: str) -> Layout:
    """The layout of a tensor value.

    Raises:
        UnsupportedError: torch has no such element type, or the order of the dimensions is
            none.
    """
    name = TORCH_NAMES.get(tensor.scalar_type)
    dtype = getattr(import_torch(), name, None) if name is not None else None
    sizes = tensor.sizes or ()
    order = tensor.dim_order or tuple(range(len(sizes)))
    if dtype is None:
        raise UnsupportedError(f"{what}: torch has no element type {tensor.scalar_type}")
    if sorted(order) != list(range(len(sizes))) or any(size < 0 for size in sizes):
        raise UnsupportedError(f"{what}: sizes {list(sizes)} with dimension order {list(order)}")
    return Layout(dtype, ELEMENT_BYTES[tensor.scalar_type], sizes, order, is_dynamic(tensor))
