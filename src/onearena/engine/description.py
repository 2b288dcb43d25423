"""The description of a program: everything the native runtime needs, without a FlatBuffer.

A compact little-endian binary that `cpp/runtime/src/description.cc` decodes, so that a C++
application needs neither Python nor ExecuTorch's FlatBuffer code. It names the file's bytes by
their offsets and holds no weights. Its length does not depend on these offsets: a description
can be written into the file that it describes by making room for it first.

Layout: magic, version, size of the file, named data, blocks of state, methods. Counts precede
lists, strings are a count and UTF-8. `method_description.py` writes a method.
"""

from __future__ import annotations

import struct

from onearena.engine.binary import BinaryWriter
from onearena.engine.method_description import write_method, write_outline
from onearena.engine.ranges import FileRange, data_range
from onearena.engine.state import plan_state
from onearena.errors import AnalysisError, FormatError, UnsupportedError
from onearena.payloads import XNNPACK_BACKEND
from onearena.program import analyse_method
from onearena.pte.container import PteFile

MAGIC = b"ONEARENA"
VERSION = 3
_SCHEMA_VERSION = 0
"""The newest version of the schema that ExecuTorch 1.5.1 runs (`program.version`)."""


def describe(file: PteFile, every_workspace: bool = True) -> bytes:
    """The description of an open program.

    Args:
        every_workspace: False for a runtime that plans the workspaces of delegates: what
            delegates need is then left out where that is quicker found out than predicted.

    Raises:
        AnalysisError: a method contradicts itself.
        FormatError: data that a method needs is not in the file.
        UnsupportedError: the program holds something that the runtime cannot run.
    """
    if file.program.version > _SCHEMA_VERSION:
        raise UnsupportedError(
            f"{file.path}: is of schema version {file.program.version}, this runtime knows "
            f"those up to {_SCHEMA_VERSION}: export it with an older ExecuTorch"
        )
    try:
        return _describe(file, every_workspace)
    except struct.error as error:
        raise AnalysisError(f"{file.path}: a number in it is out of range ({error})") from error


def _describe(file: PteFile, every_workspace: bool) -> bytes:
    plans = file.program.execution_plan or ()
    analysed = [analyse_method(file, plan) for plan in plans]
    state = plan_state([method.timeline.storage for method in analysed])
    out = _head(file)
    out.u32(len(state.blocks))
    for block in state.blocks:
        out.u32(block.arena)
        out.u64(block.start)
        out.u64(block.end - block.start)
    out.u32(len(analysed))
    for number, method in enumerate(analysed):
        write_method(out, file, method, state, number, every_workspace)
    return out.result()


def outline(file: PteFile) -> bytes | None:
    """What it takes to initialise the delegates of an open program, as the description of a
    method without values; much quicker to make than the description.

    None for a program of several methods, since nobody may ever use the one or the other, and for
    one with other delegates than XNNPACK's, which may care about who initialises them.

    Raises:
        FormatError: a payload is not in the file.
        struct.error: a number is out of range.
    """
    plans = file.program.execution_plan or ()
    if len(plans) != 1 or {d.id for d in plans[0].delegates or ()} != {XNNPACK_BACKEND}:
        return None
    out = _head(file)
    out.u32(0)
    out.u32(1)
    write_outline(out, file, plans[0])
    return out.result()


def _head(file: PteFile) -> BinaryWriter:
    """A description up to the named data."""
    out = BinaryWriter()
    out.raw(MAGIC)
    out.u32(VERSION)
    out.u64(file.source.size_bytes)
    named = _named_data(file)
    out.u32(len(named))
    for key, where in named:
        out.text(key)
        out.u64(where.offset)
        out.u64(where.size_bytes)
    return out


def is_current(description: bytes) -> bool:
    """Whether a description is of the version that the runtime reads."""
    head = MAGIC + VERSION.to_bytes(4, "little")
    return description[: len(head)] == head


def _named_data(file: PteFile) -> list[tuple[str, FileRange]]:
    found: list[tuple[str, FileRange]] = []
    for entry in file.program.named_data or ():
        what = f"{file.path}: named data {entry.key!r}"
        if entry.segment_index >= len(file.segments):
            raise FormatError(f"{what}: segment {entry.segment_index} does not exist")
        found.append((entry.key or "", data_range(file.segments[entry.segment_index].data, what)))
    return found
