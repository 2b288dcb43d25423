"""Memory of control-flow operators: what their submodules were planned to need, as one block each.

ExecuTorch plans submodules (the branches of `cond`, the body of `map`) first, each from offset 0,
and notes its sizes in `meta["non_const_buffer_sizes"]` (`apply_algo` in `exir/memory_planning.py`,
1.5.1). A branch hands its results over by moving pointers, so a result lies in that block for as
long as it is read.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from onearena.lifetime import Interval
from onearena.problem import Buffer


@dataclass(frozen=True)
class Region:
    """What the submodules of one operator need in one memory.

    Attributes:
        memory_id: the memory.
        size_bytes: of the largest of them: they exclude each other, or follow one another.
        lifetime: nodes of the parent graph, while the operator runs and its results are read.
        specs: the tensors in it; their offsets count from its start.
        name: for messages.
    """

    memory_id: int
    size_bytes: int
    lifetime: Interval
    specs: tuple[Any, ...]
    name: str


@dataclass(frozen=True)
class Submodules:
    """The regions of a graph."""

    regions: tuple[Region, ...]

    def buffers(self, first: int, alignment: int) -> list[Buffer]:
        """The regions as buffers, numbered from `first`."""
        return [
            Buffer(
                first + k,
                region.size_bytes,
                alignment,
                region.memory_id,
                (region.lifetime,),
                # what is not understood stays where it was planned
                offset=None if region.specs else 0,
                name=region.name,
            )
            for k, region in enumerate(self.regions)
        ]

    def moved(self) -> Iterator[tuple[Any, int]]:
        """The tensors in the regions, each with the number of its region."""
        for number, region in enumerate(self.regions):
            for spec in region.specs:
                yield spec, number


def find_submodules(graph_module: Any, specs: Collection[Any], alignment: int) -> Submodules:
    """The regions of a graph whose submodules have been planned.

    Args:
        specs: the tensors of the graph itself.
        alignment: of the regions' sizes.
    """
    reserved = list(getattr(graph_module, "input_mem_buffer_sizes", None) or ())
    if not any(reserved):
        return Submodules(())
    own = {id(spec) for spec in specs}
    nodes = list(graph_module.graph.nodes)
    regions: list[Region] = []
    for index, node in enumerate(nodes):
        modules = _planned_modules(graph_module, node)
        if modules:
            life = Interval(index, max(index, *_result_ends(node)) + 1)
            regions += _regions(modules, life, own, alignment, str(node.name))
    if _is_complete(regions, reserved):
        return Submodules(tuple(regions))
    whole = Interval(0, len(nodes))
    return Submodules(
        tuple(
            Region(memory, size, whole, (), "memory of submodules")
            for memory, size in enumerate(reserved)
            if size
        )
    )


def _is_complete(regions: Sequence[Region], reserved: Sequence[int]) -> bool:
    """Whether the regions are all that ExecuTorch reserves, and each can move by itself; False for
    operators that we do not know, and when two run the same submodule."""
    largest = dict.fromkeys(range(len(reserved)), 0)
    for region in regions:
        largest[region.memory_id] = max(largest.get(region.memory_id, 0), region.size_bytes)
    specs = [id(spec) for region in regions for spec in region.specs]
    enough = all(size <= largest[memory] for memory, size in enumerate(reserved))
    return enough and len(specs) == len(set(specs))


def _planned_modules(graph_module: Any, node: Any) -> list[Any]:
    """The submodules that a node runs."""
    found = []
    for argument in node.args if node.op == "call_function" else ():
        if getattr(argument, "op", None) == "get_attr":
            module = getattr(graph_module, str(argument.target), None)
            meta = getattr(module, "meta", None)
            if meta and meta.get("non_const_buffer_sizes"):
                found.append(module)
    return found


def _result_ends(node: Any) -> Iterator[int]:
    """The last nodes that read the results of a node."""
    from torch.utils._pytree import tree_leaves

    yield 0
    for spec in tree_leaves(node.meta.get("spec")):
        end = getattr(spec, "lifetime", (None, None))[1]
        if end is not None:
            yield int(end)


def _regions(
    modules: Sequence[Any], life: Interval, own: set[int], alignment: int, name: str
) -> Iterator[Region]:
    sizes: dict[int, int] = {}
    inside: dict[int, Any] = {}
    for module in modules:
        for memory, size in enumerate(module.meta["non_const_buffer_sizes"]):
            sizes[memory] = max(sizes.get(memory, 0), size)
        inside.update((id(spec), spec) for spec in _placed_specs(module))
    for memory, size in sizes.items():
        if size:
            specs = tuple(
                spec for key, spec in inside.items() if spec.mem_id == memory and key not in own
            )
            padded = size + -size % alignment
            yield Region(memory, padded, life, specs, f"memory of {name}")


def _placed_specs(module: Any) -> Iterator[Any]:
    """The tensors of a submodule, and of those in it, that have a place."""
    from torch.utils._pytree import tree_leaves

    for node in module.graph.nodes:
        for spec in tree_leaves(node.meta.get("spec")):
            if getattr(spec, "mem_offset", None) is not None and spec.mem_id is not None:
                yield spec
        for inner in _planned_modules(module, node):
            yield from _placed_specs(inner)
