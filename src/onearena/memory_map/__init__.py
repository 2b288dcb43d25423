"""Several memories: which tensors lie in which region of a microcontroller's memory map."""

from onearena.memory_map.regions import MemoryMap, Region, parse_memory_map

__all__ = ["MemoryMap", "Region", "parse_memory_map"]
