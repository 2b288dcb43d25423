"""The totals of a program and its methods: rows that every reporter shows.

What a file cannot tell is None, never 0.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from onearena.pte.reader import open_pte
from onearena.sizes.file_parts import FileSizes
from onearena.sizes.pools import program_pools
from onearena.sizes.results import MethodPools, Pool, ProgramPools
from onearena.sizes.targets import HOST64, find_target
from onearena.summary.model import DelegateSummary, MethodSummary, ProgramSummary

_TARGETS = (HOST64, find_target("cortex-m55"))
_BITS_PER_BYTE = 8


@dataclass(frozen=True, slots=True)
class TotalRow:
    """One number.

    Attributes:
        label: what it is; the same for every program, so that two can be put side by side.
        size_bytes: None where it is not known.
        note: what it rests on, or why it is not known; may be empty.
        is_sum: of rows above.
    """

    label: str
    size_bytes: int | None
    note: str = ""
    is_sum: bool = False


def known_pools(path: str | os.PathLike[str]) -> tuple[ProgramPools, ...]:
    """The pools of a file on a 64-bit and on a 32-bit target, for the other functions here.

    Raises:
        FormatError, UnsupportedError: the file cannot be read.
        AnalysisError: a method contradicts itself.
    """
    with open_pte(path) as file:
        return tuple(program_pools(file, target) for target in _TARGETS)


def program_rows(summary: ProgramSummary, pools: Sequence[ProgramPools] = ()) -> list[TotalRow]:
    """What the file holds; without `pools`, of its parts only the constants.

    Args:
        pools: of the same file, one per target.
    """
    if pools:
        return file_rows(pools[0].flash)
    return [
        TotalRow("file", summary.file_bytes),
        TotalRow("constants", summary.constants_bytes, "weights that kernels use"),
    ]


def file_rows(sizes: FileSizes) -> list[TotalRow]:
    """The file and its parts, which add up to it."""
    parts = (TotalRow(part.name, part.size_bytes, part.note) for part in sizes.parts)
    return [TotalRow("file", sizes.file_bytes), *parts]


def method_rows(method: MethodSummary, pools: Sequence[ProgramPools] = ()) -> list[TotalRow]:
    """What one method needs when it runs.

    Args:
        pools: of the same file, one per target.
    """
    return [
        *_planned(method),
        *_workspaces(method),
        *_sum(method),
        *other_rows(method, pools),
    ]


def _sum(method: MethodSummary) -> Iterator[TotalRow]:
    if method.calls_delegates or len(method.arenas) > 1:
        note = "" if method.total_bytes is not None else "the workspace is not known"
        yield TotalRow("arenas and shared workspace", method.total_bytes, note, is_sum=True)


def other_rows(method: MethodSummary, pools: Sequence[ProgramPools] = ()) -> list[TotalRow]:
    """The rows that are neither arena nor workspace."""
    return [*_pools(method, pools), *_heap(method)]


def _planned(method: MethodSummary) -> Iterator[TotalRow]:
    for arena in method.arenas:
        yield TotalRow(
            f"arena {arena.memory_id} (planned)",
            arena.size_bytes,
            f"at least {arena.bound_bytes:,} B in this order",
        )
    yield TotalRow("state", method.state_bytes, "part of the arenas; survives from run to run")
    caller = [unplanned.size_bytes for unplanned in method.unplanned]
    yield TotalRow(
        "inputs and outputs that the caller brings",
        total(caller),
        "not planned" if caller else "all are planned",
    )


def _temp_label(pools: MethodPools | None) -> str:
    region = pools.temp_region if pools else None
    return f"temp allocator in arena {region.memory_id}" if region else "temp allocator"


def _workspaces(method: MethodSummary) -> Iterator[TotalRow]:
    if not method.calls_delegates:
        return
    space = method.workspace
    note = f"not known for {', '.join(space.unknown)}" if space.unknown else "predicted"
    yield TotalRow("delegate workspace, shared globally (default)", space.global_bytes, note)
    yield TotalRow("delegate workspace, one per model", space.per_model_bytes, note)
    yield TotalRow("delegate workspace, sharing disabled", space.separate_bytes, note)


def _pools(method: MethodSummary, pools: Sequence[ProgramPools]) -> Iterator[TotalRow]:
    if not pools:
        yield TotalRow("temp allocator", None, "the file does not say")
        yield TotalRow("method allocator", None, "the file does not say")
        return
    for program in pools:
        found = next((m for m in program.methods if m.name == method.name), None)
        abi = program.target.abi
        where = f"{abi.pointer.size_bytes * _BITS_PER_BYTE}-bit ({program.target.name})"
        yield from _method_pools(where, found)


def _method_pools(where: str, pools: MethodPools | None) -> Iterator[TotalRow]:
    for label, pool in (
        (f"{_temp_label(pools)}, {where}", pools.temp if pools else None),
        (f"method allocator, {where}", pools.method_allocator if pools else None),
    ):
        yield TotalRow(label, pool.size_bytes if pool else None, _pool_note(pool))


def _pool_note(pool: Pool | None) -> str:
    if pool is None:
        return "not computed"
    notes = list(pool.notes)
    if pool.size_bytes is None:
        notes.insert(0, f"at least {pool.at_least_bytes:,} B")
    return "; ".join(notes)


def _heap(method: MethodSummary) -> Iterator[TotalRow]:
    called = [delegate for delegate in method.delegates if delegate.calls]
    if not called:
        return
    for label, note, sizes in (
        (
            "indirection buffers",
            "estimated; on the heap of the delegates",
            [delegate.indirection_bytes for delegate in called],
        ),
        (
            "weights of delegates",
            "in the file; packed copies of them are on the heap, of unknown size",
            [delegate.weights_bytes for delegate in called],
        ),
    ):
        size = total(sizes)
        yield TotalRow(label, size, note if size is not None else _not_known(called, sizes))


def _not_known(delegates: Sequence[DelegateSummary], sizes: Sequence[int | None]) -> str:
    closed = (d.backend for d, size in zip(delegates, sizes, strict=True) if size is None)
    return f"not known for {', '.join(dict.fromkeys(closed))}"


def total(sizes: Iterable[int | None]) -> int | None:
    """The sum; None if one of them is not known."""
    result = 0
    for size in sizes:
        if size is None:
            return None
        result += size
    return result
