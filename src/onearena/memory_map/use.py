"""What a plan makes of a memory map, and what is said when a program does not fit into it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class RegionUse:
    """One region of a planned method.

    Attributes:
        name, memory_id, capacity_bytes, cost: of the region.
        size_bytes: what the file asks for there, `non_const_buffer_sizes[memory_id]`.
        lower_bound_bytes: no plan that puts the same buffers there has a smaller size.
        tensors: planned values in it.
        access_bytes: read and written there in one run, by the model of `traffic`.
    """

    name: str
    memory_id: int
    capacity_bytes: int
    cost: int
    size_bytes: int
    lower_bound_bytes: int
    tensors: int
    access_bytes: int

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "name": self.name,
            "memory_id": self.memory_id,
            "capacity_bytes": self.capacity_bytes,
            "cost": self.cost,
            "size_bytes": self.size_bytes,
            "lower_bound_bytes": self.lower_bound_bytes,
            "tensors": self.tensors,
            "access_bytes": self.access_bytes,
        }


@dataclass(frozen=True)
class MapUse:
    """A planned method in its regions.

    Attributes:
        regions: in the order of the map.
        access_cost: sum of accessed bytes x cost of their region.
        access_cost_bound: no plan of this order costs less.
    """

    regions: tuple[RegionUse, ...]
    access_cost: int
    access_cost_bound: int

    @property
    def is_cheapest(self) -> bool:
        """Whether it is proven that no plan of this order is cheaper."""
        return self.access_cost <= self.access_cost_bound

    @property
    def gap(self) -> float:
        """(cost - bound) / bound."""
        bound = self.access_cost_bound
        return (self.access_cost - bound) / bound if bound else 0.0

    def to_json(self) -> dict[str, Any]:
        """As JSON."""
        return {
            "regions": [region.to_json() for region in self.regions],
            "access_cost": self.access_cost,
            "access_cost_bound": self.access_cost_bound,
            "is_cheapest": self.is_cheapest,
            "gap": self.gap,
        }
