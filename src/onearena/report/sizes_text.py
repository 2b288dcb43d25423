"""The report of `onearena sizes` as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from onearena.report.plain import plain
from onearena.report.text import method_blocks, size_text, table
from onearena.report.totals import file_rows
from onearena.sizes.results import MethodPools, Place, Pool, ProgramPools, Workspace

Row = tuple[str, str, str]


def sizes_text(pools: ProgramPools) -> str:
    """The pools of a program as lines for people: exact bytes, and a human unit beside them."""
    size = size_text(pools.file_bytes)
    parts = [f"{plain(pools.path)}  {size}  for {pools.target.name} ({pools.target.abi.name})"]
    file = [_row(row.label, row.size_bytes or 0) for row in file_rows(pools.flash)]
    parts.append(f"what the file holds\n{_body(file, ())}")
    parts += method_blocks(
        (method.name, _body(_method_rows(method), _method_notes(method)))
        for method in pools.methods
    )
    parts.append("\n".join(f"note: {plain(note)}" for note in pools.notes))
    return "\n\n".join(parts)


def _body(rows: Iterable[Row], notes: Iterable[str]) -> str:
    lines = [f"  {line}" for line in table([("", "bytes", ""), *rows]).splitlines()]
    return "\n".join([*lines, *(f"  note: {plain(note)}" for note in notes)])


def _method_rows(method: MethodPools) -> Iterable[Row]:
    yield _pool_row("method allocator", method.method_allocator)
    if method.temp_region is None:
        yield _pool_row("temp allocator", method.temp)
    for arena in method.arenas:
        yield _row(f"planned memory, memory_id {arena.memory_id}", arena.size_bytes)
        region = method.temp_region
        if region is not None and region.memory_id == arena.memory_id:
            yield _row(f"  in it at offset {region.offset:,}, temp allocator", region.size_bytes)
    if method.application.size_bytes != 0:
        yield from _interface_rows(method)
    yield _pool_row("together", method.total)
    yield _pool_row(
        "method allocator, if there is no temp allocator", method.method_allocator_alone
    )
    yield from _workspace_rows(method.workspace)


def _interface_rows(method: MethodPools) -> Iterable[Row]:
    for name, tensors in (("input", method.inputs), ("output", method.outputs)):
        for tensor in tensors:
            if tensor.place is Place.APPLICATION:
                size = tensor.size_bytes
                pool = Pool(None, 0) if size is None else Pool.known(size)
                yield _pool_row(f"{name} {tensor.position}, the application's", pool)


def _workspace_rows(workspace: Workspace) -> Iterable[Row]:
    if not workspace.delegates:
        return
    if workspace.disabled.size_bytes is None and workspace.disabled.at_least_bytes == 0:
        yield _pool_row("XNNPACK workspace", workspace.disabled)
        return
    yield _pool_row("XNNPACK workspace, not shared", workspace.disabled)
    yield _pool_row("XNNPACK workspace, shared in the model", workspace.per_model)
    yield _pool_row("XNNPACK workspace, shared by all", workspace.shared_globally)


def _method_notes(method: MethodPools) -> tuple[str, ...]:
    pools = (method.method_allocator, method.temp, method.application)
    notes = [note for pool in pools for note in pool.notes]
    notes += [f"XNNPACK workspace: {note}" for note in method.workspace.disabled.notes]
    return tuple(dict.fromkeys(notes))


def _row(label: str, size_bytes: int) -> Row:
    return label, f"{size_bytes:,}", size_text(size_bytes) if size_bytes >= 1000 else ""


def _pool_row(label: str, pool: Pool) -> Row:
    if pool.size_bytes is not None:
        return _row(label, pool.size_bytes)
    return label, "unknown", f"at least {pool.at_least_bytes:,}" if pool.at_least_bytes else ""
