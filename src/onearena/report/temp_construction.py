"""What an application must write for a temp allocator that lies inside planned memory."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from onearena.sizes.results import Arena, TempPlace


def construction(region: TempPlace, arenas: Sequence[Arena], prefix: str) -> Iterable[str]:
    """The lines of C++, as a comment of C.

    The constructors are those of `runtime/core/memory_allocator.h`,
    `runtime/core/hierarchical_allocator.h` (which has the memory_ids from 1 on) and
    `runtime/executor/memory_manager.h` of ExecuTorch 1.0 to 1.5.

    Args:
        region: where the allocator lies.
        arenas: of the method, by memory_id.
        prefix: of the header's macros for the method.
    """
    yield "/* Where the temp allocator goes (Arm's runner: an ArmMemoryAllocator, same arguments):"
    yield " *"
    names = [f"arena_{arena.memory_id}" for arena in arenas]
    for arena, name in zip(arenas, names, strict=True):
        size = f"{prefix}_ARENA_{arena.memory_id}_BYTES" if arena.size_bytes else "16"
        yield f" * alignas(16) static uint8_t {name}[{size}];"
    spans = ", ".join(f"{{{name}, sizeof({name})}}" for name in names)
    yield f" * Span<uint8_t> spans[] = {{{spans}}};"
    yield f" * HierarchicalAllocator planned_memory({{spans, {len(names)}}});"
    yield (
        f" * MemoryAllocator temp_allocator({prefix}_TEMP_REGION_BYTES, "
        f"arena_{region.memory_id} + {prefix}_TEMP_REGION_OFFSET);"
    )
    yield " * MemoryManager memory_manager(&method_allocator, &planned_memory, &temp_allocator);"
    yield " */"
